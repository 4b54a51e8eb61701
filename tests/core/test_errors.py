"""Errors that know where something lies, and say it to the machine's own user alone."""

from __future__ import annotations

from tests.cases import cases

from commonplace.core.errors import Conflict, Corrupted, Invalid, Unavailable


def test_a_place_is_a_field_of_its_own():
    """The message reads well without it; a terminal and a log see both."""
    error = Corrupted("The index {place} is corrupt.", hint="Repair it.", place="/srv/index.db")
    assert (error.message, error.place) == ("The index is corrupt.", "/srv/index.db")
    assert error.summary == "The index is corrupt. Repair it."
    assert str(error) == "The index /srv/index.db is corrupt. Repair it."
    assert error.facts == {
        "code": "unavailable",
        "message": "The index is corrupt.",
        "hint": "Repair it.",
        "place": "/srv/index.db",
    }


@cases(
    ("text", "bare"),
    [
        ("git failed in {place} (128).", "git failed (128)."),
        ("qwen at {place} gave no JSON.", "qwen gave no JSON."),
        ("No space is left for the file {place}.", "No space is left for the file."),
        ("See what `git -C {place} fsck` says.", "See what `git fsck` says."),
    ],
)
def test_the_word_that_leads_to_a_place_goes_with_it(text, bare):
    """So that a sentence stays one."""
    assert Unavailable(text, place="/srv").message == bare
    assert Unavailable("No.", hint=text, place="/srv").hint == bare


def test_a_place_in_a_hint_is_quoted_for_a_shell():
    """Hints are commands that people copy."""
    error = Unavailable("Damaged: {place}.", hint="Run: git -C {place} fsck.", place="/my notes")
    assert str(error) == "Damaged: /my notes. Run: git -C '/my notes' fsck."


def test_an_error_for_others_has_no_place_at_all():
    """Its code, its message and its hint are the same."""
    error = Invalid("The file {place} is broken.", hint="Mend it.", error_code="x", place="/srv/a")
    other = error.without_place()
    assert str(other) == "The file is broken. Mend it."
    assert other.facts == {
        "code": "invalid",
        "message": "The file is broken.",
        "hint": "Mend it.",
        "error_code": "x",
    }


def test_an_error_that_says_more_keeps_its_place():
    """Sentences come after its own."""
    error = Unavailable("The file {place} is gone.", hint="Put it back.", place="/srv/a")
    more = error.extended("1 entry is written.", hint="Then write the other.")
    assert type(more) is Unavailable
    assert (
        more.summary == "The file is gone. 1 entry is written. Put it back. Then write the other."
    )
    assert more.located == "The file /srv/a is gone. 1 entry is written."
    assert error.message == "The file is gone."


def test_an_error_of_another_kind_keeps_its_place():
    """Sentences, place and cost go with it; a new next step and a new code take their place."""
    error = Unavailable("The file {place} is gone.", hint="Look into {place}.", place="/srv/a")
    error.tokens = 7
    other = error.as_kind(Conflict, prefix="Line 2: ", error_code="GONE")
    assert type(other) is Conflict
    assert (other.code, other.error_code, other.tokens) == ("conflict", "GONE", 7)
    assert other.summary == "Line 2: The file is gone. Look into."
    assert str(other) == "Line 2: The file /srv/a is gone. Look into /srv/a."
    assert other.as_kind(Invalid, hint="Give up.").facts == {
        "code": "invalid",
        "message": "Line 2: The file is gone.",
        "hint": "Give up.",
        "error_code": "GONE",
        "place": "/srv/a",
    }


def test_braces_without_a_place_are_text():
    """What a user wrote may hold anything."""
    assert str(Invalid("No such tag: {place}.")) == "No such tag: {place}."
