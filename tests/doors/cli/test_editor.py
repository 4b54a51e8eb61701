"""What is written in the user's editor: read when it is saved, and kept where a command fails."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from tests.doors.terminal import facts, on_terminal, run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")

HERE = f'"{sys.executable}" -m commonplace'


@pytest.fixture
def in_editor(tmp_path, no_weights):
    """Run a command whose editor is a shell script; its code, and what the terminal shows."""
    editor = tmp_path / "editor"

    def run_with(script, *words):
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o755)
        code, _, shown = on_terminal(*words, env={"EDITOR": str(editor), "VISUAL": ""})
        return code, shown

    return run_with


def kept(shown):
    """What was kept of an editor's text, where the terminal says that it is."""
    path = shown.partition("What you wrote is kept in ")[2].splitlines()[0].rstrip()
    return Path(path.removesuffix(".")).read_bytes()


def drafts():
    """The files that hold drafts."""
    folder = Path.home() / ".local/share/commonplace/drafts"
    return [path for path in folder.rglob("*") if path.is_file()]


SAVES = "printf 'an hour of work' > \"$1\""
ENDS_WITH_IT = "tail -f --pid=$PPID -s 0.01 /dev/null > /dev/null 2>&1"
"""As an editor that ignores Ctrl-C, until the command that opened it is gone."""
FAULTS = {
    "not UTF-8": ("printf 'caf\\351' > \"$1\"", 2, b"caf\xe9"),
    "the editor fails": (f"{SAVES}; exit 1", 1, b"an hour of work"),
    "the editor is killed": (f"{SAVES}; kill -9 $$", 1, b"an hour of work"),
    "Ctrl-C": (f"{SAVES}; kill -2 $PPID; exec {ENDS_WITH_IT}", 130, b"an hour of work"),
}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        *((("edit", "-1"), fault) for fault in FAULTS),
        (("private", "write"), "Ctrl-C"),
        (("private", "write"), "not UTF-8"),
        (("chronicle", "add"), "Ctrl-C"),
        (("chronicle", "add"), "the editor fails"),
    ],
)
def test_what_was_saved_is_kept_where_it_cannot_be_taken(in_editor, words, fault):
    """An editor's file is a draft from the start, which `doctor` names once the command has ended."""
    script, code, left = FAULTS[fault]
    run("log", "left the harbour")
    ended, shown = in_editor(script, *words)
    assert (ended, kept(shown)) == (code, left)
    (draft,) = drafts()
    assert draft.read_bytes() == left
    assert f"{draft} is a draft of yours that was not written." in run("doctor").stdout
    assert facts("last")["text"] == "left the harbour"


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("private", "write"), "10 MB"),
        pytest.param(("chronicle", "add"), "bytes are more than", marks=pytest.mark.long),
    ],
)
def test_a_new_entry_that_is_refused_is_kept(in_editor, words, most):
    """As an edit is: it was written nowhere else."""
    code, shown = in_editor("head -c 11000000 /dev/zero | tr '\\0' x > \"$1\"", *words)
    assert (code, most in shown) == (2, True)
    assert kept(shown) == b"x" * 11_000_000


@pytest.mark.parametrize("text", ["owner = [", "# my notes\nownr = 1"])
def test_settings_that_are_refused_are_kept(in_editor, text):
    """The file stays as it was, and nobody types the new one twice."""
    run("config", "set", "owner", "ann")
    code, shown = in_editor(f"printf '{text}' > \"$1\"", "config", "edit")
    assert (code, kept(shown).decode()) == (2, text)
    assert run("config", "get", "owner").stdout == "ann\n"


def test_what_another_process_set_while_settings_are_edited_stays(in_editor):
    """Both are the user's: the newer one is in the file, the other is kept beside."""
    other = f"{HERE} config set owner bob < /dev/null > /dev/null"
    code, shown = in_editor(f'printf \'owner = "ann"\' > "$1"; {other}', "config", "edit")
    assert (code, "has changed" in shown) == (4, True)
    assert kept(shown) == b'owner = "ann"'
    assert run("config", "get", "owner").stdout == "bob\n"


@pytest.mark.parametrize("damage", [b"\xff\xfe", None], ids=["not UTF-8", "a folder"])
def test_settings_that_cannot_be_read_are_named(in_editor, damage):
    """The editor is not opened on what would be half a file."""
    file = Path(run("config", "path").stdout.strip())
    file.parent.mkdir(parents=True)
    file.mkdir() if damage is None else file.write_bytes(damage)
    code, shown = in_editor('touch "$1"', "config", "edit")
    assert (code, "config.toml" in shown, "Internal" in shown) == (2, True, False)


def test_an_editor_whose_words_cannot_be_parted_is_named():
    """A quote is open; with what to do about it."""
    code, _, shown = on_terminal("private", "write", env={"EDITOR": "vim '", "VISUAL": ""})
    assert code == 1
    assert "vim '" in shown
    assert "name another in EDITOR" in " ".join(shown.split())
    assert "What you wrote" not in shown


def test_what_is_written_leaves_no_draft(in_editor):
    """The draft is there while the editor is open, when `doctor` does not name it, and then gone."""
    looks = f'{HERE} doctor > looked.txt < /dev/null; ls "$1" >> looked.txt'
    assert in_editor(f"{looks}; {SAVES}", "private", "write")[0] == 0
    looked = Path("looked.txt").read_text()
    assert "is a draft" not in looked
    assert "/drafts/" in looked
    assert drafts() == []
    assert in_editor("true", "private", "write")[0] == 2
    assert drafts() == []


def test_where_the_home_takes_no_draft_what_was_saved_is_shown(in_editor):
    """It is among temporary files meanwhile, and nothing of it stays there."""
    closed = Path.home() / ".local/share/commonplace/drafts"
    closed.parent.mkdir(parents=True)
    closed.touch()
    code, shown = in_editor(FAULTS["the editor fails"][0], "private", "write")
    assert (code, "What you wrote:\r\nan hour of work\r\n" in shown) == (1, True)
    assert [*Path(tempfile.gettempdir()).rglob("text.md")] == []


def test_a_killed_command_leaves_a_draft_that_is_found_and_forgotten(in_editor):
    """Killed while the editor is open, as the terminal's end may do; `forget` erases it."""
    text = "the blue door behind the bakery opens with four seven one one, Ann said"
    ref = facts("private", "write", text)["refs"][0]
    in_editor(f"kill -9 $PPID; exec {ENDS_WITH_IT}", "edit", ref)
    (draft,) = drafts()
    assert f"{draft} is a draft of yours" in run("doctor").stdout
    planned = facts("forget", ref, "--dry-run")
    assert planned["drafts"] == [str(draft)]
    assert facts("forget", ref, "--yes")["clean"]
    assert drafts() == []
