"""The system's timer that rolls the timeline up each hour, also where nothing of ours runs.

A systemd user timer, an agent of launchd, or a line of crontab; never touches what a person made.
"""

from __future__ import annotations

import os
import plistlib
import shlex
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from commonplace.config.table import SETTINGS
from commonplace.core.errors import CommonplaceError, Conflict, Unavailable
from commonplace.core.files import make_folder, regular_file, remove_file, replace_file
from commonplace.core.programs import find_program
from commonplace.core.text import opening
from commonplace.core.values import Answer
from commonplace.doors.setup.clients import Machine, own_command, own_variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NAME = "commonplace-rollup"
LABEL = "commonplace.rollup"

_MADE = "Made by `commonplace rollup --install`; `commonplace rollup --remove` takes it away."
_MINUTE = 3
"""Past each hour: its last entries are written by then."""
_WAIT_S = 30.0
_NO_CRONTAB = ("no crontab", "can't open")
"""What cron, and busybox, say of a user who has none yet."""


class _Timer(Protocol):
    """One way in which a system starts programs by the clock."""

    @property
    def title(self) -> str:
        """What it is, for people."""
        ...

    def install(self, command: Sequence[str], environ: Mapping[str, str]) -> Sequence[str]:
        """Make the timer, or make it again; where it lies. Raises: Conflict, Unavailable."""
        ...

    def remove(self) -> Sequence[str]:
        """Take it away, if it is ours; where it lay. Raises: Unavailable."""
        ...


def install_timer(home: Path, platform: str = sys.platform) -> Answer:
    """Have the system run `commonplace rollup --due` each hour, with the settings of this process.

    Args:
        home: The user's home folder.
        platform: As `sys.platform`.

    Raises:
        Conflict: A person made a timer of that name.
        Unavailable: The system has no timer that is known here, or it refuses.
    """
    secrets = {setting.env for setting in SETTINGS if setting.is_secret}
    given = {name: value for name in own_variables() if (value := os.environ.get(name))}
    kept = {x: y for x, y in given.items() if x not in secrets and y.isprintable()}
    timer = _timer_of(_machine(home, platform))
    command = [*own_command(sys.argv[0], sys.executable), "rollup", "--due"]
    places = timer.install(command, kept)
    lines = [f"The timeline is rolled up each hour now, by {timer.title}: {', '.join(places)}."]
    left_out = [name for name in given if name not in kept]
    lines += [f"Not handed on, set it in the settings: {name}." for name in left_out]
    facts = {"timer": timer.title, "places": [*places], "left_out": left_out}
    return Answer(text="\n".join(lines), facts=facts)


def remove_timer(home: Path, platform: str = sys.platform) -> Answer:
    """Take our timer away, whichever it was; none is no error. Raises: Unavailable."""
    places: list[str] = []
    failed: list[Unavailable] = []
    for timer in _timers(_machine(home, platform)):
        try:
            places += timer.remove()
        except Unavailable as exc:  # it may forbid its use to this user, who has none there then
            failed.append(exc)
    if failed and not places:
        raise failed[0]
    text = f"Removed: {', '.join(places)}." if places else "There is no timer of ours."
    return Answer(text=text, facts={"places": places}, notes=[str(exc) for exc in failed])


def _machine(home: Path, platform: str) -> Machine:
    return Machine(platform=platform, home=home, environ=os.environ)


def _timer_of(machine: Machine) -> _Timer:
    for timer in _timers(machine):
        if isinstance(timer, _Systemd) and not timer.is_running():
            continue
        return timer
    raise Unavailable(
        "No timer is known here: neither systemd for users, nor launchd, nor crontab.",
        hint="Have your system run `commonplace rollup --due` each hour.",
    )


def _timers(machine: Machine) -> list[_Timer]:
    """The kinds of timers that this system has programs for, the best first."""
    if machine.platform == "darwin":
        return [_Launchd(folder=machine.home / "Library" / "LaunchAgents")]
    units = machine.folder("XDG_CONFIG_HOME", ".config") / "systemd" / "user"
    found: list[_Timer] = [_Systemd(folder=units)] if find_program("systemctl") else []
    return [*found, *([_Crontab()] if find_program("crontab") else [])]


class _Systemd(Struct, frozen=True, kw_only=True):
    """A timer of systemd's user manager, which makes up for what it slept through."""

    folder: Path

    title = "a systemd timer"

    def is_running(self) -> bool:
        """Whether the user has a manager that would start it."""
        return _run("systemctl", "--user", "show-environment").returncode == 0

    def install(self, command: Sequence[str], environ: Mapping[str, str]) -> Sequence[str]:
        """Two unit files, enabled and started."""
        service, timer = self._files()
        for path in (service, timer):
            _refuse_foreign(path)
        make_folder(self.folder)
        named = [f"Environment={_unit_word(f'{name}={value}')}" for name, value in environ.items()]
        program = " ".join(_unit_word(word).replace("$", "$$") for word in command)
        replace_file(
            service,
            _lines(
                f"# {_MADE}",
                "[Unit]",
                "Description=Commonplace: roll the timeline up",
                "",
                "[Service]",
                "Type=oneshot",
                *named,
                f"ExecStart={program}",
            ),
        )
        replace_file(
            timer,
            _lines(
                f"# {_MADE}",
                "[Unit]",
                "Description=Commonplace: roll the timeline up each hour",
                "",
                "[Timer]",
                f"OnCalendar=*-*-* *:{_MINUTE:02}:00",
                "Persistent=true",
                "",
                "[Install]",
                "WantedBy=timers.target",
            ),
        )
        try:
            _require("systemctl", "--user", "daemon-reload")
            _require("systemctl", "--user", "enable", "--now", timer.name)
        except Unavailable:
            self.remove()
            raise
        return [str(timer), str(service)]

    def remove(self) -> Sequence[str]:
        """Disabled, and both files gone; a timer that a person made stays."""
        service, timer = self._files()
        ours = [path for path in (timer, service) if _is_ours(path)]
        if timer in ours:
            # Without a running manager only the link that enabled it goes.
            _run("systemctl", "--user", "disable", "--now", timer.name)
        for path in ours:
            remove_file(path)
        if ours:
            _run("systemctl", "--user", "daemon-reload")
        return [str(path) for path in ours]

    def _files(self) -> tuple[Path, Path]:
        return self.folder / f"{NAME}.service", self.folder / f"{NAME}.timer"


class _Launchd(Struct, frozen=True, kw_only=True):
    """An agent of launchd; of what it slept through it makes up for one run."""

    folder: Path

    title = "an agent of launchd"

    def install(self, command: Sequence[str], environ: Mapping[str, str]) -> Sequence[str]:
        """One property list, loaded."""
        path = self._file()
        _refuse_foreign(path)
        self.remove()
        make_folder(self.folder)
        agent = {
            "Comment": _MADE,
            "Label": LABEL,
            "ProgramArguments": [*command],
            "EnvironmentVariables": {**environ},
            "StartCalendarInterval": {"Minute": _MINUTE},
            "StandardOutPath": os.devnull,
        }
        replace_file(path, plistlib.dumps(agent))
        try:
            _require("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path))
        except Unavailable:
            self.remove()
            raise
        return [str(path)]

    def remove(self) -> Sequence[str]:
        """Unloaded, and the file gone."""
        path = self._file()
        if not _is_ours(path):
            return []
        _run("launchctl", "bootout", f"gui/{os.getuid()}", str(path))
        remove_file(path)
        return [str(path)]

    def _file(self) -> Path:
        return self.folder / f"{LABEL}.plist"


class _Crontab(Struct, frozen=True):
    """A line of the user's crontab, known by the comment at its end; the others stay."""

    title = "a line of your crontab"

    def install(self, command: Sequence[str], environ: Mapping[str, str]) -> Sequence[str]:
        """The line, in place of the former one."""
        named = [f"{name}={shlex.quote(value)}" for name, value in environ.items()]
        words = " ".join([*named, shlex.join(command)]).replace("%", r"\%")
        line = f"{_MINUTE} * * * * {words} >{os.devnull} # {NAME}"
        self._write([*_others(self._lines()), line])
        return [line]

    def remove(self) -> Sequence[str]:
        """The line gone."""
        lines = self._lines()
        others = _others(lines)
        if others == lines:
            return []
        self._write(others)
        return [line for line in lines if line not in others]

    def _lines(self) -> list[str]:
        """The lines that it has; a user who has no crontab yet has none. Raises: Unavailable."""
        done = _run("crontab", "-l")
        if not done.returncode:
            return done.stdout.removesuffix("\n").split("\n") if done.stdout else []
        if any(said in done.stderr for said in _NO_CRONTAB):
            return []
        raise Unavailable(f"crontab -l failed: {_said(done)}.", hint="Try it yourself.")

    def _write(self, lines: Sequence[str]) -> None:
        _require("crontab", "-", given="".join(f"{line}\n" for line in lines))


def _others(lines: Sequence[str]) -> list[str]:
    """The lines of a crontab that are not ours."""
    return [line for line in lines if not line.rstrip().endswith(f"# {NAME}")]


def _unit_word(word: str) -> str:
    """A word as systemd reads it in a unit file: quoted, its specifiers doubled."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _lines(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _is_ours(path: Path) -> bool:
    with suppress(CommonplaceError), regular_file(path) as file:
        return _MADE.encode() in file.read()
    return False


def _refuse_foreign(path: Path) -> None:
    """Raises: Conflict where a file that is not ours has the name."""
    if os.path.lexists(path) and not _is_ours(path):
        raise Conflict(
            f"There is a timer already that `commonplace rollup --install` did not make: {path}.",
            hint="Keep it, or move it away and call again.",
        )


def _run(program: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program of the system. Raises: Unavailable where it is not there, or hangs."""
    found = find_program(program)
    if found is None:
        raise Unavailable(f"There is no program {program} here.", hint="Look at your PATH.")
    try:
        return subprocess.run(  # noqa: S603  an argument list, no shell, a full path
            [found, *arguments],
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",  # what others wrote goes back as it was
            timeout=_WAIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Unavailable(f"{program} cannot be run: {exc}.", hint="Try it yourself.") from exc


def _require(program: str, *arguments: str, given: str = "") -> None:
    """Run a program that must succeed. Raises: Unavailable, with what it said."""
    done = _run(program, *arguments, given=given)
    if done.returncode:
        said = f"{program} {' '.join(arguments)} failed: {_said(done)}."
        raise Unavailable(said, hint="Mend that, or have your system run it in another way.")


def _said(done: subprocess.CompletedProcess[str]) -> str:
    said = " ".join((done.stderr or done.stdout).split()).rstrip(".")
    said = said.encode("utf-8", "replace").decode()
    return opening(said, 200) or f"exit {done.returncode}"
