"""`commonplace backup` and `restore`: everything comes back, and nothing half."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.doors.homes import filled
from tests.doors.killing import killed_before

from commonplace.doors.cli import main

pytestmark = pytest.mark.usefixtures("no_weights")


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def ok(*words):
    ran = run(*words)
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the home that each test begins with is kept."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def written(tmp_path, kept):
    """A memory with an entry in each journal that a command writes."""
    filled(kept, tmp_path, write_all)
    return tmp_path


def write_all():
    """Write an entry into each journal that a command writes."""
    ok("log", "the first deploy")
    ok("private", "write", "Backups are copies.")
    ok("notebook", "write", "backups", "Once a week, to the other disk.")
    ok("timeline", "add", "Read about tides.")
    ok("config", "set", "timezone", "Asia/Tokyo")


def answers():
    return [json.loads(ok("list", "--json"))["items"], ok("recall", "backups")]


def move_away(world):
    shutil.move(world / "home", world / "old")
    (world / "home").mkdir()


def test_a_backup_gives_everything_back(written):
    """Lists and recall answer in a restored home as they did in the one that was backed up."""
    notebook = written / "home/.local/share/commonplace/users/me/notebook"
    (notebook / "uncommitted.md").write_text("not yet\n")
    before = answers()
    made = json.loads(ok("backup", written / "all.zip", "--json"))
    assert made["bytes"] == (written / "all.zip").stat().st_size
    move_away(written)
    restored = json.loads(ok("restore", written / "all.zip", "--json"))
    assert restored["files"] == made["files"]
    assert [*restored["places"]] == ["home", "private", "chronicle", "settings"]
    assert answers() == before
    assert (notebook / "uncommitted.md").read_text() == "not yet\n"
    assert ok("config", "show").count("Asia/Tokyo") >= 1
    git = ["git", "-C", str(notebook)]
    status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True)
    assert status.stdout == "?? uncommitted.md\n"
    assert subprocess.run([*git, "fsck", "--strict"], capture_output=True).returncode == 0
    ok("log", "after the restore")
    ok("notebook", "write", "backups", "Also after it.")


def test_a_pipe_is_no_backup_no_export_and_no_settings(tmp_path):
    """Nobody would ever write to it: no command waits."""
    pipe = tmp_path / "pipe.zip"
    os.mkfifo(pipe)
    for words in (["restore", pipe], ["import", pipe], ["import", "jrnl", pipe]):
        done = run(*words)
        assert done.exit_code == 2, words
        assert f"{pipe} is not a file" in done.stderr, words
    pipe.rename(".commonplace.toml")
    for words in (["list"], ["config", "show"]):  # a project's is as if it were not there
        assert run(*words).exit_code == 0, words


def test_a_backup_writes_over_nothing(written):
    """A file of the name stays as it is; nor does a restore touch a home that holds something."""
    (written / "all.zip").write_text("mine")
    assert run("backup", written / "all.zip").exit_code == 4
    assert (written / "all.zip").read_text() == "mine"
    ok("backup", written / "other.zip")
    ok("log", "one more")
    refused = run("restore", written / "other.zip")
    assert refused.exit_code == 4
    assert "something already" in refused.stderr
    assert "one more" in ok("list")


def test_tokens_stay_where_they_are_unless_asked_for(written):
    """Who may connect over HTTP is no part of a backup without --with-tokens."""
    ok("tokens", "create", "--user", "ana")
    home = Path(os.environ["XDG_DATA_HOME"]) / "commonplace"
    (home / "sign-ins.json").write_text('{"version":1,"records":[]}')
    ok("backup", written / "a.zip")
    ok("backup", written / "b.zip", "--with-tokens")
    kept = {"home/tokens.json", "home/sign-ins.json"}
    assert not kept & {*zipfile.ZipFile(written / "a.zip").namelist()}
    assert kept <= {*zipfile.ZipFile(written / "b.zip").namelist()}


def test_what_can_be_made_again_is_left_out(written):
    """Neither index, ledgers nor brief go along; the key of the marks of secrets does."""
    ok("recall", "tides")
    ok("brief")
    ok("log", "password=" + "hunter2hunter2")
    ok("backup", written / "a.zip")
    names = zipfile.ZipFile(written / "a.zip").namelist()
    made = {part for path in (written / "home").rglob("users/me/*/*") for part in path.parts}
    assert made >= {"index", "ledgers", "brief"}
    assert not [x for x in names if {"index", "ledgers", "brief"} & {*x.split("/")}]
    assert "home/secret-marks.key" in names


WRITER = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
n = 0
print("begun", flush=True)
while True:
    conn.execute("BEGIN IMMEDIATE")
    conn.execute("INSERT INTO counted VALUES (?, ?)", (sys.argv[2], n))
    conn.execute("INSERT INTO counted_again VALUES (?, ?)", (sys.argv[2], n))
    conn.execute("COMMIT")
    n += 1
"""


def test_a_backup_while_two_processes_write_is_of_one_moment(written):
    """The copy opens, is sound, and holds a prefix of what each process wrote, whole commits only."""
    timeline = written / "home/.local/share/commonplace/users/me/journal/journal.db"
    with sqlite3.connect(timeline) as conn:
        conn.execute("CREATE TABLE counted (who, n)")
        conn.execute("CREATE TABLE counted_again (who, n)")
    conn.close()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, timeline, who], stdout=subprocess.PIPE)
        for who in "ab"
    ]
    try:
        for each in writers:
            each.stdout.readline()
        for n in range(3):
            ok("backup", written / f"{n}.zip")
    finally:
        for each in writers:
            each.kill()
            each.wait()
            each.stdout.close()
    for n in range(3):
        with zipfile.ZipFile(written / f"{n}.zip") as archive:
            archive.extract("home/users/me/journal/journal.db", written / str(n))
        copy = sqlite3.connect(written / str(n) / "home/users/me/journal/journal.db")
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = copy.execute("SELECT who, n FROM counted ORDER BY who, n").fetchall()
        assert rows == copy.execute("SELECT * FROM counted_again ORDER BY who, n").fetchall()
        for who in "ab":
            assert [x for w, x in rows if w == who] == list(range(sum(w == who for w, _ in rows)))
        copy.close()


@pytest.mark.parametrize(
    ("act", "part"),
    [("open", "to/."), ("subprocess.Popen", "bundle"), ("os.link", "all.zip")],
    ids=["nothing is there", "half of it is there", "it has no name yet"],
)
def test_a_backup_that_is_killed_leaves_no_file_of_its_name(written, act, part):
    """Whenever it is killed; the next one removes what was left and is whole."""
    place = written / "to"
    place.mkdir()
    target = place / "all.zip"
    killed_before(act, part, "backup", target)
    assert not target.exists()
    ok("backup", target)
    assert os.listdir(place) == ["all.zip"]


@pytest.mark.parametrize(
    ("act", "part"),
    [
        pytest.param("os.mkdir", ".commonplace-stage-", id="nothing is there"),
        pytest.param("open", "journal.db", id="a database is due", marks=pytest.mark.long),
        pytest.param("subprocess.Popen", "unbundle", id="a repository is half made"),
        pytest.param("os.rename", "private-journal", id="all is made", marks=pytest.mark.long),
        pytest.param("os.link", "chronicle.db", id="one is in its place", marks=pytest.mark.long),
        pytest.param("os.link", "config.toml", id="two are in their places"),
        pytest.param("os.rename", "share/commonplace", id="all but ours are"),
        pytest.param("shutil.rmtree", ".commonplace-stage-", id="all are"),
    ],
)
def test_a_restore_that_is_killed_can_be_done_again(written, act, part):
    """What stands under a final name is whole, and the same command again ends the work."""
    before = answers()
    ok("backup", written / "all.zip")
    move_away(written)
    killed_before(act, part, "restore", written / "all.zip")
    ok("restore", written / "all.zip")
    assert answers() == before
    left = list((written / "home").rglob(".commonplace-stage-*"))
    assert left == []


def test_a_full_disk_leaves_nothing(written, monkeypatch):
    """The error says so, and neither the file nor a part of it is there."""

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    place = written / "to"
    place.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        ran = run("backup", place / "all.zip")
    assert ran.exit_code == 1
    assert "No space is left" in ran.stderr
    assert os.listdir(place) == []


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
from commonplace.doors.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("words", [["backup", "all.zip"], ["export", "all.zip"]])
def test_a_file_that_may_not_grow_as_large_leaves_nothing(written, words):
    """As on a disk that takes no larger ones: one line says so, and no part of it is there."""
    pytest.importorskip("resource")
    ok("log", "a long entry " * 3000)
    place = written / "to"
    place.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, *words], cwd=place, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert str(place / "all.zip") in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert os.listdir(place) == []


def test_a_folder_that_cannot_be_written_to_is_named(written, plain_permissions):
    """So is one that is not there."""
    (written / "to").mkdir(mode=0o500)
    with plain_permissions():
        ran = run("backup", written / "to" / "all.zip")
    assert ran.exit_code == 1
    assert f"{written / 'to'} " in ran.stderr
    ran = run("backup", written / "nowhere" / "all.zip")
    said = f"Error: There is no folder {written / 'nowhere'}. Make it first, or name another.\n"
    assert (ran.exit_code, ran.stderr) == (3, said)


def forged(good, change):
    """The same backup with its entries changed: a function of names, contents and manifest."""
    with zipfile.ZipFile(good) as archive:
        entries = [(i, archive.read(i)) for i in archive.infolist()]
    manifest = json.loads(entries.pop()[1])
    bad = good.with_name("bad.zip")
    with zipfile.ZipFile(bad, "w") as archive:
        change(entries, manifest)
        for info, content in entries:
            archive.writestr(info, content)
        archive.writestr("manifest.json", json.dumps(manifest))
    return bad


def renamed(to):
    def change(entries, manifest):
        manifest["files"][0]["name"] = to
        entries[0] = (zipfile.ZipInfo(to), entries[0][1])

    return change


def newer(_entries, manifest):
    manifest["format"] = 2


def altered(entries, _manifest):
    entries[0] = (entries[0][0], bytes(len(entries[0][1])))


def twice(_entries, manifest):
    manifest["files"].append(manifest["files"][0])


def compressed(entries, _manifest):
    entries[0][0].compress_type = zipfile.ZIP_DEFLATED


def programmed(_entries, manifest):
    manifest["repositories"][0]["config"].append(["core.fsmonitor", "touch /tmp/x"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (renamed("home/../../../evil"), "lead outside"),
        (renamed("/etc/evil"), "lead outside"),
        (renamed("home/users/me/notebook/.git/hooks/post-commit"), "lead outside"),
        (renamed("elsewhere/x"), "lead outside"),
        (newer, "format 2"),
        (altered, "damaged"),
        (twice, "twice"),
        (compressed, "compressed"),
        (programmed, "git refuses"),
    ],
)
def test_a_hostile_backup_is_refused_before_anything_is_written(written, change, says):
    """With the reason; the home stays empty."""
    ok("backup", written / "all.zip")
    bad = forged(written / "all.zip", change)
    move_away(written)
    ran = run("restore", bad)
    assert ran.exit_code == 2, ran.output
    assert says in ran.stderr
    assert not [p for p in (written / "home").rglob("*") if p.is_file()]


@pytest.mark.parametrize("part", [0, 0.5, 0.99])
def test_a_backup_that_was_cut_off_is_refused(written, part):
    """However much of it is there."""
    ok("backup", written / "all.zip")
    content = (written / "all.zip").read_bytes()
    (written / "all.zip").write_bytes(content[: int(len(content) * part)])
    move_away(written)
    ran = run("restore", written / "all.zip")
    assert ran.exit_code == 2
    assert "not a whole backup" in ran.stderr


def test_an_export_and_a_backup_are_not_taken_for_each_other(written):
    """Each refusal says what the file is, and names the command that takes it."""
    ok("backup", written / "all.zip")
    ok("export", written / "pages.zip")
    refused = run("import", written / "all.zip").stderr
    assert "This is a backup, not an export." in refused
    assert "`commonplace restore FILE`" in refused
    move_away(written)
    refused = run("restore", written / "pages.zip").stderr
    assert "This is an export, not a backup." in refused
    assert "`commonplace import FILE`" in refused


def test_status_names_the_last_backup(written):
    """By `status`, with when and where; before there is one it says nothing of it."""
    assert json.loads(ok("status", "--json"))["last_backup"] is None
    ok("backup", written / "first.zip")
    ok("backup", written / "second.zip")
    last = json.loads(ok("status", "--json"))["last_backup"]
    assert last["path"] == str(written / "second.zip")
    assert f"Backup   {last['at'][:4]}" in ok("status")


def test_forget_names_the_backups_that_are_not_reached(written):
    """One for each name, the newest first; of one that is gone it says so."""
    ref = json.loads(ok("list", "--json"))["items"][0]["ref"]
    ok("backup", written / "first.zip")
    ok("backup", written / "second.zip")
    (written / "first.zip").unlink()
    for _ in range(2):
        ok("backup", written / "third.zip")
        (written / "third.zip").unlink()
    named = json.loads(ok("forget", ref, "--dry-run", "--json"))["not_reached"]
    backups = [each for each in named if each.startswith("The backup of ")]
    others = [each for each in named if each.startswith(("Backups", "Copies"))]
    assert others == ["Copies of these, and snapshots of the file system."]
    assert [each.partition("(")[2] for each in backups] == [
        f"{written / 'third.zip'}, moved or deleted since).",
        f"{written / 'second.zip'}).",
        f"{written / 'first.zip'}, moved or deleted since).",
    ]


def test_a_broken_list_of_copies_hides_no_good_line(written):
    """A line that is none is passed over; the next copy is noted beside it."""
    ok("backup", written / "first.zip")
    kept = written / "home/.local/share/commonplace/copies.jsonl"
    kept.write_bytes(b'\xff\n{"kind": 1}\n[]\n{"at": "2026-01-01T00:00:00"}\n' + kept.read_bytes())
    ok("backup", written / "second.zip")
    assert json.loads(ok("status", "--json"))["last_backup"]["path"].endswith("second.zip")
    kept.write_bytes(b"\x00" * 100)
    assert json.loads(ok("status", "--json"))["last_backup"] is None
    ok("backup", written / "third.zip")
    assert json.loads(ok("status", "--json"))["last_backup"]["path"].endswith("third.zip")
