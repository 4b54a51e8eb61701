"""The files of transcripts: whole after every death, never doubled, and gone once deleted."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from tests.cases import cases
from tests.journals.transcripts.sessions import run_killed, said, start, texts

from commonplace.core.errors import Denied, Invalid, Unavailable
from commonplace.core.values import NOTHING_KNOWN, Since
from commonplace.journals.transcripts.message import parse_ref, ref_of, session_name
from commonplace.journals.transcripts.source import TranscriptSource
from commonplace.journals.transcripts.store import TranscriptStore

CLIENT = "claude-code"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "transcripts"


@pytest.fixture
def open_store(folder):
    """Opens the folder as one process more."""
    made = []

    def opened(**settings):
        made.append(TranscriptStore(str(folder), **settings))
        return made[-1]

    yield opened
    for each in made:
        each.close()


@pytest.fixture
def store(open_store):
    return open_store()


def file_of(folder, session="one", year="2026", client=CLIENT):
    return folder / client / year / f"{session}.jsonl"


def catalog_at(folder):
    """The catalog as another program would open it."""
    return contextlib.closing(sqlite3.connect(folder / "catalog.db", isolation_level=None))


def lines_of(path):
    return [json.loads(x) for x in path.read_text("utf-8").splitlines()]


def bytes_below(folder) -> bytes:
    return b"".join(x.read_bytes() for x in sorted(folder.rglob("*")) if x.is_file())


def test_nothing_is_made_before_the_first_message(store, folder):
    """Whatever is asked of a store that is not there, it stays so."""
    assert store.mark() == ""
    assert store.sessions() == []
    assert store.read(CLIENT, "one") == []
    assert store.copied_to("/a.jsonl") == (0, "")
    assert store.delete(CLIENT, "one") == 0
    assert store.retain("2026-01-01T00:00:00.000Z") == []
    assert store.follow_files() == 0
    assert not folder.exists()


def test_a_message_is_a_line_that_anybody_can_read(store, folder):
    """With what was said, when, where and by whom, and without fields that are empty."""
    full = said(1, "Grüße", parent="id-0", cwd="/p", branch="main", tools=("Bash",), sidechain=True)
    assert store.append(CLIENT, "one", [full, said(2)]) == 2
    first, second = lines_of(file_of(folder))
    assert first == {
        "n": 1,
        "id": "id-1",
        "role": "user",
        "at": "2026-05-01T00:01:00.000Z",
        "text": "Grüße",
        "parent": "id-0",
        "cwd": "/p",
        "branch": "main",
        "tools": ["Bash"],
        "sidechain": True,
        "client": CLIENT,
    }
    assert sorted(second) == ["at", "client", "id", "n", "role", "text"]
    assert store.read(CLIENT, "one") == [full._replace(n=1), said(2)._replace(n=2)]


def test_files_are_for_their_owner_alone(store, folder):
    """Folders 0700 and files 0600, whatever the umask says."""
    store.append(CLIENT, "one", [said(1)])
    store.delete(CLIENT, "one", [1])
    store.append(CLIENT, "one", [said(2)])
    for path in [folder, *folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert store.check().open_to_others == []


def test_a_message_is_kept_once_for_each_client(store):
    """A session that was resumed or forked repeats none; another client may use the same id."""
    assert store.append(CLIENT, "one", [said(1), said(2), said(1, "again")]) == 2
    assert store.append(CLIENT, "two", [said(1), said(2), said(3)]) == 1
    assert store.append(CLIENT, "one", [said(1), said(2)]) == 0
    assert store.append("codex", "one", [said(1)]) == 1
    assert texts(store.read(CLIENT, "one")) == ["Words 1.", "Words 2."]
    assert texts(store.read(CLIENT, "two")) == ["Words 3."]


def test_how_far_an_original_was_copied_is_noted(store, open_store):
    """With the messages, also where nothing was new."""
    store.append(CLIENT, "one", [said(1)], origin="/a.jsonl", offset=90, fingerprint="f")
    assert open_store().copied_to("/a.jsonl") == (90, "f")
    store.append(CLIENT, "one", [], origin="/a.jsonl", offset=120, fingerprint="f")
    assert open_store().copied_to("/a.jsonl") == (120, "f")


@pytest.mark.parametrize(
    "session", ["../../etc/passwd", ".hidden", "", "a/b", "a\0b", "x" * 200, "\ud800", "ä"]
)
def test_a_session_with_a_hostile_id_is_kept_under_its_hash(store, folder, session):
    """Its file lies with the others, and is found again."""
    assert store.append(CLIENT, session, [said(1)]) == 1
    name = session_name(session)
    assert [x.name for x in store.sessions()] == [name]
    assert file_of(folder, name).is_file()
    assert store.append(CLIENT, session, [said(1)]) == 0


@cases(
    "message",
    [
        said(1, at="yesterday"),
        said(1, at="2026-02-31T00:00:00.000Z"),
        said(1, at="0000-01-01T00:00:00.000Z"),
        said(1, at="../../../2026"),
        said(1, role="system"),
        said(1, id=""),
    ],
)
def test_what_cannot_be_kept_is_refused_whole(store, folder, message):
    """The error names the message and what it may have; nothing is written."""
    with pytest.raises(Invalid, match="cannot be kept"):
        store.append(CLIENT, "one", [said(2), message])
    with pytest.raises(Invalid, match="client"):
        store.append("../codex", "one", [said(1)])
    assert not folder.exists()


def test_any_text_comes_back_as_it_was(store):
    """NUL, line separators and quotes too; what UTF-8 cannot hold is replaced."""
    store.append(CLIENT, "one", [said(1, 'a\0b\u2028c\r\n"d"'), said(2, "lone \ud800 half")])
    assert texts(store.read(CLIENT, "one")) == ['a\0b\u2028c\r\n"d"', "lone \ufffd half"]


def test_sessions_are_listed_by_when_they_went_on_last(store):
    """With their times, folder and branch, whatever order they came in."""
    store.append(CLIENT, "one", [said(10, cwd="/p", branch="main"), said(5, cwd="/q", branch="b")])
    store.append("codex", "two", [said(20)])
    two, one = store.sessions()
    assert (two.client, two.name, one.name) == ("codex", "two", "one")
    assert (one.first_at, one.last_at) == (said(5).at, said(10).at)
    assert (one.cwd, one.branch, one.messages) == ("/p", "b", 2)
    assert store.sessions(client=CLIENT) == [one]
    assert store.sessions(since=said(11).at) == [two]
    assert store.sessions(until=said(20).at) == [one]


def test_a_part_of_a_session_can_be_read(store):
    """By numbers, or as what came right before one; and how it began."""
    store.append(CLIENT, "one", [said(x) for x in range(2, 12)])
    assert [x.n for x in store.read(CLIENT, "one", first=3, last=5)] == [3, 4, 5]
    store.append(CLIENT, "one", [said(20, " "), said(21)])
    assert [x.n for x in store.read_around(CLIENT, "one", 10)] == [9, 10, 12]
    assert [x.n for x in store.read_around(CLIENT, "one", 11)] == [10, 11, 12]
    assert store.read_around(CLIENT, "one", 99) == store.read(CLIENT, "one", first=12)
    assert store.read_opening(CLIENT, "one").text == "Words 3."
    assert store.read_opening(CLIENT, "two") is None


@pytest.mark.parametrize(
    "where",
    [
        "files.os.fsync = die",
        "fsync = os.fsync; files.os.fsync = lambda x: (fsync(x), die())",
        "files.append = lambda path, content: (open(path, 'ab').write(content[:-30]), die())",
        "files.make_folder(store.folder); catalog.Catalog.note_change = die",
    ],
)
@pytest.mark.parametrize("had", [0, 2])
def test_a_writer_killed_in_the_middle_loses_and_doubles_nothing(store, folder, where, had):
    """What it had begun is kept once, when the same is copied again."""
    before = [said(x) for x in range(1, had + 1)]
    store.append(CLIENT, "one", before)
    script = f"os.makedirs(store.folder + '/{CLIENT}/2026', 0o700, exist_ok=True)\n{where}\n"
    run_killed(f"{script}store.append('{CLIENT}', 'one', [said(8), said(9)], origin='/a')", folder)
    assert store.copied_to("/a") == (0, "")
    store.append(CLIENT, "one", [*before, said(8), said(9), said(10)], origin="/a", offset=9)
    assert store.copied_to("/a") == (9, "")
    wanted = texts([*before, said(8), said(9), said(10)])
    assert texts(store.read(CLIENT, "one")) == wanted
    assert [x["text"] for x in lines_of(file_of(folder))] == wanted
    assert [x["n"] for x in lines_of(file_of(folder))] == [*range(1, had + 4)]
    assert store.check().broken == {}


def test_what_a_killed_writer_kept_is_found_without_copying_again(store, folder):
    """The original may be gone: a look at the files finds it."""
    store.append(CLIENT, "one", [said(1)])
    mark = store.mark()
    script = "fsync = os.fsync; files.os.fsync = lambda x: (fsync(x), die())"
    run_killed(f"{script}\nstore.append('{CLIENT}', 'one', [said(2)])", folder)
    assert texts(store.read(CLIENT, "one")) == ["Words 1."]
    assert store.check().unread == 1
    assert store.follow_files() == 1
    assert texts(store.read(CLIENT, "one")) == ["Words 1.", "Words 2."]
    assert store.changed_since(mark) == [(CLIENT, "one")]


def test_two_processes_keep_one_session_between_them(store, folder):
    """Each message once, with a number of its own, however they take turns."""
    script = (
        "import sys\n"
        "from commonplace.journals.transcripts.store import TranscriptStore\n"
        "from tests.journals.transcripts.sessions import said\n"
        "store, first = TranscriptStore(sys.argv[1]), int(sys.argv[2])\n"
        f"for x in range(1, 101): store.append('{CLIENT}', 'one', [said(x), said(x + first)])\n"
    )
    running = [start(script, folder, first) for first in (100, 200)]
    for each in running:
        _, errors = each.communicate()
        assert each.returncode == 0, errors
    kept = store.read(CLIENT, "one")
    assert sorted(x.id for x in kept) == sorted(f"id-{x}" for x in range(1, 301))
    assert [x["n"] for x in lines_of(file_of(folder))] == [*range(1, 301)]


def test_a_lock_of_another_process_is_waited_for_as_long_as_asked(open_store, folder):
    """Then the error says who is in the way, and nothing was kept."""
    mine, other = open_store(busy_s=0.05), open_store()
    other.append(CLIENT, "one", [said(1)])

    with catalog_at(folder) as catalog:
        catalog.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked by another process"):
            mine.append(CLIENT, "one", [said(2)])
    assert len(lines_of(file_of(folder))) == 1


def test_a_file_removed_by_hand_is_followed(store, folder):
    """Its session is gone, the mark is another, and the others stay."""
    store.append(CLIENT, "one", [said(1)])
    store.append(CLIENT, "two", [said(2)])
    mark = store.mark()
    file_of(folder).unlink()
    assert store.mark() != mark
    assert store.read(CLIENT, "one") == []
    store.follow_files()
    assert [x.name for x in store.sessions()] == ["two"]
    assert (CLIENT, "one") in store.changed_since(mark)


def test_a_file_laid_or_edited_by_hand_is_followed(store, folder):
    """Of another machine, say: its messages are known, and are not copied again."""
    store.append(CLIENT, "one", [said(1), said(2)])
    path = file_of(folder, "two", year="2025", client="codex")
    path.parent.mkdir(parents=True)
    shutil.copy(file_of(folder), path)
    file_of(folder).write_text(file_of(folder).read_text().replace("Words 1", "Sentences 1"))
    assert store.follow_files() == 2
    assert texts(store.read(CLIENT, "one")) == ["Sentences 1.", "Words 2."]
    assert texts(store.read("codex", "two")) == ["Words 1.", "Words 2."]
    assert store.append("codex", "three", [said(1)]) == 0


def test_a_session_edited_behind_our_back_is_read_as_it_is_now(store, folder):
    """Nobody has looked at the files meanwhile."""
    store.append(CLIENT, "one", [said(1), said(2)])
    store.read(CLIENT, "one")
    lines = file_of(folder).read_text().splitlines()
    file_of(folder).write_text(f"{lines[1]}\n")
    assert texts(store.read(CLIENT, "one")) == ["Words 2."]


def test_a_broken_line_hides_no_other(store, folder):
    """It is counted, stays where it is, and takes no number."""
    store.append(CLIENT, "one", [said(1)])
    with file_of(folder).open("ab") as file:
        file.write(b'{"n": 2, "id"\n\xff\xfe\n[]\n{"n":true}\n{"n":-1,"id":"x"}\n')
    store.append(CLIENT, "one", [said(2)])
    assert texts(store.read(CLIENT, "one")) == ["Words 1.", "Words 2."]
    assert store.check().broken == {str(file_of(folder)): 5}
    assert b'{"n": 2, "id"\n' in file_of(folder).read_bytes()


def test_a_last_line_without_its_end_is_kept(store, folder):
    """An editor left the end out; only what a killed writer left torn is cut."""
    store.append(CLIENT, "one", [said(1), said(2)])
    file_of(folder).write_bytes(file_of(folder).read_bytes().rstrip(b"\n"))
    store.append(CLIENT, "one", [said(3)])
    assert texts(store.read(CLIENT, "one")) == ["Words 1.", "Words 2.", "Words 3."]
    assert store.check().broken == {}


@pytest.mark.parametrize("how", ["removed", "corrupt", "while open", "of another version"])
def test_a_lost_catalog_is_made_again_from_the_files(open_store, folder, how):
    """Nothing is lost, nothing doubled, and no number is given again."""
    store = open_store()
    store.append(CLIENT, "one", [said(x) for x in range(1, 5)])
    store.append("codex", "two", [said(9)])
    store.delete(CLIENT, "one", [4])
    mark = store.mark()
    if how != "while open":
        store.close()
    if how == "corrupt":
        (folder / "catalog.db").write_bytes(b"SQLite format 3\0" + os.urandom(8000))
    elif how == "of another version":
        with catalog_at(folder) as catalog:
            catalog.execute("PRAGMA user_version = 99")
    else:
        (folder / "catalog.db").unlink()
    assert [x.name for x in store.sessions()] == ["two", "one"]
    assert store.append(CLIENT, "one", [said(2), said(4), said(5)]) == 1
    assert [x.n for x in store.read(CLIENT, "one")] == [1, 2, 3, 5]
    assert store.changed_since(mark) is None
    assert store.mark() != mark


def test_a_deleted_message_leaves_no_byte_and_does_not_come_back(store, folder, open_store):
    """From its session, from another that repeats it, with or without the catalog."""
    other = open_store()
    store.append(CLIENT, "one", [said(1), said(2, "A secret word."), said(3)])
    assert other.delete(CLIENT, "one", [2]) == 1
    assert b"secret" not in bytes_below(folder)
    assert texts(store.read(CLIENT, "one")) == ["Words 1.", "Words 3."]
    for each in (store, other):
        assert each.append(CLIENT, "one", [said(2, "A secret word."), said(4)]) <= 1
        assert each.append(CLIENT, "fork", [said(2, "A secret word.")]) == 0
        each.remake_catalog()
    assert [x.n for x in store.read(CLIENT, "one")] == [1, 3, 4]
    assert b"secret" not in bytes_below(folder)


def test_a_deleted_session_is_gone_for_good(store, folder):
    """Its file too, what it goes on with, and what a fork repeats of it."""
    store.append(CLIENT, "one", [said(1, "A secret word."), said(2)])
    store.append(CLIENT, "two", [said(3)])
    assert store.delete(CLIENT, "one") == 2
    assert not file_of(folder).exists()
    assert b"secret" not in bytes_below(folder)
    assert store.append(CLIENT, "one", [said(1), said(4)]) == 0
    assert store.append(CLIENT, "fork", [said(1), said(5)]) == 1
    assert [x.name for x in store.sessions()] == ["fork", "two"]
    assert store.delete(CLIENT, "one") == 0


def test_old_sessions_can_be_let_go(store, folder):
    """They stay away, yet one that goes on is kept again from there."""
    store.append(CLIENT, "old", [said(1), said(2)])
    store.append(CLIENT, "new", [said(100)])
    assert [x.name for x in store.retain(said(50).at)] == ["old"]
    assert [x.name for x in store.sessions()] == ["new"]
    assert store.append(CLIENT, "old", [said(1), said(2), said(101)]) == 1
    assert [(x.n, x.text) for x in store.read(CLIENT, "old")] == [(3, "Words 101.")]


@pytest.mark.parametrize(
    "where",
    [
        "append = files.append; files.append = lambda *x: (append(*x), die())",
        "catalog.Catalog.put_deleted = die",
        "catalog.Catalog.deleted_ids = die",
        "files.rewrite = die",
    ],
)
@pytest.mark.parametrize("lost", [False, True])
def test_a_deletion_that_was_begun_is_finished_by_the_next(store, folder, where, lost):
    """Once it is written down that something goes, it goes, whoever dies."""
    store.append(CLIENT, "one", [said(1), said(2, "A secret word.")])
    store.close()
    run_killed(
        f"store.read('{CLIENT}', 'one')\n{where}\nstore.delete('{CLIENT}', 'one', [2])", folder
    )
    if lost:
        (folder / "catalog.db").unlink()
    assert store.follow_files() == 0
    assert texts(store.read(CLIENT, "one")) == ["Words 1."]
    assert b"secret" not in bytes_below(folder)


def test_a_torn_tombstone_counts_for_nothing(store, folder):
    """Nobody was told that it is deleted; the next deletion is whole."""
    store.append(CLIENT, "one", [said(1), said(2)])
    with (folder / "deleted.jsonl").open("ab") as file:
        file.write(b'{"client": "claude-code", "session": "one", "id": "id')
    assert store.delete(CLIENT, "one", [1]) == 1
    assert texts(store.read(CLIENT, "one")) == ["Words 2."]
    assert [x["id"] for x in lines_of(folder / "deleted.jsonl")] == ["id-1"]


def test_a_broken_piece_of_what_is_deleted_goes_with_it(store, folder):
    """A torn line that holds its id may hold its text."""
    store.append(CLIENT, "one", [said(1), said(2, "A secret word.")])
    with file_of(folder).open("ab") as file:
        file.write(b'{"id":"id-2","text":"A secret wo\n{"other\n')
    store.delete(CLIENT, "one", [2])
    assert b"secret" not in bytes_below(folder)
    assert b'{"other\n' in file_of(folder).read_bytes()


def test_a_link_in_the_place_of_a_file_is_not_followed(store, folder, tmp_path):
    """Nothing is read through it or written to where it leads."""
    outside = tmp_path / "outside.jsonl"
    outside.write_text("mine\n")
    store.append(CLIENT, "two", [said(1)])
    file_of(folder).symlink_to(outside)
    with pytest.raises(Denied):
        store.append(CLIENT, "one", [said(2)])
    store.follow_files()
    assert [x.name for x in store.sessions()] == ["two"]
    assert outside.read_text() == "mine\n"


def test_the_mark_moves_with_what_is_kept_and_deleted(store, open_store):
    """For every process alike, and with nothing else."""
    other, marks = open_store(), set()
    for number in range(1, 4):
        store.append(CLIENT, "one", [said(number)], origin="/a", offset=number)
        marks.add(store.mark())
        assert other.mark() == store.mark()
    before = store.mark()
    store.append(CLIENT, "one", [said(1)], origin="/a", offset=9)
    store.read(CLIENT, "one")
    assert store.mark() == before
    other.delete(CLIENT, "one", [2])
    marks.add(store.mark())
    assert len(marks) == 4
    assert store.changed_since(before) == [(CLIENT, "one")]


@cases(
    ("ref", "parts"),
    [
        ("transcripts:codex/a-1", ("codex", "a-1", 0)),
        ("transcripts:codex/a-1#12", ("codex", "a-1", 12)),
        ("transcripts:codex/a-1#0", None),
        ("transcripts:codex/../a#1", None),
        ("transcripts:codex/.a#1", None),
        ("transcripts:codex", None),
        ("chronicle:codex/a", None),
        ("", None),
    ],
)
def test_a_ref_is_parsed_or_refused(ref, parts):
    """It names a client, a session and a number, and never a path."""
    assert parse_ref(ref) == parts


_ODD = (
    '{"n":1,"id":"\\ud800","role":"user","at":"2026-05-01T00:00:00.000Z","text":"half \\ud800",'
    '"cwd":"/a\\udcff","tools":["\\udfff"]}\n'
)


def test_half_a_surrogate_pair_in_a_line_is_the_sign_for_what_is_not_known(store, folder):
    """UTF-8 cannot hold one, and so neither can the catalog; the other sessions are read as before."""
    store.append(CLIENT, "one", [said(1)])
    file_of(folder, "odd").write_text(_ODD)
    assert store.follow_files() == 1
    [read] = store.read(CLIENT, "odd")
    assert (read.id, read.text, read.cwd, read.tools) == ("�", "half �", "/a�", ("�",))
    assert len(store.sessions()) == 2


@pytest.mark.parametrize(
    "line",
    [
        '{"client":"\\ud800","session":"one","id":"x"}',
        '{"client":"claude-code","session":"../../one","id":"id-1"}',
        '{"client":"claude-code","session":"one","id":"\\ud800","n":true}',
        "[]",
        "[" * 100_000,
    ],
    ids=["no client", "no session", "no UTF-8", "a list", "deep"],
)
def test_junk_among_what_was_deleted_is_passed_over(line, store, folder):
    """It is a file that people may edit."""
    store.append(CLIENT, "one", [said(1), said(2)])
    (folder / "deleted.jsonl").write_text(f"{line}\n")
    store.follow_files()
    assert store.delete(CLIENT, "one", [2]) == 1
    assert texts(store.read(CLIENT, "one")) == ["Words 1."]


@pytest.mark.parametrize("numbers", [[1], []], ids=["a message", "a session"])
def test_a_deletion_reaches_copies_that_people_laid_beside(numbers, store, folder):
    """In another year's folder, and under another name: at once, not at the next search."""
    store.append(CLIENT, "one", [said(1, "the hidden word"), said(2)])
    file_of(folder, year="2025").parent.mkdir()
    shutil.copy(file_of(folder), file_of(folder, year="2025"))
    shutil.copy(file_of(folder), file_of(folder, "copy"))
    store.follow_files()
    store.delete(CLIENT, "one", numbers)
    assert b"hidden" not in bytes_below(folder)


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_no_file_in_place_of_a_session_stops_nothing(kind, store, folder):
    """It is a session that is gone; the others are read and kept, and it is never waited for."""
    store.append(CLIENT, "one", [said(1)])
    store.append(CLIENT, "two", [said(2)])
    path = file_of(folder)
    path.rename(folder / "elsewhere")
    if kind == "link":
        path.symlink_to(folder / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert store.follow_files() == 1
    assert [x.name for x in store.sessions()] == ["two"]
    with pytest.raises((Denied, Invalid, Unavailable)) as caught:
        store.append(CLIENT, "one", [said(3)])
    assert caught.value.place == str(path)
    assert store.append(CLIENT, "two", [said(4)]) == 1


def test_where_the_list_of_what_was_deleted_is_a_link_nothing_comes_back(store, folder):
    """It is not taken for gone."""
    store.append(CLIENT, "one", [said(1), said(2)])
    store.delete(CLIENT, "one", [1])
    (folder / "deleted.jsonl").rename(folder / "elsewhere")
    (folder / "deleted.jsonl").symlink_to(folder / "elsewhere")
    with pytest.raises(Denied, match=r"deleted\.jsonl"):
        store.append(CLIENT, "one", [said(1)])
    assert texts(store.read(CLIENT, "one")) == ["Words 2."]


@pytest.mark.parametrize(
    "change",
    [
        "PRAGMA user_version = 9; DROP TABLE messages; CREATE VIEW messages AS SELECT 1",
        "DROP TABLE messages",
        "PRAGMA user_version = 0; CREATE INDEX more ON sessions (size)",
    ],
    ids=["newer", "a table is gone", "another program's"],
)
def test_a_catalog_that_is_not_ours_is_made_again(change, open_store, folder):
    """As one that is broken: what it is of does not matter, the files are the truth."""
    store = open_store()
    store.append(CLIENT, "one", [said(1)])
    store.close()
    with contextlib.closing(sqlite3.connect(folder / "catalog.db")) as conn:
        conn.executescript(change)
    again = open_store()
    assert texts(again.read(CLIENT, "one")) == ["Words 1."]
    assert again.append(CLIENT, "one", [said(1), said(2)]) == 1


def test_a_message_bears_its_date_in_words_by_its_owners_clock(store):
    """Two at night in UTC is the evening before in Los Angeles."""
    store.append(CLIENT, "one", [said(1)._replace(at="2026-03-02T02:00:00.000Z")])
    (change,) = TranscriptSource(store, ZoneInfo("America/Los_Angeles")).scan(NOTHING_KNOWN)
    assert change.doc.dated == "1 March 2026"


def test_a_scan_gives_what_is_not_known_and_nothing_between(store):
    """Two messages far apart in a session of 300, and two neighbours."""
    long = "is long enough to stand by itself, all of it"
    store.append(CLIENT, "one", [said(n, f"Message {n} {long}.") for n in range(1, 301)])
    source = TranscriptSource(store, UTC)
    stamps = {change.doc.ref: change.doc.stamp for change in source.scan(NOTHING_KNOWN)}
    assert len(stamps) == 300
    wanted = {ref_of(CLIENT, "one", number) for number in (3, 150, 299, 300)}
    known = {ref: stamp for ref, stamp in stamps.items() if ref not in wanted}
    found = [change.doc.ref for change in source.scan(Since(mark=None, stamps=lambda _: known))]
    assert set(found) == wanted
    assert len(found) == len(wanted)
