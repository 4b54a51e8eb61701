"""Homes that former versions wrote: every entry is read, found and added to by this one."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run

HOMES = sorted((Path(__file__).parent.parent / "golden" / "homes").glob("*.tar.xz"))

SAID = {
    "chronicle": {
        ("Moved the site to Hetzner", "2026-03-27T09:30"),
        ("Renewed the certificate", "2026-04-02T17:05"),
        ("Told the customers", "2026-04-03T10:00"),
    },
    "private": {
        ("Glad that the move is over.", "2026-03-27T18:00"),
        ("The deploy key lies in the safe.", "2026-03-28T08:00"),
    },
    "timeline": {
        ("Signed the contract with Hetzner", "2026-03-26T11:00"),
        ("Paid the first invoice", "2026-04-30T12:00"),
    },
    "notebook": {("We left Fly for its outages.", ""), ("The zone is with the registrar.", "")},
    "memory": {("I prefer short answers.", ""), ("Cancel the account at Fly", "")},
}
"""What `scripts/make_golden_home.py` wrote, and for when; empty for the time of the writing."""


@pytest.fixture(params=HOMES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def home(request, monkeypatch):
    """A home that a former version wrote, as the user's own, in the project that it had."""
    with tarfile.open(request.param) as archive:
        archive.extractall(Path.home(), filter="tar")
    monkeypatch.chdir(Path.home() / "site")
    return Path.home()


def entries_in(export, home):
    """The entries of an export, by journal, with `~` for a home."""
    with zipfile.ZipFile(export) as archive:
        return {
            name: archive.read(name).decode().replace(str(home), "~")
            for name in archive.namelist()
            if name.endswith("/entries.jsonl")
        }


def test_every_entry_of_a_former_version_is_there(home):
    """Found by a word of it, opened whole, with the time that it was for."""
    for journal, entries in SAID.items():
        for text, at in entries:
            found = facts("recall", text, "--journal", journal)["items"]
            opened = [facts("open", hit["ref"]) for hit in found]
            [page] = [each for each in opened if text in each["text"] and not each.get("rollup_of")]
            assert page["at"].startswith(at)


def test_what_was_made_of_the_entries_is_there(home):
    """The notebook's overviews, the timeline's summaries, and what was preferred."""
    assert "The site is at Hetzner." in run("notebook", "read", "hosting").stdout
    assert "Signed the contract with Hetzner" in run("timeline", "show", "2026-03-26").stdout
    assert "German" in run("memory", "list", "preference").stdout


def test_a_home_of_a_former_version_is_in_order(home):
    """The doctor finds nothing to mend once it was used."""
    run("recall", "Hetzner")
    examined = run("doctor")
    assert examined.exit_code == 0, examined.output


def test_it_goes_on_where_the_former_version_stopped(home):
    """A key that was used then names the same entry, and each journal takes another one."""
    known = facts("recall", "Told the customers", "--journal", "chronicle")["items"]
    again = facts("log", "Told the customers", "--idempotency-key", "golden")
    assert [again["ref"]] == [hit["ref"] for hit in known if "Told" in hit["text"]]
    for words in (
        ("log", "Deleted the old site"),
        ("private", "write", "Relieved."),
        ("notebook", "write", "hosting", "The old site is gone."),
        ("timeline", "add", "Closed the account"),
        ("memory", "save", "message", "--role", "user", "--text", "It is done."),
    ):
        assert run(*words).exit_code == 0, words
    said = run("list", "--limit", "20").stdout
    for text in ("Deleted the old site", "Relieved.", "The old site is gone.", "It is done."):
        assert text in said


def test_an_export_of_it_is_whole_in_an_empty_home(home, tmp_path, monkeypatch):
    """Each entry that is exported, imported and exported again is the same, to the byte."""
    out, again = tmp_path / "out.zip", tmp_path / "again.zip"
    assert run("export", out).exit_code == 0
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "empty" / name))
    assert run("import", out).exit_code == 0
    assert run("export", again).exit_code == 0
    assert entries_in(again, home) == entries_in(out, home)
    assert {f"{journal}/entries.jsonl" for journal in SAID} <= {*entries_in(out, home)}
