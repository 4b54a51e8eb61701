"""Irregular forms: read as their base, whole words only, and no base is a form of another."""

from tests.cases import cases

from commonplace.core.word_forms import BASES, base_forms


@cases(
    ("text", "read"),
    [
        ("i felt drained and wrote it down", "i feel drained and write it down"),
        ("the felty feltboard", "the felty feltboard"),
        ("children's teeth", "child's tooth"),
        ("met, bought; thought.", "meet, buy; think."),
        ("", ""),
        ("deployed", "deployed"),
    ],
)
def test_irregular_forms_are_read_as_their_base(text, read):
    """What a stemmer cannot know; regular forms are left to it."""
    assert base_forms(text) == read


def test_no_base_is_a_form_of_another():
    """Reading twice changes nothing."""
    assert not set(BASES) & set(BASES.values())
