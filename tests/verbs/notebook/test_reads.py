"""What a session remembers of the overviews it read: versions always, texts within a bound."""

from __future__ import annotations

from commonplace.verbs.notebook.reads import Reads

MILLION = 1_000_000


def test_of_more_than_four_million_characters_the_oldest_texts_go_and_their_versions_stay():
    """Five texts of a million: the first one is forgotten, and is still the last version read."""
    reads = Reads()
    for number in range(5):
        reads.remember(f"section {number}", f"v{number}", "x" * MILLION)
    assert [bool(reads.texts(f"section {n}")) for n in range(5)] == [False, True, True, True, True]
    assert reads.last("section 0") == "v0"


def test_a_text_read_again_counts_once():
    """Ten times the same four million characters leave no other text out."""
    reads = Reads()
    reads.remember("other", "v1", "kept")
    for _ in range(10):
        reads.remember("large", "v1", "x" * (4 * MILLION - 4))
    assert reads.texts("other") == {"v1": "kept"}
    assert list(reads.texts("large")) == ["v1"]


def test_texts_that_leave_a_section_make_room():
    """Eight a section: the ninth lets the first one go, and its characters with it."""
    reads = Reads()
    for number in range(40):
        reads.remember("one", f"v{number}", "x" * (MILLION // 2))
    assert list(reads.texts("one")) == [f"v{n}" for n in range(39, 31, -1)]
