"""`commonplace rollup --install`: the system's own timer, made and taken away.

The programs of the system are scripts that write down how they were called, and `crontab` keeps a
table as the real one does.
"""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from commonplace.core.errors import Conflict, Unavailable
from commonplace.doors.cli import main
from commonplace.doors.setup.clients import own_command, own_variables
from commonplace.doors.setup.timer import install_timer, remove_timer

CALLED = """#!/bin/sh
echo "$(basename "$0") $*" >> {folder}/called
test ! -e {folder}/refused || {{ cat {folder}/refused >&2; exit 1; }}
"""
CRONTAB = """#!/bin/sh
case "$1" in
-l) test -e {folder}/table && cat {folder}/table || {{ echo "no crontab for me" >&2; exit 1; }} ;;
-) cat > {folder}/table ;;
esac
"""


COMMAND = [*own_command(sys.argv[0], sys.executable), "rollup", "--due"]


class Machine:
    """The programs of a system, in a folder that is the whole PATH beside the shell's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def has(self, name: str, script: str = CALLED) -> None:
        """Put a program there."""
        path = self.folder / name
        path.write_text(script.format(folder=self.folder), "utf-8")
        path.chmod(0o755)

    def refuses(self, said: str) -> None:
        """From now on each call of a program that writes down its calls fails."""
        (self.folder / "refused").write_text(said, "utf-8")

    @property
    def called(self) -> list[str]:
        """How the programs were called."""
        return (self.folder / "called").read_text("utf-8").splitlines()

    @property
    def table(self) -> str:
        """The crontab."""
        return (self.folder / "table").read_text("utf-8")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A system without any timer."""
    made = Machine(tmp_path / "programs")
    monkeypatch.setenv("PATH", f"{made.folder}{os.pathsep}/bin")
    for name in own_variables():
        monkeypatch.delenv(name, raising=False)
    return made


def rollup(*words: str, code: int = 0) -> dict[str, Any]:
    """What `commonplace rollup` says, as facts; nothing where it fails."""
    run = CliRunner().invoke(main, ["rollup", *words, "--json"])
    assert run.exit_code == code, run.output
    return dict(json.loads(run.stdout)) if run.stdout else {}


def units() -> Path:
    """Where systemd reads a user's units."""
    return Path.home() / ".config" / "systemd" / "user"


@pytest.mark.design("003-51")
def test_systemd_runs_it_each_hour_with_the_settings_of_now(machine, monkeypatch):
    """Quoted as systemd reads it; a password and what a unit cannot hold are named, not kept."""
    machine.has("systemctl")
    machine.has("crontab", CRONTAB)
    monkeypatch.setenv("COMMONPLACE_OWNER", 'Ann "50 %" $HOME')
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", "postgresql://me:secret@host/db")
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "two\nlines")
    facts = rollup("--install")
    service, timer = (units() / f"commonplace-rollup.{kind}" for kind in ("service", "timer"))
    assert facts["places"] == [str(timer), str(service)]
    assert facts["left_out"] == ["COMMONPLACE_DATABASE_URL", "COMMONPLACE_LLM_MODEL"]
    said = service.read_text("utf-8")
    assert '\nEnvironment="COMMONPLACE_OWNER=Ann \\"50 %%\\" $HOME"\n' in said
    program = " ".join(f'"{word}"' for word in COMMAND)
    assert f"\nExecStart={program}\n" in said
    assert "secret" not in said
    assert "\nOnCalendar=*-*-* *:03:00\nPersistent=true\n" in timer.read_text("utf-8")
    assert machine.called[-1] == "systemctl --user enable --now commonplace-rollup.timer"
    assert not (machine.folder / "table").exists()
    assert rollup("--remove")["places"] == [str(timer), str(service)]
    assert "systemctl --user disable --now commonplace-rollup.timer" in machine.called
    assert not [*units().iterdir()]
    assert rollup("--remove")["places"] == []


def test_a_timer_that_a_person_made_stays(machine):
    """It is neither written over nor taken away."""
    machine.has("systemctl")
    units().mkdir(parents=True)
    own = units() / "commonplace-rollup.timer"
    own.write_text("[Timer]\nOnCalendar=daily\n", "utf-8")
    with pytest.raises(Conflict, match="did not make"):
        install_timer(Path.home())
    assert rollup("--remove")["places"] == []
    assert own.read_text("utf-8") == "[Timer]\nOnCalendar=daily\n"
    assert [*units().iterdir()] == [own]


def test_what_systemd_refuses_leaves_nothing(machine):
    """And the error says what it said."""
    script = 'case "$*" in *enable*) echo "Unit is masked." >&2; exit 1 ;; esac\n'
    machine.has("systemctl", f"#!/bin/sh\n{script}")
    with pytest.raises(Unavailable, match="Unit is masked"):
        install_timer(Path.home())
    assert not [*units().iterdir()]


def test_where_no_manager_runs_it_is_one_line_of_the_crontab(machine, monkeypatch):
    """However often it is installed; the other lines stay as they are."""
    machine.has("systemctl")
    machine.refuses("Failed to connect to bus")
    machine.has("crontab", CRONTAB)
    monkeypatch.setenv("COMMONPLACE_OWNER", "O'Hara 50%")
    rollup("--install")
    rollup("--install")
    name = shlex.quote("O'Hara 50%").replace("%", r"\%")
    line = f"COMMONPLACE_OWNER={name} {shlex.join(COMMAND)} >/dev/null"
    assert machine.table == f"3 * * * * {line} # commonplace-rollup\n"
    others = b"# mine\n\n0 4 * * * tar cf caf\xe9.tar \x0c /d\n"
    table = machine.folder / "table"
    table.write_bytes(others + table.read_bytes())
    rollup("--install")
    assert table.read_bytes().startswith(others)
    assert len(rollup("--remove")["places"]) == 1
    assert table.read_bytes() == others


def test_a_crontab_that_is_forbidden_hides_nothing(machine):
    """What systemd had is taken away, and why nothing else was asked is said."""
    machine.has("systemctl")
    rollup("--install")
    machine.has("crontab", "#!/bin/sh\necho 'You (me) are not allowed to.' >&2; exit 1\n")
    facts = rollup("--remove")
    assert len(facts["places"]) == 2
    assert "not allowed" in facts["notes"][0]


def test_launchd_is_given_an_agent(machine):
    """Loaded for the user who is logged in, and unloaded."""
    machine.has("launchctl")
    home = Path.home()
    install_timer(home, "darwin")
    path = home / "Library" / "LaunchAgents" / "commonplace.rollup.plist"
    agent = plistlib.loads(path.read_bytes())
    assert agent["ProgramArguments"] == COMMAND
    assert agent["StartCalendarInterval"] == {"Minute": 3}
    assert machine.called == [f"launchctl bootstrap gui/{os.getuid()} {path}"]
    remove_timer(home, "darwin")
    assert machine.called[-1] == f"launchctl bootout gui/{os.getuid()} {path}"
    assert not path.exists()


def test_a_system_without_a_timer_is_told_what_to_run(machine):
    """Nothing is made."""
    with pytest.raises(Unavailable) as caught:
        install_timer(Path.home())
    assert caught.value.hint == "Have your system run `commonplace rollup --due` each hour."
    rollup("--install", "--due", code=2)
