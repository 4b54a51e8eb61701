"""The index hears of every new, altered and lost entry, and each entry gets its `.embedding` once."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from commonplace.core.errors import Denied, Invalid
from commonplace.core.ports import KeepsVectors, Repairable
from commonplace.core.values import Doc, Drop, Put, Since
from commonplace.journals.private.embedding import parse_embedding
from commonplace.journals.private.source import sources_of

DAY = "2026-11-21"
MINILM = "minilm-l6-v2:384:mean:l2:53aa5117"


class Follower:
    """Follows one source as an index does: a mark, and the docs it was handed."""

    def __init__(self, source) -> None:
        self.source = source
        self.mark = None
        self.docs: dict[str, Doc] = {}

    def catch_up(self, *, sweep: bool = False) -> list[str]:
        """Take what changed; each put as `+ref`, each drop as `-ref`, without the source's name."""
        mark = self.source.mark()
        if mark == self.mark and not sweep:
            return []
        known = Since(mark=None if sweep else self.mark, stamps=self._stamps, now=mark)
        told = []
        for change in list(self.source.scan(known)):
            match change:
                case Put(doc):
                    self.docs[doc.ref] = doc
                    told.append("+" + doc.ref.removeprefix(f"{self.source.name}/"))
                case Drop(ref):
                    self.docs.pop(ref)
                    told.append("-" + ref.removeprefix(f"{self.source.name}/"))
        self.mark = mark
        return told

    def _stamps(self, prefix: str) -> dict[str, str]:
        return {ref: doc.stamp for ref, doc in self.docs.items() if ref.startswith(prefix)}


@pytest.fixture
def user(world):
    """A journal's user root, followed."""
    journal = world.open()
    return journal, Follower(sources_of(journal)[0])


def _age(world, *days: str) -> None:
    """Make day folders old, so that their marks hold an mtime alone."""
    for day in days:
        os.utime(world.user_root / day, ns=(1_000_000_000, 1_700_000_000_000_000_000))


def test_one_source_for_each_root(world):
    """Names are stable, the user's first; a shared folder is one source."""
    journal = world.open()
    assert [x.name for x in sources_of(journal)] == [
        "private:user",
        f"private:{journal.roots[1].scope}",
    ]
    assert len(sources_of(world.open(project=False))) == 1
    assert all(isinstance(x, KeepsVectors) for x in sources_of(journal))
    assert isinstance(journal, Repairable)


def test_a_doc_holds_what_is_searched(world, user):
    """Ref, scope, time, headings, cleaned text and a stamp; tags none, kind entry."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "F", "user_context": "U"}).refs
    assert follower.catch_up() == [f"+{DAY}/23-19-45-015000"]
    status = journal.path_of(ref).stat()
    assert follower.docs[ref] == Doc(
        ref=ref,
        journal="private",
        scope="user",
        at=world.now,
        text="F\n\nU",
        stamp=f"{status.st_size}:{status.st_mtime_ns}",
        headings=("Feelings", "User Context"),
        dated="21 November 2026",
    )


def test_a_doc_is_dated_in_the_owners_zone(world):
    """Its date in words is the owner's, and it stands alone, in no session."""
    world.put("2026-11-21/notes.md", b"---\ndate: 2026-11-21T23:30:00.000Z\n---\nx")
    journal = world.open(zone=timezone(timedelta(hours=9)))
    follower = Follower(sources_of(journal)[0])
    follower.catch_up()
    (doc,) = follower.docs.values()
    assert (doc.session, doc.dated, doc.author) == ("", "22 November 2026", "")


@pytest.mark.design("000-69")
@pytest.mark.parametrize("version", ["v1.0.0", "v2.0.1"])
def test_golden_folders_are_scanned_whole(world, golden, version):
    """Every golden entry is handed over once, the blank one with an empty text."""
    world.put_golden(version)
    journal = world.open()
    followers = [Follower(x) for x in sources_of(journal)]
    told = [x for follower in followers for x in follower.catch_up()]
    assert len(told) == len([*(golden / version).rglob("*.md")])
    assert [x for follower in followers for x in follower.catch_up(sweep=True)] == []
    assert "" in [x.text for x in followers[0].docs.values()]


def test_only_what_differs_is_handed_over(world, user):
    """New, edited and deleted entries come, newest day first; an unchanged journal says nothing."""
    journal, follower = user
    for day in range(3):
        journal.write({"feelings": f"day {day}"}, at=world.now - timedelta(days=day))
    assert follower.catch_up() == [
        "+2026-11-21/23-19-45-015000",
        "+2026-11-20/23-19-45-015001",
        "+2026-11-19/23-19-45-015002",
    ]
    assert follower.catch_up() == []
    journal.edit("private:user/2026-11-20/23-19-45-015001", "edited")
    assert follower.catch_up() == ["+2026-11-20/23-19-45-015001"]
    journal.delete("private:user/2026-11-19/23-19-45-015002")
    assert follower.catch_up() == ["-2026-11-19/23-19-45-015002"]
    journal.write({"feelings": "more"})
    assert follower.catch_up() == [f"+{DAY}/23-19-45-015003"]
    assert len(follower.docs) == 3


def test_a_mark_survives_the_process(world, user):
    """Another process's source gives the same mark over the same folders."""
    journal, follower = user
    journal.write({"feelings": "x"})
    _age(world, DAY)
    follower.catch_up()
    assert sources_of(world.open())[0].mark() == follower.mark
    assert json.loads(follower.mark) == {DAY: "1700000000000000000"}


def test_two_writes_in_one_tick_are_both_seen(world, user):
    """A folder changed after its mark was taken, within the same tick of the disk, still differs."""
    journal, follower = user
    journal.write({"feelings": "first"})
    follower.catch_up()
    tick = (world.user_root / DAY).stat().st_mtime_ns
    journal.write({"feelings": "second"})
    os.utime(world.user_root / DAY, ns=(tick, tick))
    assert len(follower.catch_up()) == 1
    assert len(follower.docs) == 2


def test_an_edit_within_one_tick_is_seen_once_the_folder_is_old(world, user):
    """It left the mark of a young folder as it was; that of an old one is another."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "first"}).refs
    follower.catch_up()
    _age(world, DAY)
    tick = (world.user_root / DAY).stat().st_mtime_ns
    follower.mark = json.dumps({DAY: f"{tick}:1"}, separators=(",", ":"))  # as when it was young
    journal.edit(ref, "second")
    os.utime(world.user_root / DAY, ns=(tick, tick))
    assert follower.catch_up() == [f"+{ref.removeprefix('private:user/')}"]


def test_a_text_altered_in_place_is_found_by_a_sweep(world, user):
    """No folder changes when an editor saves into the file; looking at every stamp finds it."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "x"}).refs
    _age(world, DAY)
    follower.catch_up()
    with open(journal.path_of(ref), "a") as file:
        file.write("more")
    assert follower.catch_up() == []
    assert follower.catch_up(sweep=True) == [f"+{DAY}/23-19-45-015000"]
    assert follower.docs[ref].text == "x\nmore"


def test_what_vanished_is_dropped(world, user):
    """A day removed by hand, then the whole root: both are dropped, with a mark and in a sweep."""
    journal, follower = user
    for day in range(3):
        journal.write({"feelings": f"day {day}"}, at=world.now - timedelta(days=day))
    follower.catch_up()
    (world.user_root / "2026-11-20").rename(world.temp / "gone")
    assert follower.catch_up() == ["-2026-11-20/23-19-45-015001"]
    (world.user_root / "2026-11-19").rename(world.temp / "gone too")
    assert follower.catch_up(sweep=True) == ["-2026-11-19/23-19-45-015002"]
    world.user_root.rename(world.temp / "root")
    assert follower.catch_up() == [f"-{DAY}/23-19-45-015000"]
    assert follower.mark == "{}"


def test_an_absent_root_has_a_mark(user):
    """Nothing there, nothing new, nothing raised."""
    _, follower = user
    assert follower.catch_up() == []
    assert follower.source.mark() == "{}"
    assert list(follower.source.wanting()) == []


def test_a_root_that_cannot_be_read_drops_nothing(world, user, plain_permissions):
    """While it is closed to us it says so and its entries stay; once it opens, they are compared."""
    journal, follower = user
    journal.write({"feelings": "x"})
    follower.catch_up()
    world.user_root.chmod(0)
    with plain_permissions(), pytest.raises(Denied, match=r"\.private-journal is refused"):
        follower.catch_up()
    world.user_root.chmod(0o700)
    assert follower.catch_up() == []
    assert len(follower.docs) == 1
    (world.user_root / DAY).chmod(0)
    with plain_permissions():
        assert follower.catch_up(sweep=True) == []


def test_a_root_that_is_a_file_is_named(world, user):
    """A file where the folder should be: nothing is dropped, and the next scan says it again."""
    _, follower = user
    world.user_root.write_text("in the way")
    for _ in range(2):
        with pytest.raises(Invalid, match=r"\.private-journal"):
            follower.catch_up()


@pytest.mark.design("000-66")
def test_a_broken_file_is_skipped_and_logged_once(world, user, caplog, plain_permissions):
    """The others are filed; the log has one line for the path, and no text."""
    journal, follower = user
    journal.write({"feelings": "fine"})
    world.put(f"{DAY}/bad.md", b"secret").chmod(0)
    (world.user_root / DAY / "folder.md").mkdir()
    with plain_permissions(), caplog.at_level(logging.WARNING):
        for _ in range(2):
            follower.catch_up(sweep=True)
    assert list(follower.docs) == [f"private:user/{DAY}/23-19-45-015000"]
    assert sorted(x.message.partition("'")[2].rpartition("/")[2][:4] for x in caplog.records) == [
        "bad.",
        "fold",
    ]
    assert "secret" not in caplog.text


def test_leftovers_go_with_the_next_scan(world, user):
    """A temp of a killed write is no entry and is removed."""
    _, follower = user
    temp = world.put(f"{DAY}/.00000000-0123456789abcdef.tmp", b"half")
    os.utime(temp, (0, 0))
    assert follower.catch_up() == []
    assert os.listdir(world.user_root / DAY) == []


def _vector() -> np.ndarray:
    vector = np.linspace(-1, 1, 384, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


@pytest.mark.design("000-12", "000-29")
def test_a_vector_is_kept_beside_its_entry(world, user):
    """The reference's five keys, its text of the entry, and the very float32 values."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "F\n\n\n\nmore"}).refs
    assert list(follower.source.wanting()) == [(ref, "F\n\nmore")]
    vector = _vector()
    follower.source.keep(ref, vector, MINILM)
    content = journal.path_of(ref).with_suffix(".embedding").read_bytes()
    assert list(json.loads(content)) == ["embedding", "text", "sections", "timestamp", "path"]
    found, _ = parse_embedding(content)
    assert found is not None
    assert np.array_equal(np.array(found.vector, np.float32), vector)
    assert (found.text, found.sections) == ("F\n\nmore", ("Feelings",))
    assert (found.timestamp, found.path) == (1795303185015, str(journal.path_of(ref)))
    assert journal.path_of(ref).with_suffix(".embedding").stat().st_mode & 0o777 == 0o600
    assert list(follower.source.wanting()) == []
    assert journal.problems() == []
    assert follower.catch_up() == [f"+{DAY}/23-19-45-015000"]


def test_a_vector_that_is_there_stays(world, user):
    """Whoever was first keeps the place, even with garbage."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "F"}).refs
    world.put(f"{DAY}/23-19-45-015000.embedding", b"theirs")
    assert list(follower.source.wanting([ref])) == []
    follower.source.keep(ref, _vector(), MINILM)
    assert journal.path_of(ref).with_suffix(".embedding").read_bytes() == b"theirs"


@pytest.mark.parametrize(
    ("vector", "identity"),
    [
        (_vector(), "e5-small-v2:384:mean:l2:00000000"),
        (_vector()[:383], MINILM),
        (_vector() * np.float32("nan"), MINILM),
    ],
)
def test_a_vector_the_format_is_not_made_for_is_not_kept(world, user, vector, identity):
    """Another encoder's, another length's, or one that is no vector."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "F"}).refs
    follower.source.keep(ref, vector, identity)
    assert len(world.files()) == 1


@pytest.mark.design("000-34")
def test_blank_entries_want_no_vector(world, user):
    """A file with frontmatter alone has no text to encode."""
    _, follower = user
    world.put_golden("v2.0.1")
    assert [ref for ref, _ in follower.source.wanting()] == []
    assert list(follower.source.wanting([f"private:user/{DAY}/23-19-45-141138"])) == []


def test_a_day_that_wants_no_vector_is_not_listed_again_until_a_name_comes_or_goes(world, user):
    """An `.embedding` that vanishes with the folder's old time is missed until that is another."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "F"}).refs
    folder = journal.path_of(ref).parent
    follower.source.keep(ref, _vector(), MINILM)
    assert list(follower.source.wanting()) == []
    journal.path_of(ref).with_suffix(".embedding").unlink()  # the folder is young
    assert [each for each, _ in follower.source.wanting()] == [ref]
    follower.source.keep(ref, _vector(), MINILM)
    os.utime(folder, ns=(1, 1))
    assert list(follower.source.wanting()) == []
    journal.path_of(ref).with_suffix(".embedding").unlink()
    os.utime(folder, ns=(1, 1))
    assert list(follower.source.wanting()) == []
    os.utime(folder, ns=(2, 2))
    assert [each for each, _ in follower.source.wanting()] == [ref]


def test_the_newest_entries_get_their_vectors_first(world, user):
    """Days are gone through backwards; refs that are not there, or not ours, are passed over."""
    journal, follower = user
    refs = [
        journal.write({"feelings": "x"}, at=world.now - timedelta(days=day)).refs[0]
        for day in range(3)
    ]
    assert [ref for ref, _ in follower.source.wanting()] == refs
    asked = [refs[1], "private:user/2020-01-01/none", "private:project@00000000/x", "chronicle:1"]
    assert [ref for ref, _ in follower.source.wanting(asked)] == [refs[1]]


def test_a_text_edited_while_it_was_encoded_gets_no_old_vector(world, user):
    """The vector of what was handed over is not kept beside what stands there now."""
    journal, follower = user
    (ref,) = journal.write({"feelings": "old"}).refs
    (_,) = follower.source.wanting()
    journal.edit(ref, "something new")
    follower.source.keep(ref, _vector(), MINILM)
    assert len(world.files()) == 1
    assert list(follower.source.wanting()) == [(ref, "something new")]


@pytest.mark.parametrize("mark", [None, "{}"])
@pytest.mark.parametrize("day_is_there", [True, False])
def test_an_entry_filed_in_the_middle_of_a_scan_is_not_dropped(world, mark, day_is_there):
    """Another process writes and files one after we began, in a new day or in one that was there."""
    journal, other = world.open(), world.open()
    if day_is_there:
        journal.write({"feelings": "first"})
    filed = {}

    def stamps(prefix):
        if not filed:
            ref = other.write({"feelings": "new"}).refs[0]
            filed[ref] = journal.read_entry(ref).stamp
        return {ref: stamp for ref, stamp in filed.items() if ref.startswith(prefix)}

    source = sources_of(journal)[0]
    changes = source.scan(Since(mark=mark, stamps=stamps, now=source.mark()))
    assert not [change for change in changes if isinstance(change, Drop)]


def test_a_day_that_came_back_after_the_mark_was_taken_is_not_dropped(world, user):
    """Another process writes into it and files that before the scan of that mark begins."""
    journal, follower = user
    ref = journal.write({"feelings": "first"}).refs[0]
    follower.catch_up()
    (folder,) = (each for each in world.user_root.iterdir() if each.is_dir())
    away = world.user_root / "away"
    folder.rename(away)
    now = follower.source.mark()
    away.rename(folder)
    known = Since(mark=follower.mark, stamps=follower._stamps, now=now)
    assert not [x for x in follower.source.scan(known) if isinstance(x, Drop)]
    assert ref in follower.docs


def test_a_read_only_folder_keeps_no_vectors_and_no_one_minds(
    world, user, caplog, plain_permissions
):
    """Nothing is raised; one line is logged."""
    journal, follower = user
    refs = [journal.write({"feelings": x}).refs[0] for x in "ab"]
    (world.user_root / DAY).chmod(0o500)
    with plain_permissions(), caplog.at_level(logging.WARNING):
        for ref in refs:
            follower.source.keep(ref, _vector(), MINILM)
    (world.user_root / DAY).chmod(0o700)
    assert len(world.files()) == 2
    assert len(caplog.records) == 1


def test_marking_ten_years_costs_milliseconds(world, user):
    """A mark opens no entry: its folders may even be closed to us."""
    journal, follower = user
    start = datetime(2016, 1, 1, tzinfo=UTC)
    for day in range(50):
        journal.write({"feelings": "x"}, at=start + timedelta(days=day))
        _age(world, (start + timedelta(days=day)).date().isoformat())
    mark = json.loads(follower.source.mark())
    assert len(mark) == 50
    assert set(mark.values()) == {"1700000000000000000"}


def test_a_mark_told_by_the_system_misses_nothing(world, user):
    """Once nothing had to be looked at, an entry and a removal by others are seen at once."""
    journal, follower = user
    journal.write({"feelings": "first"})
    _age(world, DAY)
    follower.catch_up()
    for _ in range(3):  # the third is answered without looking
        assert follower.catch_up() == []
    name = next((world.user_root / DAY).glob("*.md")).name
    (world.user_root / DAY / "23-59-59-000001.md").write_text("## Feelings\n\nsecond\n")
    assert follower.catch_up() == [f"+{DAY}/23-59-59-000001"]
    (world.user_root / DAY / name).unlink()
    _age(world, DAY)
    assert follower.catch_up() == [f"-{DAY}/{name.removesuffix('.md')}"]


@pytest.mark.design("000-67")
@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", b'{"embedding": [1', b'{"embedding": [], "text": ""}', b"\x00" * 10_000],
    ids=["empty", "garbage", "torn", "no numbers", "zeros"],
)
def test_a_corrupt_embedding_is_made_again_by_who_looks_for_bare_entries(world, content, caplog):
    """It is removed and logged once, its entry wants a vector again, and a whole one stays."""
    journal = world.open()
    refs = [journal.write({"feelings": text}).refs[0] for text in ("torn", "whole")]
    source = sources_of(journal)[0]
    vector = np.full(384, 0.05, dtype=np.float32)
    for ref, _ in list(source.wanting()):
        source.keep(ref, vector, MINILM)
    beside = journal.path_of(refs[0]).with_suffix(".embedding")
    whole = journal.path_of(refs[1]).with_suffix(".embedding").read_bytes()
    beside.write_bytes(content)
    later = sources_of(world.open())[0]
    with caplog.at_level(logging.WARNING):
        assert [ref for ref, _ in later.wanting()] == [refs[0]]
    assert [str(beside) in record.getMessage() for record in caplog.records] == [True]
    later.keep(refs[0], vector, MINILM)
    assert parse_embedding(beside.read_bytes())[1] == ""
    assert list(later.wanting()) == []
    assert journal.path_of(refs[1]).with_suffix(".embedding").read_bytes() == whole
