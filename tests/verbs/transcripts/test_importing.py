"""Importing finds what clients kept, counts it first, and takes it once."""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime

import pytest
from tests.journals.transcripts.originals import (
    add_lines,
    claude_line,
    clock,
    codex_message,
    codex_meta,
    write_lines,
)

from commonplace.core.errors import Invalid, NotFound
from commonplace.journals.transcripts.copying import Kept
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace.verbs.imports.records import ImportRecords
from commonplace.verbs.transcripts.importing import TranscriptImport

ROLLOUT = "rollout-2026-11-22T10-00-00-01a20852-5196-7f92-ab6a-1cd17f0107a9.jsonl"


@pytest.fixture
def store(tmp_path):
    made = TranscriptStore(str(tmp_path / "transcripts"))
    yield made
    made.close()


@pytest.fixture
def home(tmp_path):
    """A home with two sessions of Claude Code, the second a fork, and one of Codex."""
    home = tmp_path / "home"
    folder = home / ".claude" / "projects" / "-p"
    lines = [claude_line("one", second=1), claude_line("two", second=2, role="assistant")]
    write_lines(folder / "s1.jsonl", *lines)
    write_lines(folder / "s2.jsonl", *lines, claude_line("three", second=90))
    write_lines(home / ".codex" / "sessions" / ROLLOUT, codex_meta(), codex_message("hello"))
    return home


@pytest.fixture
def importing(store, home):
    return TranscriptImport(store, Kept(), home=str(home), environ={})


def numbers(imports):
    return {x.client: (x.messages, len(x.sessions)) for x in imports}


def everything(importing, **more):
    return importing.find_all(**more)


def test_the_plan_is_what_the_import_then_takes(importing, store):
    """Copies in forks are counted once; the plan writes nothing."""
    originals = everything(importing)
    planned = importing.plan(originals)
    assert not store.exists
    assert numbers(planned) == {"claude-code": (3, 2), "codex": (1, 1)}
    assert (planned[0].first_at, planned[0].last_at) == (clock(1), clock(90))
    assert planned[0].size == sum(x.size for x in originals if x.client == "claude-code")
    done = importing.run(originals)
    assert numbers(done) == numbers(planned)
    assert [x.messages for x in store.sessions()] == [1, 2, 1]


def test_a_second_import_takes_what_came_since(importing, home):
    """And nothing that was there."""
    importing.run(everything(importing))
    assert numbers(importing.plan(everything(importing)))["claude-code"] == (0, 0)
    path = home / ".claude" / "projects" / "-p" / "s1.jsonl"
    add_lines(path, claude_line("four", second=100))
    assert numbers(importing.plan(everything(importing)))["claude-code"] == (1, 1)
    assert numbers(importing.run(everything(importing)))["claude-code"] == (1, 1)


class _HookedStore(TranscriptStore):
    """A store into which a hook copies a session just before an import does.

    most: How many of the messages it copies at once.
    """

    most = 0

    def append(self, client, session, messages, **more):
        super().append(client, session, messages[: self.most])
        return super().append(client, session, messages, **more)


@pytest.mark.parametrize("most", [1, 2])
def test_a_session_that_a_hook_copies_at_this_moment_is_not_the_import_s(tmp_path, home, most):
    """It goes with no import that is taken back; one of which it copied nothing new does."""
    store = _HookedStore(str(tmp_path / "transcripts"))
    importing = TranscriptImport(store, Kept(), home=str(home), environ={})
    record = ImportRecords(tmp_path, lambda: datetime.now(UTC)).new().into("transcripts")
    store.most = most
    importing.run(importing.find("claude-code"), noting=record)
    added = [ref for group in record.groups() for ref in group.versions]
    assert added == ["transcripts:claude-code/s2"]
    store.close()


def test_what_was_deleted_does_not_come_back(importing, store):
    """A session as a whole, or single messages, whatever the originals still hold."""
    importing.run(everything(importing))
    store.delete("claude-code", "s1")
    store.delete("claude-code", "s2", [1])
    os.unlink(os.path.join(store.folder, "catalog.db"))
    assert numbers(importing.plan(everything(importing)))["claude-code"] == (0, 0)
    assert numbers(importing.run(everything(importing)))["claude-code"] == (0, 0)


def test_a_catalog_that_is_gone_repeats_nothing(importing, store):
    """Ids are in our own files: the originals are read again, and all is there."""
    importing.run(everything(importing))
    store.close()
    os.unlink(os.path.join(store.folder, "catalog.db"))
    assert numbers(importing.run(everything(importing)))["claude-code"] == (0, 0)
    assert [x.messages for x in store.sessions(client="claude-code")] == [1, 2]


def test_since_leaves_out_what_was_not_written_to_since_then(importing, home):
    """It can be imported later."""
    old = home / ".claude" / "projects" / "-p" / "s1.jsonl"
    os.utime(old, (1_700_000_000, 1_700_000_000))
    since = datetime(2026, 1, 1, tzinfo=UTC)
    found = importing.find("claude-code", since=since)
    assert [os.path.basename(x.path) for x in found] == ["s2.jsonl"]
    importing.run(found, since=since)
    assert numbers(importing.run(importing.find("claude-code"))) == {"claude-code": (0, 0)}


def exported(path, *conversations):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(conversations))
    return str(path)


def conversation(own, second):
    said = {"uuid": f"m-{own}", "sender": "human", "text": own, "created_at": clock(second)}
    return {"uuid": own, "created_at": clock(0), "chat_messages": [said]}


def test_since_leaves_sessions_out_of_an_export(importing, tmp_path, store):
    """A later import without it takes the rest."""
    path = exported(tmp_path / "e.zip", conversation("old", 1), conversation("new", 60))
    originals = importing.find("claude-ai", path=path)
    since = datetime(2026, 11, 22, 10, 0, 30, tzinfo=UTC)
    assert numbers(importing.run(originals, since=since)) == {"claude-ai": (1, 1)}
    assert [x.name for x in store.sessions()] == ["new"]
    assert numbers(importing.run(originals)) == {"claude-ai": (1, 1)}
    assert importing.run(originals)[0].messages == 0


def test_an_export_is_named_by_its_user(importing, tmp_path):
    """Nothing of it lies on the machine; a folder, or a name that is wrong, is said so."""
    with pytest.raises(Invalid, match=r"ChatGPT keeps no sessions on this machine\."):
        importing.find("chatgpt")
    with pytest.raises(NotFound, match="does not exist"):
        importing.find("chatgpt", path=str(tmp_path / "nothing.zip"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="No sessions of ChatGPT were found in"):
        importing.find("chatgpt", path=str(tmp_path / "empty"))
    with pytest.raises(NotFound, match="No sessions of Gemini CLI were found on this machine"):
        importing.find("gemini")
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(Invalid, match="is not a file"):
        importing.find("chatgpt", path=str(tmp_path / "pipe.zip"))


def test_a_file_that_cannot_be_read_holds_up_no_other(importing, home, plain_permissions):
    """It is named; alone it is an error."""
    path = home / ".claude" / "projects" / "-p" / "s1.jsonl"
    path.chmod(0)
    with plain_permissions():
        done = importing.run(everything(importing))
        assert [x for x, _why in done[0].failed] == [str(path)]
        assert numbers(done) == {"claude-code": (3, 1), "codex": (1, 1)}
        with pytest.raises(Exception, match="refused"):
            importing.run(importing.find("claude-code", path=str(path)))


def test_a_file_that_vanished_holds_up_no_other(importing, home):
    """Between the plan and the import."""
    originals = everything(importing)
    (home / ".claude" / "projects" / "-p" / "s1.jsonl").unlink()
    done = importing.run(originals)
    assert numbers(done) == {"claude-code": (3, 1), "codex": (1, 1)}
    assert len(done[0].failed) == 1


def test_a_damaged_archive_is_an_error(importing, tmp_path):
    """And nothing of it is kept."""
    path = tmp_path / "e.zip"
    path.write_bytes(b"PK\x03\x04 not an archive")
    with pytest.raises(Invalid, match="damaged"):
        importing.run(importing.find("claude-ai", path=str(path)))


def test_progress_goes_up_to_the_whole(importing):
    """In bytes of the originals."""
    seen = []
    originals = everything(importing)
    importing.run(originals, progress=lambda *now: seen.append(now))
    total = sum(x.size for x in originals)
    assert seen[-1] == ("Codex", total, total)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
