"""What a killed export, backup, download, restore, import or editor leaves is found, and cleared."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import zipfile
from pathlib import Path

import pytest
from tests.doors.killing import killed_before
from tests.doors.terminal import facts, on_terminal, opened_app, run

pytestmark = [
    pytest.mark.usefixtures("no_weights"),
    pytest.mark.skipif(os.name == "nt", reason="nothing tells there who is alive"),
]

TEXT = "ochre zebrafinch counts eleven velvet umbrellas"


@pytest.fixture(autouse=True)
def _each_is_counted(counted):
    counted("a backup, export, download, import or draft that was killed, found and cleared", 1)


def ok(*words):
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def outside(tmp_path):
    """A folder of the user's; something is written in the journals."""
    folder = tmp_path / "outside"
    folder.mkdir()
    ok("log", TEXT)
    ok("private", "write", TEXT)
    return folder


def kill_export(outside):
    killed_before("os.rename", outside / "out", "export", outside / "out")


def kill_zip(outside):
    killed_before("os.link", "made.zip", "export", outside / "out.zip")


def kill_backup(outside):
    killed_before("os.link", "made.zip", "backup", outside / "all.zip")


def kill_download(outside):
    home = opened_home()
    killed_before("os.link", "made.zip", "export", home / "users" / "me" / "out.zip")


def kill_import(outside):
    """Of a program's database that is in use: it is copied first."""
    path = outside / "claude-mem.db"
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE observations (id INTEGER PRIMARY KEY, text TEXT)")
        made.execute("INSERT INTO observations (text) VALUES (?)", (TEXT,))
        made.commit()
        killed_before("sqlite3.connect", "commonplace-stage", "import", "claude-mem", path)
    made.close()


def kill_editor(outside):
    """Of a user whose home takes no draft: the text is among temporary files."""
    script = outside / "editor"
    script.write_text(f'#!/bin/sh\nprintf "{TEXT}" > "$1"\nkill -9 $PPID\n')
    script.chmod(0o755)
    closed = opened_home() / "drafts"
    closed.touch()
    code, _, _ = on_terminal("private", "write", env={"EDITOR": str(script), "VISUAL": ""})
    assert code == -signal.SIGKILL
    closed.unlink()


KILLS = [kill_export, kill_zip, kill_backup, kill_download, kill_import, kill_editor]


def opened_home():
    app = opened_app()
    app.close()
    return app.settings.home


def left():
    """The files with the text that lie in a stage."""
    tops = [Path.home().parent, Path(os.environ["TMPDIR"])]
    files = [x for top in tops for x in top.rglob("*") if x.is_file() and "stage-" in str(x)]
    return [x for x in files if TEXT.encode() in x.read_bytes()]


@pytest.mark.parametrize("kill", KILLS)
def test_doctor_finds_it_and_its_repair_removes_it(outside, kill):
    """Wherever it lies; a row of the table of places holds it meanwhile."""
    kill(outside)
    assert left() != []
    app = opened_app()
    places = [path for path, _ in app.text_places().each()]
    app.close()
    assert [x for x in left() if not any(map(x.is_relative_to, places))] == []
    found = [x["what"] for x in facts("doctor", code=1)["problems"] if x["where"] == "leftovers"]
    assert len(found) == 1
    assert "is a copy that a killed process was making" in found[0]
    run("doctor", "--repair")
    assert left() == []


@pytest.mark.parametrize("kill", KILLS)
def test_the_next_backup_removes_it_and_holds_none(outside, kill):
    """Of any folder: not in the backup, and not on the disk."""
    kill(outside)
    ok("backup", outside / "next.zip")
    with zipfile.ZipFile(outside / "next.zip") as held:
        assert [name for name in held.namelist() if "stag" in name] == []
    assert left() == []


@pytest.mark.parametrize("kill", KILLS)
def test_a_server_that_starts_removes_it(outside, kill):
    """Once it has answered, beside what it loads."""
    kill(outside)
    app = opened_app()
    app.warm_up()
    app.close()
    assert left() == []


def test_forget_finds_it(outside):
    """It is no backup that the user has: the proof names it, until it is cleared."""
    kill_export(outside)
    found = facts("forget", "--query", "zebrafinch", "--yes", code=1)["found"]
    assert [each["place"] for each in found if "commonplace-stage" in each["place"]] != []


@pytest.mark.parametrize("name", ["staging/.commonplace-stage-0123456789abcdef"])
def test_no_restore_brings_it_back(outside, name):
    """Of a backup that an earlier version made of it."""
    home = opened_home()
    (home / name).mkdir(parents=True)
    (home / name / "entries.jsonl").write_text(TEXT)
    ok("backup", outside / "all.zip")
    with zipfile.ZipFile(outside / "all.zip") as held:
        assert not any(Path(name).name in each for each in held.namelist())
    _add(outside / "all.zip", f"home/{name}/entries.jsonl", TEXT.encode())
    shutil.rmtree(Path.home() / ".local")
    shutil.rmtree(Path.home() / ".private-journal")
    ok("restore", outside / "all.zip")
    assert not (home / name / "entries.jsonl").exists()
    assert ok("list").stdout.count("zebrafinch") == 2


def _add(path, name, content):
    """Put a file into a backup, as it would have been backed up."""
    import hashlib
    import json

    with zipfile.ZipFile(path) as held:
        entries = {each: held.read(each) for each in held.namelist()}
    (manifest,) = (each for each in entries if each.endswith("manifest.json"))
    said = json.loads(entries.pop(manifest))
    digest = hashlib.sha256(content).hexdigest()
    fields = {"name": name, "size": len(content), "sha256": digest, "mode": 0o600, "mtime_ns": 0}
    said["files"].append({**said["files"][0], **fields, "kind": "file"})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as made:
        for each, data in {**entries, name: content, manifest: json.dumps(said).encode()}.items():
            made.writestr(each, data)
