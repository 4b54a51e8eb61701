"""What a hand edits in a served user's files, and how an operator has it found at once."""

from __future__ import annotations

import shutil

import pytest
from server.tests.http_world import HttpServer, Raw, home, token_for


@pytest.fixture(autouse=True)
def _words(words_only):
    """What is found here is found by words."""


def test_what_was_edited_by_hand_is_found_as_the_page_says():
    """A copy moved into its place is, and what was edited in place once the index is gone."""
    token = token_for("ann")
    with HttpServer("--toolsets", "private,recall") as server, Raw(server.url, token) as ann:
        ann.handshake()

        def finds(word):
            return f"The {word}" in ann.call("recall", query=word).text

        ann.call("process_thoughts", feelings="The harbour.")
        assert finds("harbour")
        (note,) = (home() / "users" / "ann" / "private").rglob("*.md")
        copy = note.with_name("copy")
        copy.write_text(note.read_text("utf-8").replace("harbour", "mountain"), "utf-8")
        copy.rename(note)
        assert finds("mountain")
        note.write_text(note.read_text("utf-8").replace("mountain", "meadow"), "utf-8")
        shutil.rmtree(home() / "users" / "ann" / "served" / "index")
        assert finds("meadow")
