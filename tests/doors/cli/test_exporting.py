"""`commonplace export` and the import of what it made: everything comes back, and nothing half."""

from __future__ import annotations

import copy
import errno
import hashlib
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import validate
from tests.doors.homes import filled
from tests.doors.killing import killed_before
from tests.journals.transcripts.originals import claude_line, write_lines

from commonplace.doors.cli import main

ROOT = Path(__file__).parents[3]

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
    """A memory with something in each journal that is exported."""
    filled(kept, tmp_path, lambda: write_all(tmp_path))
    return tmp_path


def write_all(world):
    """Write something into each journal that is exported."""
    ok("log", "the first deploy", "-t", "ops")
    ok("private", "write", "Exports are copies.\n\n## A heading\n\nüñí 🌊")
    ok("timeline", "add", "Read about tides.", "--metadata", '{"mood": "calm", "n": 1e3}')
    ok("memory", "save", "todo", "Call the bank")
    ok("memory", "save", "message", "I live in Graz.")
    ok("memory", "save", "preference", "--language", "de", "--flags", '{"tone": "dry"}')
    ok("notebook", "write", "api/errors", "They come in twos.", "--overview", "# Errors\n\nTwo. ü")
    ok("notebook", "write", "api/errors", "They come in threes.")
    session = world / "home" / ".claude" / "projects" / "-p" / "s1.jsonl"
    answer = claude_line("The harbour is quiet.", role="assistant", second=2)
    write_lines(session, claude_line("How is the harbour?", second=1), answer)
    ok("import", "claude-code")
    ref = json.loads(ok("list", "--json", "-j", "chronicle"))["items"][0]["ref"]
    ok("edit", ref, "the first deploy, at last")


def empty_home(world):
    """The home is another one from here on, with nothing in it."""
    name = f"old {len(list(world.glob('old*')))}"
    shutil.move(world / "home", world / name)
    (world / "home").mkdir()


def content_of(folder):
    """Each file of a folder by its name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def entries_of(folder, journal):
    lines = (folder / journal / "entries.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_an_export_comes_back_and_is_the_same_again(written):
    """Imported into an empty home and exported again, it is the same bytes."""
    ok("export", written / "first")
    empty_home(written)
    ok("import", written / "first")
    ok("export", written / "again")
    assert content_of(written / "first") == content_of(written / "again")
    assert "the first deploy, at last" in ok("recall", "deploy")
    assert "Two. ü" in ok("notebook", "read", "api/errors")
    assert "The harbour is quiet." in ok("recall", "harbour")


def test_the_same_journals_are_the_same_zip(written):
    """Two exports of one state differ in no byte, and a zip is imported as a folder is."""
    ok("export", written / "a.zip")
    ok("export", written / "b.zip")
    assert (written / "a.zip").read_bytes() == (written / "b.zip").read_bytes()
    empty_home(written)
    done = json.loads(ok("import", written / "a.zip", "--json"))
    assert done["new"] == {
        "private": 1,
        "chronicle": 1,
        "notebook": 2,
        "timeline": 1,
        "memory": 3,
        "transcripts": 2,
    }


def test_an_export_says_what_it_holds(written):
    """The manifest counts each journal's entries, and has the hash of every file."""
    ok("export", written / "out")
    manifest = json.loads((written / "out/manifest.json").read_bytes())
    assert manifest["format"] == "commonplace-export"
    assert manifest["version"] == 3
    assert manifest["owner"] == "me"
    assert manifest["journals"]["memory"] == 3
    for each in manifest["files"]:
        content = (written / "out" / each["name"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == each["sha256"]
        assert len(content) == each["size"]


def test_every_line_is_as_the_schema_says(written):
    """The manifest and each journal's lines have the form that docs/export.schema.json describes."""
    schema = json.loads((ROOT / "docs" / "export.schema.json").read_bytes())
    ok("export", written / "out")
    manifest = json.loads((written / "out/manifest.json").read_bytes())
    validate(manifest, {**schema["manifest"], "$defs": schema["$defs"]})
    for journal in manifest["journals"]:
        for entry in entries_of(written / "out", journal):
            validate(entry, {**schema["lines"][journal], "$defs": schema["$defs"]})


def test_a_page_quotes_what_it_shows(written):
    """A heading in an entry stays the entry's: on the page it is quoted."""
    ok("export", written / "out")
    page = next((written / "out/private").glob("*.md")).read_text("utf-8")
    assert "\n> ## A heading\n" in page
    assert "\n## A heading" not in page


def test_links_go_both_ways(written):
    """An entry names the one whose place it took, and that one names it."""
    ref = json.loads(ok("list", "--json", "-j", "timeline"))["items"][0]["ref"]
    ok("timeline", "add", "Read about tides and moons.", "--supersedes", ref)
    ok("export", written / "out")
    former, latter = entries_of(written / "out", "timeline")
    assert latter["supersedes"] == former["ref"]
    assert former["superseded_by"] == latter["ref"]


def test_an_entry_that_is_gone_took_no_place(written):
    """A private entry's file may name one that a hand removed: the export does not."""
    ref = json.loads(ok("list", "--json", "-j", "private"))["items"][0]["ref"]
    written_now = json.loads(ok("private", "write", "Calm.", "--supersedes", ref, "--json"))
    (new,) = written_now["refs"]
    ok("export", written / "one")
    by_ref = {x["ref"]: x for x in entries_of(written / "one", "private")}
    assert by_ref[ref]["superseded_by"] == new
    (file,) = Path.home().glob(f".private-journal/{new.partition('/')[2]}.md")
    file.unlink()
    ok("export", written / "two")
    by_ref = {x["ref"]: x for x in entries_of(written / "two", "private")}
    assert "superseded_by" not in by_ref[ref]


def test_only_what_is_asked_for_is_exported(written):
    """--journals takes some journals; --when leaves out what is older."""
    ok("log", "long ago", "--at", "2001-02-03")
    ok("export", written / "one", "--journals", "chronicle")
    assert {path.name for path in (written / "one").iterdir()} == {"chronicle", "manifest.json"}
    assert len(entries_of(written / "one", "chronicle")) == 2
    ok("export", written / "late", "--journals", "chronicle", "--since", "2010-01-01")
    assert [x["message"] for x in entries_of(written / "late", "chronicle")] == [
        "the first deploy, at last"
    ]
    ok("export", written / "same", "--journals", "chronicle", "--when", "since 2010")
    assert entries_of(written / "same", "chronicle") == entries_of(written / "late", "chronicle")
    refused = run("export", written / "none", "--journals", "chronicles")
    assert refused.exit_code == 2
    assert "chronicles" in refused.stderr


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("2010", "--when 'since 2010-01-01'"),
        ("before 2010", "has no beginning"),
        ("nowish", "unknown time phrase"),
    ],
)
def test_a_time_that_has_ended_exports_nothing(written, when, said):
    """What is newer would come along: the error says how to ask for that."""
    refused = run("export", written / "none", "--when", when)
    assert refused.exit_code == 2
    assert said in " ".join(refused.stderr.split())
    assert not (written / "none").exists()


def test_an_export_writes_over_nothing(written):
    """A folder or file of that name stays as it is, and an import touches no journal with entries."""
    (written / "there").mkdir()
    assert run("export", written / "there").exit_code == 4
    ok("export", written / "out")
    ok("log", "one more")
    refused = run("import", written / "out")
    assert refused.exit_code == 4
    assert "private, chronicle, notebook, timeline, memory, transcripts" in refused.stderr
    assert "one more" in ok("list")


def test_secrets_do_not_leave(written, monkeypatch):
    """What a journal still holds of a secret is replaced in the lines and on the pages."""
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    token = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    ok("log", f"the token is {token}")
    ok("export", written / "out")
    everything = b"".join(content_of(written / "out").values())
    assert token.encode() not in everything
    assert everything.count(b"[secret: ") == 2


def test_what_an_edit_replaced_does_not_leave(written):
    """Neither with an export nor with a backup, though it is kept here, to be taken back."""
    ref = json.loads(ok("private", "write", "The zebrafinch sings.", "--json"))["refs"][0]
    ok("edit", ref, "## Reflections\n\nIt is silent.")
    assert [x for x in written.rglob("*") if x.is_file() and b"zebrafinch" in x.read_bytes()]
    ok("export", written / "out")
    ok("backup", written / "all.zip")
    held = zipfile.ZipFile(written / "all.zip")
    everything = [*content_of(written / "out").values(), *map(held.read, held.namelist())]
    assert [x for x in everything if b"zebrafinch" in x] == []
    assert "The zebrafinch sings." in ok("undo", ref, "--yes")


def test_a_secret_that_its_name_gives_away_does_not_leave(written, monkeypatch):
    """A value of metadata without a known shape is replaced where its name says what it is."""
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    ok("timeline", "add", "Moved in.", "--metadata", '{"password": "kestrel-mossy-anvil-42"}')
    ok("export", written / "out")
    assert b"kestrel-mossy" not in b"".join(content_of(written / "out").values())


def test_what_expires_still_expires(written):
    """When an entry is to be forgotten goes along."""
    ok("log", "only for now", "--expires", "in 3 days")
    ok("export", written / "out")
    before = ok("expire")
    empty_home(written)
    ok("import", written / "out")
    assert ok("expire") == before
    assert "only for now" in ok("list")


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_what_another_program_had_is_not_imported_twice(tmp_path, into):
    """Nor after an export: what changed in the diary is updated, what was deleted stays away."""
    diary = tmp_path / "journal.txt"
    titles = ("Walked  to the harbour", '"Bread"', "Swam")
    lines = [
        f"[2024-05-0{day} 09:30] {title}\nIt was fine.\n" for day, title in enumerate(titles, 1)
    ]
    diary.write_text("\n".join(lines))
    again = ("import", "jrnl", diary, "--into", into, "--json")
    ok(*again)
    ok("export", tmp_path / "out")
    empty_home(tmp_path)
    ok("import", tmp_path / "out")
    dry = json.loads(ok(*again, "--dry-run"))
    assert (dry["new"], dry["there"]) == (0, len(titles))
    diary.write_text("\n".join([*lines[:2], lines[2].replace("fine", "cold")]))
    done = json.loads(ok(*again))
    assert (done["new"], done["there"], done["updated"]) == (0, 2, 1)
    items = json.loads(ok("list", "--json"))["items"]
    assert len(items) == len(titles)
    for item in items:
        ok("delete", item["ref"], "--yes")
    assert json.loads(ok(*again))["new"] == 0


def test_an_import_that_is_killed_before_a_key_is_noted_notes_it_later(tmp_path):
    """Its export is imported again, and then the entry is known by its key."""
    diary = tmp_path / "journal.txt"
    diary.write_text("[2024-05-01 09:30] Swam\nIt was fine.\n")
    ok("import", "jrnl", diary)
    ok("export", tmp_path / "out")
    empty_home(tmp_path)
    killed_before("os.mkdir", "keys/private", "import", tmp_path / "out")
    ok("import", tmp_path / "out")
    assert json.loads(ok("import", "jrnl", diary, "--json"))["there"] == 1


def test_an_export_is_named_by_forget(written):
    """No command reaches into an export, so forgetting names it."""
    ok("export", written / "out")
    ref = json.loads(ok("list", "--json", "-j", "chronicle"))["items"][0]["ref"]
    assert str(written / "out") in ok("forget", ref, "--yes")


def test_another_owner_is_exported_alone(written):
    """--owner exports what is in that owner's folder, and nothing of another one's."""
    (written / "ana").mkdir()
    assert run("export", written / "x", "--owner", "ana").exit_code == 3
    ok("memory", "save", "todo", "Water the fern", "--user", "ana")
    ok("export", written / "out", "--owner", "ana")
    assert json.loads((written / "out/manifest.json").read_bytes())["journals"] == {
        "private": 0,
        "chronicle": 0,
        "notebook": 0,
        "timeline": 0,
        "memory": 1,
        "transcripts": 0,
    }
    assert b"Graz" not in b"".join(content_of(written / "out").values())
    assert "The journals of ana: export them with --owner." in ok("export", written / "mine")
    empty_home(written)
    ok("import", written / "out", "--owner", "ana")
    assert "Water the fern" in ok("memory", "list", "todo", "--user", "ana")
    ok("log", "what is one's own, and older than the import of the next line")
    ok("import", written / "out", "--owner", "bob")
    assert "Delete 1 entry in memory of 'bob' that were imported" in run("undo").stderr
    assert "removed 1 entry in memory" in ok("undo", "--yes")
    assert "Water the fern" not in ok("memory", "list", "todo", "--user", "bob")
    assert "one's own" in ok("undo", "--yes")


def test_a_mistyped_owner_is_refused_and_leaves_nothing(written):
    """Whatever is asked of a name of which nothing is kept; a refused import leaves nothing."""
    ok("memory", "save", "todo", "Water the fern", "--user", "ana")
    users = next((written / "home").rglob("users"))
    before = sorted(os.listdir(users))
    for words in (
        ["export", written / "x"],
        ["forget", "--query", "fern", "--yes"],
        ["memory", "list"],
        ["memory", "list", "todo"],
        ["memory", "stats"],
        ["memory", "search", "fern"],
        ["memory", "delete", "todo", "memory:todo/1", "--yes"],
        ["memory", "save", "todo", "--ref", "memory:todo/1", "--done"],
        ["todo"],
    ):
        refused = run(*map(str, words), "--owner", "anna")
        assert refused.exit_code == 3, words
        assert "Nothing is kept of the owner 'anna'." in refused.stderr
        assert "Name an owner who has a folder here: ana, me." in refused.stderr
    assert run("import", str(written / "nothing.zip"), "--owner", "anna").exit_code == 3
    ok("export", written / "out", "--owner", "ana")
    said = ok("import", written / "out", "--owner", "anna", "--dry-run")
    assert "Of 'anna' nothing was kept until now." in said
    assert sorted(os.listdir(users)) == before


@pytest.mark.parametrize("words", [["memory", "list"], ["todo"], ["memory", "search", "fern"]])
def test_the_name_of_another_owner_is_read_alike_by_every_command(written, words):
    """However its accents are written; what is the name of nobody is said to be that."""
    ok("memory", "save", "todo", "Water the fern", "--owner", "Jos\u00e9")
    assert "Water the fern" in ok(*words, "--owner", "Jose\u0301")
    for name, why in (("a\tb", "holds a control character"), ("x" * 200, "An owner of 200")):
        refused = run(*words, "--owner", name)
        assert (refused.exit_code, why in refused.stderr) == (2, True), refused.stderr


def test_an_import_brings_a_space_no_journal_of_one_persons(written):
    """Nothing of such an export is written; without those journals it is imported."""
    ok("export", written / "out")
    ok("export", written / "shared", *(f"-j{x}" for x in ("chronicle", "notebook", "timeline")))
    empty_home(written)
    for more in ([], ["--dry-run"]):
        refused = run("import", written / "out", "--owner", "space:team", *more)
        assert refused.exit_code == 2
        assert "'team' is a space, and has no private journal" in refused.stderr
    assert run("export", written / "none", "--owner", "space:team").exit_code == 3
    ok("import", written / "shared", "--owner", "space:team")


def rewritten(folder, name, content):
    """The manifest fits a file that was changed."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for each in manifest["files"]:
        if each["name"] == name:
            each |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def change_manifest(folder, change):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def newer(folder):
    change_manifest(folder, lambda found: found.update(version=99))


def unknown_journal(folder):
    change_manifest(folder, lambda found: found["journals"].update(diary=1))


def leads_outside(folder):
    change_manifest(folder, lambda found: found["files"][0].update(name="chronicle/../../x"))


def wrong_hash(folder):
    (folder / "chronicle/entries.jsonl").write_bytes(
        (folder / "chronicle/entries.jsonl").read_bytes().replace(b"first", b"worst")
    )


def cut_off(folder):
    rewritten(
        folder, "chronicle/entries.jsonl", (folder / "chronicle/entries.jsonl").read_bytes()[:-20]
    )


def twice(folder):
    content = (folder / "memory/entries.jsonl").read_bytes().splitlines(keepends=True)
    rewritten(folder, "memory/entries.jsonl", b"".join([content[0], content[0], content[2]]))


def too_few(folder):
    content = (folder / "memory/entries.jsonl").read_bytes().splitlines(keepends=True)
    rewritten(folder, "memory/entries.jsonl", content[0])


def of_another(folder):
    content = (folder / "chronicle/entries.jsonl").read_bytes()
    rewritten(folder, "chronicle/entries.jsonl", content.replace(b'"chronicle:', b'"private:'))


def strange_field(folder):
    content = (folder / "chronicle/entries.jsonl").read_bytes()
    rewritten(folder, "chronicle/entries.jsonl", content.replace(b'"message"', b'"massage"'))


def no_zone(folder):
    content = (folder / "timeline/entries.jsonl").read_bytes()
    rewritten(folder, "timeline/entries.jsonl", content.replace(b'Z","', b'","'))


def a_link(folder):
    path = folder / "chronicle/entries.jsonl"
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")


def climbs(folder):
    content = (folder / "private/entries.jsonl").read_bytes()
    ref = json.loads(content)["ref"].encode()
    rewritten(folder, "private/entries.jsonl", content.replace(ref, b"private:user/../../../pwned"))


HOSTILE = [
    (newer, "Update Commonplace"),
    (unknown_journal, "'diary'"),
    (leads_outside, "outside"),
    (wrong_hash, "damaged"),
    (cut_off, "Line 1 of chronicle/entries.jsonl"),
    (twice, "Line 2 of memory/entries.jsonl"),
    (too_few, "should have 3"),
    (of_another, "another journal"),
    (strange_field, "massage"),
    (no_zone, "Line 1 of timeline/entries.jsonl"),
    (a_link, "is a link"),
    (climbs, "climbs"),
]


@pytest.mark.parametrize(("harm", "says"), HOSTILE, ids=[each.__name__ for each, _ in HOSTILE])
def test_what_is_harmful_is_refused(written, harm, says):
    """It is said what is wrong, and nothing at all is written."""
    ok("export", written / "out")
    harm(written / "out")
    empty_home(written)
    refused = run("import", written / "out")
    assert refused.exit_code != 0
    assert says in refused.stderr
    assert "There are no entries yet" in ok("list")
    assert not (written / "pwned.md").exists()


def test_a_zip_that_swells_is_refused(written):
    """Nothing that is compressed is unpacked."""
    with zipfile.ZipFile(written / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("manifest.json", b'{"format": "commonplace-export"}' + b" " * 10_000_000)
    refused = run("import", written / "bomb.zip")
    assert refused.exit_code == 2
    assert "compressed" in refused.stderr


def climbs_out(archive, _members):
    archive.writestr("../pwned.md", b"x")


def is_absolute(archive, _members):
    archive.writestr("/tmp/pwned.md", b"x")


def links_out(archive, _members):
    link = zipfile.ZipInfo("private/link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(link, b"/etc/passwd")


def holds_a_name_twice(archive, members):
    with warnings.catch_warnings(action="ignore"):
        archive.writestr(*members[-1])


def lies_over_itself(archive, _members):
    """Many names for the bytes of one: they unpack into more than there is."""
    first = archive.infolist()[0]
    for number in range(2000):
        again = copy.copy(first)
        again.filename = again.orig_filename = f"private/{number}.md"
        archive.filelist.append(again)
        archive.NameToInfo[again.filename] = again


HOSTILE_ZIPS = [
    (climbs_out, "does not fit"),
    (is_absolute, "does not fit"),
    (links_out, "does not fit"),
    (holds_a_name_twice, "a name twice"),
    (lies_over_itself, "larger than itself"),
]


@pytest.mark.parametrize(("harm", "says"), HOSTILE_ZIPS, ids=[x.__name__ for x, _ in HOSTILE_ZIPS])
def test_a_harmful_zip_is_refused(written, harm, says):
    """Nothing of it is unpacked, and nothing at all is written."""
    ok("export", written / "out.zip")
    with zipfile.ZipFile(written / "out.zip") as sound:
        members = [(name, sound.read(name)) for name in sound.namelist()]
    with zipfile.ZipFile(written / "hostile.zip", "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
        harm(archive, members)
    empty_home(written)
    before = sorted(written.iterdir())
    refused = run("import", written / "hostile.zip")
    assert refused.exit_code == 2
    assert says in refused.stderr
    assert "There are no entries yet" in ok("list")
    assert sorted(written.iterdir()) == before


MEASURED = """
import sys
from pathlib import Path
from commonplace.doors.cli import main
try:
    main(sys.argv[1:])
finally:
    status = Path("/proc/self/status").read_text().split()
    print(status[status.index("VmHWM:") + 1])
"""
"""Prints the most memory that a command held, in KiB; `ru_maxrss` counts what its parent held, too."""


@pytest.mark.parametrize("command", ["import", "restore"])
def test_a_zip_of_too_many_files_is_refused(written, command):
    """Before each takes its room in memory: three million, in 160 MB of a file, take less than 300."""
    count = 3_000_000
    member = struct.pack("<4s6H3L5H2L", b"PK\1\2", *[0] * 9, 7, *[0] * 6) + b"a/00000"
    with open(written / "bomb.zip", "wb") as bomb:
        bomb.writelines(member * 1000 for _ in range(count // 1000))
        size = bomb.tell()
        bomb.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, size, 0, 0))
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, command, written / "bomb.zip"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2
    assert "too many files" in ran.stderr
    assert int(ran.stdout) < 300_000


def test_what_is_no_export_is_told_apart(written):
    """A backup, a folder without a manifest and a missing file each say the next step."""
    ok("backup", written / "all.zip")
    assert "commonplace restore" in run("import", written / "all.zip").stderr
    assert "no manifest" in run("import", written / "project").stderr
    assert "does not exist" in run("import", written / "nowhere.zip").stderr
    assert run("import", "no-such-program").exit_code == 2


def test_a_dry_run_writes_nothing(written):
    """--dry-run counts what an export holds, and refuses what an import would."""
    ok("export", written / "out")
    assert run("import", written / "out", "--dry-run").exit_code == 4
    empty_home(written)
    assert "1 in chronicle" in ok("import", written / "out", "--dry-run")
    assert "There are no entries yet" in ok("list")


def test_a_full_disk_leaves_nothing(written, monkeypatch):
    """Where the disk is full, that is said, and no file is left behind."""

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = sorted(written.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        refused = run("export", written / "out")
    assert refused.exit_code == 1
    assert "space" in refused.stderr
    assert sorted(written.iterdir()) == before


@pytest.mark.parametrize(
    ("act", "part"),
    [("open", "private/entries.jsonl"), ("os.rename", ".commonplace-stage-")],
    ids=["nothing is written", "all is, without its name"],
)
def test_a_killed_export_leaves_nothing(written, act, part):
    """Nothing is under the name, and the next export removes what was left beside it."""
    killed_before(act, part, "export", written / "out")
    assert not (written / "out").exists()
    assert list(written.glob(".commonplace-stage-*"))
    ok("export", written / "out")
    assert not list(written.glob(".commonplace-stage-*"))


@pytest.mark.parametrize(
    ("act", "part"),
    [
        pytest.param("sqlite3.connect", "chronicle.db", id="one is in", marks=pytest.mark.long),
        pytest.param("os.rename", "notebook.importing", id="the notebook has no name yet"),
        pytest.param("sqlite3.connect", "memory.db", id="memory is due"),
        pytest.param("sqlite3.connect", "index.db", id="all is in"),
    ],
)
def test_a_killed_import_goes_on(written, act, part):
    """Asked again with the same export, it ends whole; another export is refused until then."""
    ok("export", written / "out")
    ok("log", "another one")
    ok("export", written / "other")
    empty_home(written)
    killed_before(act, part, "import", written / "out")
    assert run("import", written / "other").exit_code == 4
    ok("import", written / "out")
    ok("export", written / "again")
    assert content_of(written / "out") == content_of(written / "again")
    # By its ref: commits have whole seconds, so the newest entry may be one, which none deletes.
    ok("delete", json.loads(ok("list", "--json", "-j", "private"))["items"][0]["ref"], "--yes")
    ok("export", written / "less")
    said = run("import", written / "out")
    assert (said.exit_code, said.stdout) == (0, "All of this export was imported before.\n")
    ok("export", written / "still less")
    assert content_of(written / "less") == content_of(written / "still less")
