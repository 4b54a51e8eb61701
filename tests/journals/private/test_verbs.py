"""Thoughts are written, read, listed, altered and deleted, beside the tool whose format it is."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.cases import cases

from commonplace.core.errors import Conflict, Denied, Invalid, NotFound
from commonplace.core.values import Interval
from commonplace.journals.private.keys import EntryKeys
from commonplace.journals.private.source import other_sources_of

DAY = "2026-11-21"


def _mode(path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.design("000-02", "000-03", "000-37")
def test_each_thought_goes_where_it_belongs(world):
    """Project notes to the project, all else to the user, in two files of one time, user first."""
    journal = world.open()
    written = journal.write(
        {"project_notes": "P", "technical_insights": "T", "user_context": "U", "feelings": " \n"}
    )
    scope = journal.roots[1].scope
    assert written.refs == (
        f"private:user/{DAY}/23-19-45-015000",
        f"private:{scope}/{DAY}/23-19-45-015001",
    )
    assert not written.repeated
    assert world.files() == [
        f"home/.private-journal/{DAY}/23-19-45-015000.md",
        f"project/.private-journal/{DAY}/23-19-45-015001.md",
    ]
    user, project = (journal.read_entry(x) for x in written.refs)
    assert user.raw == (
        '---\ntitle: "11:19:45 PM - November 21, 2026"\ndate: 2026-11-21T23:19:45.015Z\n'
        "timestamp: 1795303185015\n---\n\n## User Context\n\nU\n\n## Technical Insights\n\nT\n"
    )
    assert (user.kind, user.headings) == ("user", ("User Context", "Technical Insights"))
    assert (project.kind, project.headings, project.text) == ("project", ("Project Notes",), "P")
    assert user.at == project.at == written.at == world.now


@pytest.mark.parametrize(
    "content",
    [
        b"---\ntimestamp: 1795303185015\n---\n\nold\n",
        b"---\r\ntitle: old\r\n---\r\n\r\nold\r\n",
        b"\xef\xbb\xbf---\ntitle: old\n---\nold",
        b"\xef\xbb\xbfold",
        b"---\ntitle: old\n---",
        b"---\na rule, and no key\n---\nold",
        b"---\ntitle: it never ends",
        b"",
        b"old \xff\xfe\x80 Latin \xe9",
    ],
)
def test_what_held_before_a_deleted_successor_is_the_same_file_again(world, content):
    """Byte for byte, whoever wrote it; while it is replaced a single key stands in it besides."""
    journal = world.open()
    path = world.user_root / DAY / "10-00-00-000000.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    _, written = journal.supersede(str(path), "new")
    marked = path.read_bytes()
    assert f"superseded_by: {written.refs[0]}\n".encode() in marked
    assert marked != content
    journal.delete(written.refs[0])
    assert path.read_bytes() == content


def test_new_files_are_the_owner_s_alone(world):
    """Folders 0700, files 0600; the project's new folder is ignored by git, the user's is not."""
    journal = world.open()
    written = journal.write({"project_notes": "P", "feelings": "F"})
    for ref in written.refs:
        path = journal.path_of(ref)
        assert (_mode(path), _mode(path.parent), _mode(path.parent.parent)) == (0o600, 0o700, 0o700)
    assert (world.project_root / ".gitignore").read_bytes() == b"*\n"
    assert not (world.user_root / ".gitignore").exists()


def test_a_project_s_folder_that_is_there_is_left_as_it_is(world):
    """Mode and missing .gitignore stay in a folder somebody else made and uses."""
    world.put("2026-11-20/x.md", b"x", root=world.project_root)
    world.project_root.chmod(0o755)
    world.open().write({"project_notes": "P"})
    assert _mode(world.project_root) == 0o755
    assert not (world.project_root / ".gitignore").exists()


@pytest.mark.design("000-41")
@cases("thoughts", [{}, {"feelings": ""}, {"feelings": " \n\t", "project_notes": ""}])
def test_nothing_to_say_is_refused(world, thoughts):
    """Blank thoughts write nothing."""
    with pytest.raises(Invalid, match="At least one thought category must be provided"):
        world.open().write(thoughts)
    assert world.files() == []


def test_wrong_thoughts_are_refused(world):
    """An unknown category is told with the nearest one, a number with its field, 10 MB with its size."""
    journal = world.open()
    with pytest.raises(Invalid, match="'feeling' is not") as caught:
        journal.write({"feeling": "x"})
    assert caught.value.hint == "Use feelings."
    with pytest.raises(Invalid, match="feelings must be a text"):
        journal.write({"feelings": 42})
    with pytest.raises(Invalid, match=r"10\.0 MB; 10 MB"):
        journal.write({"feelings": "é" * (5 << 20), "observations": "x"})
    assert world.files() == []


def test_ten_megabytes_are_written_and_read(world):
    """The largest entry comes back whole."""
    text = "é" * (5 << 20)
    journal = world.open()
    (ref,) = journal.write({"feelings": text}).refs
    assert journal.read_entry(ref).text == text


@pytest.mark.parametrize(
    "text",
    [
        "line\r\nline\r\n",
        "---\nrule\n---\n",
        "## Inner\n\ntext",
        "```\n## code\n```",
        "👩‍👩‍👧‍👦 🎉 日本語 עִבְרִית العربية \u202ertl\u202c \u200bzero",
        "nul \0 bell \x07",
        "cafe\u0301 café",
        "\ufeffmark",
        "  indented, and trailing blanks  \n\n\n",
    ],
)
def test_texts_are_kept_as_they_are(world, text):
    """Not a byte of a thought is altered on its way to the disk and back."""
    journal = world.open()
    (ref,) = journal.write({"feelings": text}).refs
    assert journal.path_of(ref).read_bytes().endswith(f"\n\n## Feelings\n\n{text}\n".encode())
    assert journal.read_entry(ref).raw.endswith(f"\n\n## Feelings\n\n{text}\n")


@pytest.mark.design("000-22")
def test_two_entries_never_share_a_name(world):
    """The same microsecond twice gives the next name; an `.embedding` left alone holds its name too."""
    journal = world.open(micros=lambda: 999)
    world.put(f"{DAY}/23-19-45-016000.embedding", b"{}")
    refs = [journal.write({"feelings": str(n)}).refs[0] for n in range(3)]
    assert [x[-6:] for x in refs] == ["015999", "016001", "016002"]
    assert [journal.read_entry(x).text for x in refs] == ["0", "1", "2"]


def test_the_last_name_of_a_second_is_followed_by_the_first(world):
    """Digits run on within their second and never into seven."""
    world.now = world.now.replace(microsecond=999_000)
    journal = world.open(micros=lambda: 999)
    refs = [journal.write({"feelings": str(n)}).refs[0] for n in range(2)]
    assert [x[-15:] for x in refs] == ["23-19-45-999999", "23-19-45-000000"]


def test_at_back_dates(world):
    """A given time names file and folder in the owner's zone; a bare or absurd one is refused."""
    journal = world.open(zone=ZoneInfo("America/Los_Angeles"))
    written = journal.write({"feelings": "x"}, at=datetime(2026, 1, 5, 3, 0, 0, 5_999, tzinfo=UTC))
    assert written.refs == ("private:user/2026-01-04/19-00-00-005000",)
    assert written.at == datetime(2026, 1, 5, 3, 0, 0, 5_000, tzinfo=UTC)
    with pytest.raises(Invalid, match="no zone"):
        journal.write({"feelings": "x"}, at=datetime(2026, 1, 5))  # noqa: DTZ001  the point of it
    with pytest.raises(Invalid, match="out of range"):
        journal.write({"feelings": "x"}, at=datetime(1, 1, 1, tzinfo=UTC))


def test_a_failing_second_file_tells_the_first(world, plain_permissions):
    """With the project's folder closed the error names the ref that is already written."""
    journal = world.open()
    world.project.chmod(0o500)
    with plain_permissions(), pytest.raises(Denied) as caught:
        journal.write({"feelings": "F", "project_notes": "P"})
    ref = f"private:user/{DAY}/23-19-45-015000"
    assert caught.value.message.endswith(f"Already written: {ref}.")
    assert str(world.project) in caught.value.located
    assert journal.read_entry(ref).text == "F"


@pytest.mark.design("000-64")
def test_a_read_only_journal_is_read_and_not_written(world, plain_permissions):
    """Reading and listing work; writing, editing and deleting are refused with the path."""
    world.put(f"{DAY}/a.md", b"text")
    world.user_root.chmod(0o500)
    (world.user_root / DAY).chmod(0o500)
    journal = world.open()
    ref = f"private:user/{DAY}/a"
    with plain_permissions():
        assert journal.read_entry(ref).text == "text"
        assert len(journal.list_entries(limit=5)) == 1
        for act in (
            lambda: journal.write({"feelings": "x"}),
            lambda: journal.edit(ref, "x"),
            lambda: journal.delete(ref),
        ):
            with pytest.raises(Denied, match=str(world.user_root)):
                act()
        assert journal.read_entry(ref).text == "text"


def test_entries_are_not_written_through_a_linked_day(world, tmp_path):
    """A day folder that is a link, dangling or not, is named and left alone."""
    (tmp_path / "out").mkdir()
    world.user_root.mkdir()
    journal = world.open()
    for target in (tmp_path / "out", tmp_path / "nowhere"):
        (world.user_root / DAY).symlink_to(target)
        with pytest.raises(Denied, match="symbolic link"):
            journal.write({"feelings": "x"})
        (world.user_root / DAY).unlink()
    assert os.listdir(tmp_path / "out") == []


def test_a_key_twice_is_one_entry(world):
    """The second call returns the first one's refs and time, and writes nothing."""
    thoughts = {"feelings": "F", "project_notes": "P"}
    first = world.open().write(thoughts, idempotency_key="k")
    world.now += timedelta(hours=1)
    again = world.open().write(thoughts, idempotency_key="k")
    assert (again.refs, again.at, first.repeated, again.repeated) == (
        first.refs,
        first.at,
        False,
        True,
    )
    assert len(world.files()) == 2
    assert world.open().write({"feelings": "F"}, idempotency_key="other").refs != first.refs[:1]
    assert [_mode(x) for x in world.keys.iterdir()] == [0o600, 0o600]
    assert all("F" not in x.read_text() for x in world.keys.iterdir())


def test_a_blank_key_is_none(world):
    """Two calls with an empty key are two entries."""
    journal = world.open()
    refs = {journal.write({"feelings": "x"}, idempotency_key=" ").refs for _ in range(2)}
    assert len(refs) == 2


def test_a_key_finishes_what_was_cut_short(world):
    """Of two planned files one is missing, as after a crash: it is written at its planned name."""
    thoughts = {"feelings": "F", "project_notes": "P"}
    journal = world.open()
    first = journal.write(thoughts, idempotency_key="k")
    key = EntryKeys(world.keys).path_of("k")
    key.write_text(key.read_text().replace('"done": true', '"done": false'))
    kept = journal.path_of(first.refs[1]).read_bytes()
    journal.path_of(first.refs[1]).unlink()
    world.now += timedelta(hours=1)
    again = world.open(micros=lambda: 500).write(thoughts, idempotency_key="k")
    assert (again.refs, again.at, again.repeated) == (first.refs, first.at, False)
    assert journal.path_of(first.refs[1]).read_bytes() == kept
    assert len(world.files()) == 2


def test_a_key_whose_entry_was_deleted_brings_nothing_back(world):
    """What was written once and deleted since stays deleted."""
    journal = world.open()
    first = journal.write({"feelings": "F"}, idempotency_key="k")
    journal.delete(first.refs[0])
    assert journal.write({"feelings": "F"}, idempotency_key="k").repeated
    assert world.files() == []


def test_a_key_of_other_thoughts_is_told(world):
    """A plan cut short for the user's folder alone does not stand for project notes."""
    journal = world.open()
    journal.write({"feelings": "F"}, idempotency_key="k")
    key = EntryKeys(world.keys).path_of("k")
    key.write_text(key.read_text().replace('"done": true', '"done": false'))
    with pytest.raises(Conflict, match="idempotency key"):
        journal.write({"project_notes": "P"}, idempotency_key="k")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"refs": []}', '{"refs": [1], "millis": 2}'])
def test_a_broken_key_file_is_no_key(world, content):
    """Garbage in a key file is replaced by a plan."""
    world.keys.mkdir()
    EntryKeys(world.keys).path_of("k").write_text(content)
    journal = world.open()
    written = journal.write({"feelings": "F"}, idempotency_key="k")
    assert journal.write({"feelings": "F"}, idempotency_key="k").refs == written.refs
    assert len(world.files()) == 1


@pytest.mark.design("000-09", "000-27")
@pytest.mark.parametrize("version", ["v1.0.0", "v2.0.1"])
def test_the_reference_s_folders_are_listed_and_read(world, golden, version):
    """Every golden entry is listed newest first, by its own time, and read to the byte."""
    world.put_golden(version)
    journal = world.open(zone=ZoneInfo("Asia/Kathmandu"))
    entries = journal.list_entries(limit=100)
    assert len(entries) == len([*(golden / version).rglob("*.md")])
    assert [x.at for x in entries] == sorted((x.at for x in entries), reverse=True)
    for entry in entries:
        assert journal.read_entry(entry.ref) == entry
        assert entry.raw.encode() == entry.path.read_bytes()
        assert f"timestamp: {int(entry.at.timestamp() * 1000)}\n" in entry.raw
    kinds = [len(journal.list_entries(limit=100, kind=x)) for x in ("user", "project")]
    assert sum(kinds) == len(entries)
    assert all(kinds)


def test_a_moved_folder_keeps_its_entries(world, tmp_path):
    """Refs hold when the home moves; the absolute paths stored in `.embedding` mean nothing."""
    world.put_golden("v2.0.1")
    refs = [x.ref for x in world.open().list_entries(limit=100, kind="user")]
    moved = tmp_path / "moved"
    world.user_root.rename(moved)
    journal = world.open(private_user=str(moved))
    assert [journal.read_entry(x).ref for x in refs] == refs


def test_a_shared_root_lists_each_entry_once(world, tmp_path):
    """With one folder for both, every entry appears once and answers to both kinds."""
    journal = world.open(private_journal_path=str(tmp_path / "both"))
    written = journal.write({"feelings": "F", "project_notes": "P"})
    assert len(written.refs) == 1
    for kind in ("user", "project", "both"):
        assert [x.ref for x in journal.list_entries(limit=5, kind=kind)] == list(written.refs)
        assert journal.scopes(kind) == ("user",)


@pytest.mark.design("000-60")
def test_lists_go_by_the_entry_s_time(world):
    """Newest first over both roots, whatever zone named the folder, bounded by limit and interval."""
    journal = world.open()
    for hours in range(0, 120, 5):
        field = "feelings" if hours % 2 else "project_notes"
        world.open(zone=ZoneInfo("Pacific/Kiritimati" if hours % 3 else "Pacific/Pago_Pago")).write(
            {field: str(hours)}, at=world.now - timedelta(hours=hours)
        )
    assert [x.text for x in journal.list_entries(limit=6)] == ["0", "5", "10", "15", "20", "25"]
    within = Interval(start=world.now - timedelta(hours=50), end=world.now - timedelta(hours=30))
    listed = journal.list_entries(limit=100, within=within)
    assert [x.text for x in listed] == ["35", "40", "45", "50"]
    assert [x.text for x in journal.list_entries(limit=2, within=within)] == ["35", "40"]
    assert [x.text for x in journal.list_entries(limit=3, kind="user")] == ["5", "15", "25"]
    assert journal.list_entries(limit=0) == []
    assert len(journal.list_entries(limit=100)) == 24


@pytest.mark.design("000-65")
def test_an_absent_journal_is_empty(world):
    """No folder, no entries, no folder made by looking."""
    assert world.open().list_entries(limit=5) == []
    assert world.open().problems() == []
    assert not world.user_root.exists()


def test_a_list_stops_early(world, caplog):
    """A list of the newest opens nothing of a day far behind: a broken file there goes unnoticed."""
    journal = world.open()
    journal.write({"feelings": "new"})
    (world.user_root / "2020-01-01").mkdir()
    os.mkfifo(world.user_root / "2020-01-01" / "pipe.md")
    assert [x.text for x in journal.list_entries(limit=1)] == ["new"]
    assert caplog.records == []


@pytest.mark.design("000-66")
def test_a_broken_file_is_passed_over_and_logged_once(world, caplog, plain_permissions):
    """The others are listed; the log names the path once, and holds no text."""
    world.put(f"{DAY}/good.md", b"good")
    world.put(f"{DAY}/bad.md", b"secret words").chmod(0)
    journal = world.open()
    with plain_permissions(), caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert [x.text for x in journal.list_entries(limit=5)] == ["good"]
    assert len(caplog.records) == 1
    assert "bad.md" in caplog.text
    assert "secret" not in caplog.text


def test_editing_replaces_the_text_and_keeps_the_head(world):
    """New text without frontmatter goes under the old; mode stays; `.embedding` goes."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "old"}).refs
    path = journal.path_of(ref)
    path.chmod(0o640)
    path.with_suffix(".embedding").write_bytes(b"{}")
    before = journal.read_entry(ref)
    edited = journal.edit(ref, "## Reflections\n\nnew\n", expected=before.version)
    assert edited.raw == before.raw.replace("## Feelings\n\nold\n", "## Reflections\n\nnew\n")
    assert (edited.at, edited.headings, edited.text) == (before.at, ("Reflections",), "new")
    assert edited.version != before.version
    assert _mode(path) == 0o640
    assert os.listdir(path.parent) == [path.name]


def test_editing_with_a_head_of_its_own_replaces_all(world):
    """Text that brings frontmatter is the whole file."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "old"}).refs
    text = "---\ntimestamp: 1736942267000\n---\n\nnew"
    assert journal.edit(ref, text).raw == text
    assert journal.read_entry(ref).at == datetime(2025, 1, 15, 11, 57, 47, tzinfo=UTC)


def test_a_stale_edit_or_deletion_is_refused(world):
    """Who read an older version is told; the file stays as the other left it."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "old"}).refs
    version = journal.read_entry(ref).version
    journal.edit(ref, "somebody else's")
    for act in (
        lambda: journal.edit(ref, "mine", expected=version),
        lambda: journal.delete(ref, expected=version),
    ):
        with pytest.raises(Conflict, match="changed since"):
            act()
    assert journal.read_entry(ref).text == "somebody else's"


def test_an_empty_or_huge_edit_is_refused(world):
    """Neither nothing nor over 10 MB becomes an entry's text."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "old"}).refs
    with pytest.raises(Invalid, match="empty"):
        journal.edit(ref, " \n")
    with pytest.raises(Invalid, match="MB"):
        journal.edit(ref, "é" * ((5 << 20) + 1))
    assert journal.read_entry(ref).text == "old"


def test_deleting_leaves_nothing_behind(world):
    """Entry, `.embedding` and the emptied day folder go; a day with others in it stays."""
    journal = world.open()
    refs = [journal.write({"feelings": x}).refs[0] for x in "ab"]
    for ref in refs:
        journal.path_of(ref).with_suffix(".embedding").write_bytes(b"{}")
    journal.delete(refs[0])
    assert len(world.files()) == 2
    journal.delete(refs[1], expected=journal.read_entry(refs[1]).version)
    assert os.listdir(world.user_root) == []
    with pytest.raises(NotFound):
        journal.delete(refs[1])


def test_no_home_is_said(world):
    """A journal in the temp folder carries its note, and works."""
    world.home = None
    journal = world.open(project=False)
    assert "COMMONPLACE_PRIVATE_USER" in journal.note
    (ref,) = journal.write({"project_notes": "P"}).refs
    assert str(world.temp) in str(journal.read_entry(ref).path)


def test_doctor_s_view(world):
    """Broken files, corrupt and orphaned `.embedding` files, linked days and open folders are named."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "fine"}).refs
    assert journal.problems() == []
    path = journal.path_of(ref)
    path.with_suffix(".embedding").write_bytes(b'{"embedding": [1')
    world.put(f"{DAY}/orphan.embedding", b"{}")
    world.put(f"{DAY}/torn.md", b"---\ntitle: x\n\ntext")
    world.put(f"{DAY}/empty.md", b"")
    (world.user_root / DAY / "folder.md").mkdir()
    (world.user_root / "2026-11-20").symlink_to(world.temp / "nowhere")
    world.put(f"{DAY}/.1-00000000-0123456789abcdef.tmp", b"half")
    world.user_root.chmod(0o755)
    found = {x.what.rpartition("/")[2]: x.repairable for x in journal.problems()}
    assert found == {
        ".private-journal can be entered by other users of this machine.": True,
        "2026-11-20 is a symbolic link named like a day; it is not followed.": False,
        "folder.md' is not read: it is not a plain file with a plain name.": False,
        "empty.md is empty.": False,
        "torn.md has frontmatter that never ends.": False,
        "orphan.embedding holds the text of an entry that is gone.": False,
        "23-19-45-015000.embedding is not JSON.": True,
    }
    assert all(x.hint[0].isupper() for x in journal.problems())


def test_repair_mends_what_is_not_an_entry(world):
    """Corrupt `.embedding` files go and the root is closed; no entry is touched; then all is well."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "fine"}).refs
    journal.path_of(ref).with_suffix(".embedding").write_bytes(b"garbage")
    world.user_root.chmod(0o755)
    before = journal.path_of(ref).read_bytes()
    assert len(journal.repair()) == 2
    assert journal.problems() == []
    assert journal.repair() == []
    assert journal.path_of(ref).read_bytes() == before
    assert _mode(world.user_root) == 0o700


def test_nothing_is_written_or_read_through_a_link_of_the_project(world, tmp_path):
    """The link is named; the user's own thoughts are written and read as ever."""
    foreign = tmp_path / "diary"
    day = foreign / "2026-11-20"
    day.mkdir(parents=True)
    (day / "10-00-00-000000.md").write_text("## Feelings\n\nsomebody's diary\n")
    world.project_root.symlink_to(foreign)
    journal = world.open()
    before = sorted(foreign.rglob("*"))
    for thoughts in ({"project_notes": "a"}, {"feelings": "b", "project_notes": "a"}):
        with pytest.raises(Denied, match=str(world.project_root)):
            journal.write(thoughts)
    journal.write({"feelings": "mine"})
    assert [entry.text for entry in journal.list_entries(limit=9)] == ["mine"]
    assert str(world.project_root) in journal.note
    for asked in (
        str(day / "10-00-00-000000.md"),
        str(world.project_root / "2026-11-20" / "10-00-00-000000.md"),
        f"private:{journal.roots[1].scope}/2026-11-20/10-00-00-000000",
    ):
        with pytest.raises(Denied):
            journal.read_entry(asked)
    assert any(str(world.project_root) in problem.what for problem in journal.problems())
    assert journal.repair() == []
    journal.record_project_root()
    assert other_sources_of(world.open(project=False)) == []
    assert sorted(foreign.rglob("*")) == before
    world.project_root.unlink()
    assert journal.write({"project_notes": "a"}).refs
