"""What Claude Code and Codex note in files of their own: found, marked, followed, never touched."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run

pytestmark = pytest.mark.usefixtures("no_weights")

LOCKS = (
    "---\nname: locks\n---\nA crashed heron build leaves its lock file behind in the cache folder."
)


@pytest.fixture
def home():
    """The user's home folder."""
    return Path.home()


@pytest.fixture
def project(home):
    """A folder that a client was started in."""
    folder = home / "work" / "api.v2"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def note(home, project):
    """A file of Claude Code's own memory of that project."""
    slug = re.sub("[^A-Za-z0-9]", "-", os.path.realpath(project))
    path = home / ".claude" / "projects" / slug / "memory" / "locks.md"
    path.parent.mkdir(parents=True)
    path.write_text(LOCKS)
    return path


def test_a_note_is_found_from_anywhere_and_marked(note, project):
    """With its project; whole when it is opened; the file is as it was, and no copy is made."""
    (hit,) = facts("recall", "heron lock")["items"]
    assert (hit["journal"], hit["kind"], hit["author"]) == ("transcripts", "note", "claude-code")
    assert (hit["where"], hit["word"]) == (str(project), "client")
    assert "[from the client's memory]" in run("recall", "heron lock").stdout
    told = "From the client's own memory: it keeps and changes this file itself."
    assert told in run("recall", "heron lock", "--model").stdout
    assert told in run("open", hit["ref"]).stdout
    opened = facts("open", hit["ref"])
    assert (opened["text"], opened["word"]) == (LOCKS, "client")
    assert note.read_text() == LOCKS


def test_the_file_is_followed_as_it_changes(note):
    """Altered, removed, or no longer wanted."""
    ref = facts("recall", "heron")["items"][0]["ref"]
    note.write_text("The heron build moved to the egret runner.")
    assert [each["ref"] for each in facts("recall", "egret")["items"]] == [ref]
    assert run("config", "set", "transcripts.client_memory", "false").exit_code == 0
    assert not facts("recall", "egret")["items"]
    assert run("config", "set", "transcripts.client_memory", "true").exit_code == 0
    assert facts("recall", "egret")["items"]
    note.unlink()
    assert not facts("recall", "egret")["items"]
    assert run("open", ref).exit_code == 3


def test_it_counts_as_no_entry(note):
    """`list` and `last` keep to what was written and said here; `status` counts it beside."""
    assert run("log", "painted the shed").exit_code == 0
    assert facts("recall", "heron")["items"]
    assert [each["text"] for each in facts("list")["items"]] == ["painted the shed"]
    assert facts("last")["text"] == "painted the shed"
    assert "transcripts has 1 note of the clients' own besides." in run("status").stdout
    (said,) = [x for x in facts("status")["journals"] if x["journal"] == "transcripts"]
    assert (said["entries"], said["client_notes"]) == (0, 1)
    assert [each["word"] for each in facts("list", "-j", "transcripts")["items"]] == ["client"]


def test_what_is_no_note_is_left_alone(home, note):
    """An index that only links, a link, and what lies beside; Codex has two files."""
    note.with_name("MEMORY.md").write_text("# Index\n- [Locks](locks.md) — heron\n")
    elsewhere = home / "elsewhere.md"
    elsewhere.write_text("secret heron")
    note.with_name("link.md").symlink_to(elsewhere)
    codex = home / ".codex" / "memories"
    codex.mkdir(parents=True)
    (codex / "MEMORY.md").write_text("Prefers the heron style.")
    (codex / "raw_memories.md").write_text("raw heron")
    found = facts("recall", "heron")["items"]
    assert sorted(each["author"] for each in found) == ["claude-code", "codex"]


def test_secrets_in_it_are_replaced(note):
    """In what is found and in what is opened; what is marked private is in neither."""
    token = "ghp_" + "a1B2" * 9
    note.write_text(f"The heron token is {token}. <private>Not the egret.</private>")
    assert not facts("recall", "egret")["items"]
    (hit,) = facts("recall", "heron")["items"]
    assert token not in hit["text"]
    opened = facts("open", hit["ref"])["text"]
    assert token not in opened
    assert "egret" not in opened


def test_it_is_neither_edited_nor_deleted(note):
    """The file is named; so it is where its words are forgotten."""
    ref = facts("recall", "heron")["items"][0]["ref"]
    for words in (("delete", ref, "--yes"), ("edit", ref, "other"), ("forget", ref, "--yes")):
        done = run(*words)
        assert done.exit_code != 0, words
        assert f"lies in the client's own file {note}" in done.stderr, words
    body = LOCKS.rpartition("\n")[2]
    assert run("log", body).exit_code == 0
    done = run("forget", "--query", "heron", "--yes")
    assert f"lies in the client's own file {note}: edit or delete it there." in done.stdout
    assert note.read_text() == LOCKS
    assert [each["ref"] for each in facts("recall", "heron")["items"]] == [ref]
