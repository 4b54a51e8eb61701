"""`commonplace memory`, as a person calls it."""

from __future__ import annotations

import json
import re

import pytest
from tests.doors.terminal import facts, run

pytestmark = pytest.mark.usefixtures("words_only")


def refs(*words):
    return [hit["ref"] for hit in facts("memory", "search", *words)["items"]]


def test_each_verb_is_of_one_user(tmp_path):
    """Saved, found, listed, altered and deleted for ann; bob has nothing, nor has the owner."""
    words = ("memory", "save", "todo", "--title", "Buy cables", "--user", "ann")
    ref = facts(*words)["ref"]
    facts("memory", "save", "todo", "--title", "Paint the pier", "--user", "bob")
    assert refs("cables", "--user", "ann") == [ref]
    assert refs("cables", "--user", "bob") == refs("cables") == []
    facts("memory", "save", "todo", "--ref", ref, "--done", "--user", "ann")
    listed = facts("memory", "list", "todo", "--user", "ann")["items"]
    assert [(x["title"], x["done"]) for x in listed] == [("Buy cables", True)]
    assert facts("memory", "stats", "--user", "ann")["kinds"]["todo"]["records"] == 1
    assert run("memory", "delete", "todo", ref, "--user", "bob", "--yes").exit_code == 3
    assert facts("memory", "delete", "todo", ref, "--user", "ann", "--yes")["deleted"] is True
    assert refs("cables", "--user", "ann") == []


def test_what_is_kept_for_another_user_cannot_expire_here():
    """What to do instead holds for every user, also one who is served and so is no owner here."""
    words = ("memory", "save", "gratitude", "The ferry ran", "--expires", "in 30 days")
    refused = run(*words, "--owner", "ann")
    assert refused.exit_code == 2
    assert "cannot expire here" in refused.stderr
    assert "Leave out --expires" in refused.stderr
    assert "COMMONPLACE_OWNER" not in refused.stderr
    assert run("memory", "list", "gratitude", "--owner", "ann").exit_code == 3


@pytest.mark.parametrize("command", [("memory", "save", "gratitude"), ("todo",)])
def test_a_space_has_no_memory(command):
    """What stood there would name no author, on the pages of all its members."""
    refused = run(*command, "The ferry ran", "--owner", "space:team")
    assert refused.exit_code == 2
    assert "'team' is a space, and has no memory" in refused.stderr
    assert run("memory", "list", "--owner", "space:team").exit_code == 3


@pytest.mark.parametrize("named", ["2", "-1", "beginning"])
def test_a_to_do_is_done_by_a_short_form_of_its_ref(named):
    """Its number in the list that was shown, -1 for the newest, or what its ref begins with."""
    for title, at in (("Buy cables", "2026-03-02 10:00"), ("Paint the pier", "2026-03-01 10:00")):
        facts("memory", "save", "todo", title, "--at", at)
    run("memory", "list", "todo")
    newest, older = (x["ref"] for x in facts("memory", "list", "todo")["items"])
    short = older[:-4] if named == "beginning" else named
    facts("memory", "save", "todo", "--done", "--ref", short)
    items = facts("memory", "list", "todo")["items"]
    done = [x["ref"] for x in items if x["done"]]
    assert done == [newest if named == "-1" else older]
    shown = run("memory", "list", "todo").stdout.splitlines()
    assert [line.endswith(" #done") for line in shown] == [x["done"] for x in items]


def test_a_list_without_a_kind_is_of_every_kind_newest_first():
    """What lies beyond the limit is announced; a cursor belongs to one kind."""
    assert run("memory", "list").stdout == "Nothing is kept.\n"
    for words in (("todo", "paint the pier"), ("gratitude", "a calm sea"), ("message", "hello")):
        run("memory", "save", *words)
    run("memory", "save", "todo", "buy rope")

    shown = [x["text"] for x in facts("memory", "list")["items"]]
    assert shown == ["buy rope", "hello", "a calm sea", "paint the pier"]
    fewer = facts("memory", "list", "-n", "2")
    assert [x["text"] for x in fewer["items"]] == ["buy rope", "hello"]
    assert fewer["notes"] == [
        "These are the newest 2. Name a kind, or a larger --limit, to see more."
    ]
    assert run("memory", "list", "--cursor", "x").exit_code == 2


def test_a_missing_word_is_said_in_a_line():
    """With all that it may be."""
    done = run("memory", "save")
    assert "Missing argument KIND. Choose from: message, journal, todo, prefer" in done.stderr


def test_a_to_do_without_words_says_where_they_go():
    """As they are typed, not by the name of a field."""
    done = run("memory", "save", "todo")
    assert (done.exit_code, "`commonplace todo WORDS`" in done.stderr) == (2, True)


def test_to_dos_are_kept_ticked_and_listed_by_one_short_word():
    """What is open first; with its number it is ticked."""
    assert "`commonplace todo WORDS`" in run("todo").stdout
    first, second = (facts("todo", "paint", each)["ref"] for each in ("the pier", "the shed"))
    listed = facts("todo")["items"]
    run("todo")  # a list in JSON gives no numbers
    assert [each["ref"] for each in listed] == [second, first]
    assert facts("todo", "--ref", "1", "--done")["done"] is True
    assert [each["ref"] for each in facts("todo")["items"]] == [first, second]
    assert run("todo").stdout.splitlines()[1].endswith("paint the shed #done")
    assert run("todo", "--owner", "ben").exit_code == 3
    assert facts("todo", "--ref", second, "paint", "the hut")["text"] == "paint the hut"


@pytest.mark.parametrize("command", [("todo",), ("memory", "save", "todo")])
def test_a_number_behind_done_is_the_to_do_of_that_number(command):
    """As fingers type it: no to-do of the name "1" is kept, and said to be done."""
    kept = facts("todo", "paint", "the", "pier")["ref"]
    run("todo")
    for word in ("1", kept):  # of a list, and a ref
        assert facts(*command, "--done", word)["ref"] == kept
        assert facts("todo")["items"][0]["text"] == "paint the pier"
        assert facts(*command, "--not-done", word)["done"] is False
    assert len(facts("todo")["items"]) == 1
    assert run(*command, "--done", "9").exit_code == 3
    assert facts("todo", "7")["text"] == "7"  # without it, words are words


def test_many_to_dos_are_told_to_go_on():
    """Twenty are listed, and how to see more."""
    for number in range(21):
        facts("todo", f"paint boat {number}")
    assert "`commonplace memory list todo` lists all" in run("todo").stdout


def test_a_model_is_given_the_same_to_dos_in_the_same_order():
    """What is open first, and no more of them than a person is shown."""
    kept = [facts("todo", f"paint boat {number}")["ref"] for number in range(21)]
    facts("todo", "--done", kept[-1])
    listed = [each["ref"] for each in facts("todo")["items"]]
    given = run("todo", "--format", "model").stdout
    assert re.findall(r"^`{3,}(memory:\S+)$", given, re.MULTILINE) == listed
    assert listed == kept[-2::-1]


def test_every_kind_can_be_saved():
    """With its own fields; flags are JSON."""
    for words in (
        ("message", "--role", "user", "--text", "harbour"),
        ("journal", "--title", "harbour", "--body", "quiet", "--draft"),
        ("gratitude", "--text", "harbour"),
        ("preference", "--language", "ms", "--flags", json.dumps({"place": "harbour"})),
    ):
        assert facts("memory", "save", *words)["kind"] == words[0]
    found = facts("memory", "search", "harbour")["items"]
    assert {hit["kind"] for hit in found} == {"message", "gratitude", "preference"}
    found = facts("memory", "search", "harbour", "-k", "message", "-n", "1", "--intent", "planning")
    assert len(found["items"]) == 1
    done = run("memory", "search", "harbour", "--model")
    assert "(user) harbour" in done.stdout
    assert "Note: Searched by words alone" in done.stdout


def test_words_are_the_text_of_what_is_saved():
    """Joined as everywhere; a message without a role is the user's."""
    for kind, name in (("message", "text"), ("gratitude", "text"), ("todo", "title")):
        facts("memory", "save", kind, "a", "quiet", "harbour")
        (item,) = facts("memory", "list", kind)["items"]
        assert item[name] == "a quiet harbour"
    (message,) = facts("memory", "list", "message")["items"]
    assert message["role"] == "user"
    assert run("memory", "save", "todo", "a", "--title", "b").exit_code == 2
    done = run("memory", "save", "preference", "German")
    assert "Error: A preference has no text. Use --language," in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("save", "quote", "--text", "x"), 2),
        (("save", "message", "--text", "x", "--role", "system"), 2),
        (("save", "preference", "--flags", "{"), 2),
        (("save", "todo", "--title", "x", "--user", "a\nb"), 2),
        (("save", "todo", "--title", "x", "--user", ""), 2),
        (("search", "x", "--top-k", "101"), 2),
        (("delete", "todo", "none"), 3),
        (("delete", "todo", "none", "--yes"), 3),
        (("save", "todo", "--title", "x", "--ref", "none"), 3),
        (("search", "!?"), 1),
    ],
)
def test_what_cannot_be_ends_with_its_code(words, code):
    """Usage 2, not found 3, unavailable 1; no traceback."""
    done = run("memory", *words)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "words", [("memory", "delete", "todo", "\udcff", "--yes"), ("open", "memory:todo/\udcff")]
)
def test_an_id_that_is_not_utf8_is_not_found(words, no_weights):
    """A database cannot be asked for it; it is named as what it is, no internal error."""
    run("memory", "save", "todo", "buy milk")
    done = run(*words)
    assert (done.exit_code, "No todo" in done.stderr) == (3, True)


def test_flags_that_are_nested_too_deeply_are_not_json(no_weights):
    """Python's parser gives up on them in another way."""
    done = run("memory", "save", "preference", "--flags", "[" * 20_000)
    assert (done.exit_code, "Invalid --flags: it is not JSON" in done.stderr) == (2, True)


def test_a_listed_preference_says_what_it_is():
    """Its names and values, as `commonplace list` shows them."""
    run("memory", "save", "preference", "--language", "German")
    (line,) = run("memory", "list", "preference").stdout.splitlines()
    assert line.endswith("  language=German")
    (item,) = facts("memory", "list", "preference")["items"]
    assert item["text"] == "language=German"
