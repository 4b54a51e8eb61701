"""A snapshot serves the start it was made for and no other: whatever changes, the SDK answers."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.doors.raw_server import RawServer, prime_for
from tests.doors.stdio.test_front import REFUSED, has_sdk
from tests.patience import PATIENCE_S, until

import commonplace
from commonplace.app import App
from commonplace.config.settings import read_settings, user_file
from commonplace.config.table import SETTINGS
from commonplace.doors.cli import main
from commonplace.doors.stdio.snapshot import (
    ENV_NAMES,
    ENV_PREFIXES,
    read_snapshot,
    snapshot_folder,
    snapshot_path,
    start_key,
    user_files,
)
from commonplace.doors.stdio.snapshot_recorder import keep_snapshot, write_snapshot

pytestmark = pytest.mark.usefixtures("words_only")

OLD = 1_000_000_000


def settle(path, text):
    """A file of settings written long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (OLD, OLD))


@pytest.fixture
def key():
    """The key of a start whose snapshot is there."""
    assert keep_snapshot([], flags={}, user_home=Path.home())
    found = start_key([])
    assert read_snapshot(found)
    return found


def test_every_variable_that_can_set_something_has_its_say():
    """Each setting's variable, and those that say where files of settings lie, are in the key."""
    for setting in SETTINGS:
        assert setting.env in ENV_NAMES or setting.env.startswith(ENV_PREFIXES), setting.env
    assert {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TZ"} <= ENV_NAMES


def test_the_places_are_those_of_the_settings(monkeypatch):
    """The front looks where `config` looks, with the usual variables and without them."""
    for _ in range(2):
        assert str(user_file()) in user_files()
        home = read_settings(cwd=Path.cwd(), home=Path.home()).home
        assert snapshot_folder() == str(home / "snapshots")
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("COMMONPLACE_HOME", str(Path.home() / "elsewhere"))
    home = read_settings(cwd=Path.cwd(), home=Path.home()).home
    assert snapshot_folder() == str(home / "snapshots")


def test_another_variable_is_another_start(key, monkeypatch):
    """What an environment sets is never answered from a snapshot of another environment."""
    names = [setting.env for setting in SETTINGS]
    for name in (*names, "TZ", "PYTHONOPTIMIZE", "WB_EMBED_MODEL"):
        with monkeypatch.context() as here:
            here.setenv(name, "x")
            assert start_key([]) != key, name


def test_other_flags_are_another_start(key):
    """The words after `mcp` are part of the key as they are."""
    for words in (["--read-only"], ["--toolsets", "private"], ["--project", "/"]):
        assert start_key(words) not in {key, None}, words


def test_files_of_settings_count_and_so_does_their_absence(key, tmp_path):
    """A file that appears, changes or goes, of the user or of a project above, is another start."""
    keys = [key]
    file = user_file()
    inner = tmp_path / "project" / "a" / "b"
    inner.mkdir(parents=True)
    settle(file, "read_only = true\n")
    keys.append(start_key([]))
    settle(file, "read_only = false\n")
    keys.append(start_key([]))
    settle(tmp_path / "project" / ".commonplace.toml", 'toolsets = ["private"]\n')
    keys.append(start_key([]))
    os.chdir(inner)
    keys.append(start_key([]))
    assert len({*keys}) == 5
    assert None not in keys
    (tmp_path / "project" / ".commonplace.toml").unlink()
    file.unlink()
    assert start_key([]) == key


def test_projects_without_files_share_a_snapshot(key, tmp_path):
    """Where nothing is set, the working folder does not matter."""
    (tmp_path / "other").mkdir()
    os.chdir(tmp_path / "other")
    assert start_key([]) == key


def test_what_only_the_settings_can_read_has_no_key():
    """A project that is not written in full is left to the SDK's way."""
    for words in (["--project", "relative"], ["--project=~/x"], ["--plain"], ["--project"]):
        assert start_key(words) is None, words


def test_settings_of_files_are_answered(tmp_path, monkeypatch):
    """A user's file and a project's file: the snapshot is made from them, and served again."""
    project = tmp_path / "home" / "work"
    project.mkdir()
    settle(user_file(), "preload = false\n")
    settle(project / ".commonplace.toml", 'toolsets = ["private"]\n')
    monkeypatch.setattr("commonplace.doors.stdio.snapshot_recorder.SETTLED_S", -60)
    with RawServer(cwd=project, way="front") as server:
        server.handshake()
        first = server.ask("tools/list")["result"]["tools"]
        assert not has_sdk(server)
        assert {x["name"] for x in first} >= {"process_thoughts"}
        assert "recall" not in {x["name"] for x in first}
    settle(project / ".commonplace.toml", 'toolsets = ["recall"]\n')
    with RawServer(cwd=project) as server:
        server.handshake()
        tools = server.ask("tools/list")["result"]["tools"]
        assert {x["name"] for x in tools} == {"recall", "list_by_time", "open_ref", "amend"}


def test_a_file_written_just_now_is_not_trusted_yet(tmp_path):
    """It could change again within one tick of its disk's clock: the next session keeps one."""
    user_file().parent.mkdir(parents=True)
    user_file().write_text("read_only = true\n")
    just_now = time.time() + PATIENCE_S  # however long the first snapshot of a process takes
    os.utime(user_file(), (just_now, just_now))
    assert not keep_snapshot([], flags={}, user_home=Path.home())
    assert read_snapshot(start_key([])) is None


class ChangedMeanwhile(list):
    """Toolsets during whose reading a file of settings changes."""

    def __iter__(self):
        settle(user_file(), "read_only = true\n")
        return super().__iter__()


def test_a_change_while_the_snapshot_is_made_is_seen():
    """Settings that change after they were read leave no snapshot under the old key."""
    settings = read_settings(cwd=Path.cwd(), home=Path.home())
    app = App(settings, user_home=Path.home())
    toolsets = ChangedMeanwhile(app.toolsets())
    key = start_key([])
    assert not user_file().exists()
    assert not write_snapshot(key, toolsets, settings, {})
    assert user_file().exists()
    assert not os.path.exists(snapshot_folder()) or os.listdir(snapshot_folder()) == []
    user_file().unlink()
    assert write_snapshot(key, app.toolsets(), settings, {})
    app.close()


def test_another_code_or_another_sdk_is_another_start(tmp_path, monkeypatch):
    """Any file of the package that changed, and any other distribution, changes the key."""
    copy = tmp_path / "copy"
    package = Path(commonplace.__file__).parent
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    spec = spec_from_file_location("copied", copy / "doors" / "stdio" / "snapshot.py")
    copied = module_from_spec(spec)
    spec.loader.exec_module(copied)  # which counts the files of the package that it lies in
    keys = [copied.start_key([])]
    assert keys[0] == start_key([])
    os.utime(copy / "tools" / "toolset.py", (OLD, OLD))
    keys.append(copied.start_key([]))
    (copy / "tools" / "new.py").write_text("")
    keys.append(copied.start_key([]))
    site = tmp_path / "site"
    (site / "pydantic-9.9.9.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    keys.append(copied.start_key([]))
    assert None not in keys
    assert len({*keys}) == 4


def test_an_untested_sdk_is_not_fronted(tmp_path, monkeypatch):
    """An SDK of another minor version answers for itself, and no snapshot is kept."""
    for version in ("2.4.0", "3.0.0", "2.30.0", "2"):
        installed = tmp_path / version
        (installed / f"mcp-{version}.dist-info").mkdir(parents=True)
        with monkeypatch.context() as here:
            here.setattr(sys, "path", [str(installed), *sys.path])
            assert start_key([]) is None, version
            assert not keep_snapshot([], flags={}, user_home=Path.home()), version


def broken(path, kind):
    text = path.read_text()
    if kind == "torn":
        path.write_text(text[: len(text) // 2])
    elif kind == "readable by others":
        path.chmod(0o644)
    elif kind == "a link":
        path.rename(path.with_suffix(".real"))
        path.symlink_to(path.with_suffix(".real"))
    elif kind == "of another key":
        path.write_text(json.dumps({**json.loads(text), "key": "other"}))
    elif kind == "no texts":
        path.write_text(json.dumps({**json.loads(text), "texts": []}))
    elif kind == "not ours":
        path.write_text("[]")
    else:
        path.unlink()


KINDS = ["torn", "readable by others", "a link", "of another key", "not ours", "gone"]


def test_a_snapshot_that_cannot_be_trusted_is_not_read(key):
    """What another user, another start or half a write could have left counts as none."""
    path = Path(snapshot_path(key))
    good = path.read_bytes()
    for kind in KINDS:
        broken(path, kind)
        assert read_snapshot(key) is None, kind
        path.unlink(missing_ok=True)
        path.write_bytes(good)
        path.chmod(0o600)
        assert read_snapshot(key), kind


def test_a_snapshot_that_cannot_be_trusted_is_not_served(key, tmp_path):
    """The SDK answers, and leaves a good one behind."""
    path = Path(snapshot_path(key))
    good = json.loads(path.read_text())
    broken(path, "no texts")
    with RawServer(cwd=tmp_path) as server:
        answer = server.handshake()
        assert answer["result"]["serverInfo"]["name"] == "commonplace"
        assert has_sdk(server)
        server.ask("tools/list")
        until(lambda: read_snapshot(key) == good, "a good snapshot")


def test_a_snapshot_that_tells_other_answers_goes(key, tmp_path):
    """Should a snapshot ever be wrong, the first replay shows it, and it is removed."""
    path = Path(snapshot_path(key))
    path.write_text(path.read_text().replace("is your memory", "is no memory"))
    with RawServer(cwd=tmp_path) as server:
        assert "is no memory" in server.handshake()["result"]["instructions"]
        server.call("search_journal", REFUSED["arguments"])
        assert not path.exists()
        assert "A snapshot held other answers" in server.next_error()


def test_what_broke_since_is_told_at_the_call(tmp_path):
    """The lists are answered from the snapshot; what needs more is told why there is none."""
    project = tmp_path / "work"
    project.mkdir()
    env = {"COMMONPLACE_PROJECT": str(project)}
    prime_for([], tmp_path, env)
    project.rmdir()
    with RawServer(cwd=tmp_path, env=env) as server:
        server.handshake()
        assert server.ask("tools/list")["result"]["tools"]
        for _ in range(2):
            error = server.ask("tools/call", REFUSED)["error"]
            assert error["code"] == -32603
            assert "is no folder. Name a folder." in error["message"]
        assert "is no folder" in server.next_error()
        assert server.end() == 0
    with RawServer(cwd=tmp_path, env=env) as server:
        assert server.process.wait(PATIENCE_S) == 2


def test_old_snapshots_are_removed(key, monkeypatch):
    """Only the newest are kept."""
    monkeypatch.setattr("commonplace.doors.stdio.snapshot_recorder.MOST_SNAPSHOTS", 2)
    for words in (["--read-only"], ["--toolsets", "private"]):
        prime_for(words, Path.cwd(), {})
    assert len(os.listdir(snapshot_folder())) == 2
    assert read_snapshot(key) is None


def test_setup_leaves_the_snapshot_of_the_first_session(tmp_path):
    """What the client will start begins at once, the first time too."""
    run = CliRunner().invoke(main, ["setup", "cursor", "--toolsets", "private", "--json"])
    assert json.loads(run.stdout)["primed"] is True
    with RawServer("--toolsets", "private", cwd=tmp_path) as server:
        assert server.handshake()["result"]["serverInfo"]["name"] == "commonplace"
        assert not has_sdk(server)


def test_doctor_compares_the_snapshot_with_the_sdk(key):
    """Equal: a note. Other: a problem, and repair removes the snapshot."""
    assert "begins from a snapshot, which agrees with the SDK" in doctor()
    path = Path(snapshot_path(key))
    path.write_text(path.read_text().replace("is your memory", "is no memory"))
    assert "The snapshot of `mcp` differs from what the SDK says." in doctor()
    assert "Removed a snapshot" in doctor("--repair")
    assert not path.exists()
    assert "There is no snapshot" in doctor()


def doctor(*words):
    return CliRunner().invoke(main, ["doctor", *words]).stdout
