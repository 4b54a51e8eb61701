"""Owns how the git command is run: its arguments, its environment, its time, what it answers.

Never lets a repository's own configuration run a program, and never reads a text as an option.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import tempfile
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Denied, NotFound, Unavailable
from commonplace.core.programs import find_program
from commonplace.core.text import opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TIMEOUT_S = 30.0
"""How long one call of git may take."""
LONG_TIMEOUT_S = 600.0
"""How long a walk through a whole history may take."""

# What a repository's own configuration may name a program in; `-c` is stronger than its files.
# Filters and external diffs bear names of their choice: no command that would use them is run.
_SWITCHES = (
    *("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"),
    *("-c", "core.pager=cat", "-c", "core.editor=:", "-c", "sequence.editor=:"),
    *("-c", "core.askPass=", "-c", "core.alternateRefsCommand=:"),
    *("-c", "diff.external=", "-c", "log.showSignature=false", "-c", "log.mailmap=false"),
    *("-c", "log.showRoot=true", "-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false"),
    *("-c", "push.gpgSign=false", "-c", "gpg.program=false", "-c", "gc.auto=0"),
    *("-c", "gc.recentObjectsHook=", "-c", "maintenance.auto=false"),
    *("-c", "submodule.recurse=false", "-c", "core.attributesFile="),
    *("-c", "protocol.ext.allow=never", "-c", "core.quotePath=true", "-c", "core.splitIndex=false"),
    # What was written is on the disk before anybody says so.
    *("-c", "core.fsync=loose-object,pack,pack-metadata,reference"),
    *("-c", "core.fsyncMethod=fsync", "-c", "core.filesRefLockTimeout=5000"),
)

_SWITCHES_AT_HOME = ("-c", "core.sshCommand=ssh", "-c", "credential.helper=")

# What git needs of the surroundings; everything else, GIT_* above all, stays outside.
_VARIABLES = frozenset(
    """
    PATH HOME USERPROFILE HOMEDRIVE HOMEPATH SYSTEMROOT SYSTEMDRIVE TEMP TMP TMPDIR COMSPEC
    PROGRAMDATA APPDATA LOCALAPPDATA USER LOGNAME USERNAME SSH_AUTH_SOCK XDG_CONFIG_HOME
    LD_LIBRARY_PATH DYLD_LIBRARY_PATH
    """.split()
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_FLUSH": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_ASKPASS": "",
    # Set and empty: whatever core.gitProxy names, which no `-c` takes back.
    "GIT_PROXY_COMMAND": "",
    "SSH_ASKPASS": "",
    "GIT_MERGE_AUTOEDIT": "no",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}
# No transport at all: a missing object is never fetched from wherever a configuration says.
_OFFLINE = "none"
_TRANSPORTS = "file:git:http:https:ssh"

# What a remote needs as well: proxies, certificates, where a keyring answers.
_VARIABLES_FOR_REMOTES = frozenset(
    """
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR KRB5CCNAME
    XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
    """.split()
)
# The user's own files are read then: who he is to the remote stands there.
_FILES_OF_OTHERS = ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL")
_USER_CONFIG_KEYS = r"^(credential\..*|core\.sshcommand)$"
_SSH = "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15"
_SWITCHES_FOR_REMOTES = (
    *("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60", "-c", "http.saveCookies=false"),
    # An unsound object never comes in: trees that name git's own folder, say.
    *("-c", "fetch.fsckObjects=true"),
)

_NO_GIT = "Install git 2.36 or newer, and see that it is on the PATH."
_LACKS_OBJECT = (
    "The notebook {place} lacks an object.",
    "Run: git -C {place} fsck; then fetch what is missing from a clone.",
)
LOCK = re.compile(r"Unable to create '(?P<path>[^'\n]{1,400}\.lock)'")
"""What git writes where another command holds a lock."""


class GitResult(Struct, frozen=True, kw_only=True):
    """How a call of git ended: its exit status and what it wrote."""

    status: int
    out: bytes
    err: str

    @property
    def reason(self) -> str:
        """The first line of its own words that says why it failed, or that it had none."""
        lines = self.err.strip().splitlines() or ["git said nothing"]
        line = next((x for x in lines if x.startswith(("fatal:", "error:"))), lines[0])
        return opening(line, 200).rstrip(".")


class LockHeld(Unavailable):
    """A lock file of git's is there: another command works, or was cut off. Nothing was written."""

    def __init__(self, lock: Path | str) -> None:
        super().__init__(
            f"The notebook is locked: git's {os.path.basename(lock)} {{place}} is there.",
            hint="Wait for the git command that holds it; if none runs, remove the file {place}.",
            place=lock,
        )


class Git:
    """The git command in one repository. Thread-safe; holds nothing open between calls.

    Args:
        folder: The work tree, or a bare repository itself.
        is_bare: It has no work tree.
        lock: A descriptor that every command of `run` holds as well.
    """

    def __init__(self, folder: Path, *, is_bare: bool = False, lock: int | None = None) -> None:
        self.folder = folder
        self._lock = lock
        self._place = ["-C", str(folder), *([] if is_bare else [f"--work-tree={folder}"])]
        self._trust: list[str] | None = None
        self._user_config: Mapping[str, str] | None = None

    def run(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes | IO[bytes] = b"",
        timeout_s: float = TIMEOUT_S,
        statuses: Sequence[int] = (0,),
        index: Path | None = None,
    ) -> GitResult:
        """Run one git command to its end.

        arguments: its verb first; statuses: those that are an answer, any other raises; index: the
        file that it takes for git's index.
        Raises: Unavailable, Denied, NotFound.
        """
        ran = _run_to_end(
            self._command(arguments),
            what=f"git {arguments[0]} in {self.folder}",
            stdin=stdin,
            environment=_environment_of(self.folder)
            | ({"GIT_INDEX_FILE": str(index)} if index else {}),
            timeout_s=timeout_s,
            descriptors=() if self._lock is None else (self._lock,),
        )
        if ran.status not in statuses:
            raise explain_failure(self.folder, arguments[0], ran)
        return ran

    def run_remote(
        self, arguments: Sequence[str], *, timeout_s: float = LONG_TIMEOUT_S
    ) -> GitResult:
        """Run one command that may speak to a remote; whatever its status, that is the answer.

        Who the user is to a remote is read from his own files, never from the repository's. Nobody
        is asked for a password: the command has no terminal, and ends with all it started.
        Raises: Unavailable when it takes too long, Denied.
        """
        if self._user_config is None:
            self._user_config = _user_config_for_remotes(self.folder)
        environment = {
            **{k: x for k, x in _environment_of(self.folder).items() if k not in _FILES_OF_OTHERS},
            **{k: x for k, x in os.environ.items() if k.upper() in _VARIABLES_FOR_REMOTES},
            **self._user_config,
            "GIT_ALLOW_PROTOCOL": _TRANSPORTS,
        }
        return _run_to_end(
            self._command(arguments, _SWITCHES_FOR_REMOTES),
            what=f"git {arguments[0]} in {self.folder}",
            environment=environment,
            timeout_s=timeout_s,
            is_remote=True,
        )

    @contextlib.contextmanager
    def stream(self, arguments: Sequence[str]) -> Iterator[IO[bytes]]:
        """The standard output of one command while it runs; a block may be left early by raising.

        Raises: as `run`, once the block has read everything.
        """
        import subprocess  # 2 ms, and a command that finds nothing new in a notebook runs no git

        # Errors go to a file: a pipe that nobody reads would stop git once it is full.
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(  # noqa: S603  as in _run_to_end
                    self._command(arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=_environment_of(self.folder),
                )
            except OSError as exc:
                raise _not_run(exc) from exc
            assert process.stdout is not None
            try:
                with process.stdout as out:
                    yield out
            finally:
                # Its output is closed: whatever it still had to say ends it.
                status = process.wait(LONG_TIMEOUT_S)
            if status:
                errors.seek(0)
                err = errors.read(10_000).decode("utf-8", "replace")
                raise explain_failure(
                    self.folder, arguments[0], GitResult(status=status, out=b"", err=err)
                )

    def _command(
        self, arguments: Sequence[str], more: Sequence[str] = _SWITCHES_AT_HOME
    ) -> list[str]:
        if self._trust is None:
            self._trust = self._trusted()
        return [
            git_program(),
            *self._place,
            "--no-pager",
            *_SWITCHES,
            *more,
            *self._trust,
            *arguments,
        ]

    def _trusted(self) -> list[str]:
        """The setting by which git trusts another user's repository, if this user's files do."""
        if os.name == "nt" or not _is_foreign(self.folder):
            return []
        asked = ["config", "--global", "--includes", "--get-all", "safe.directory"]
        found = run_anywhere(asked, Path(os.path.abspath(os.sep)), own_config=True)
        named = found.out.decode("utf-8", "replace").split("\n")
        is_named = "*" in named or str(self.folder) in named
        return ["-c", f"safe.directory={self.folder}"] if is_named else []


def run_anywhere(arguments: Sequence[str], folder: Path, *, own_config: bool = False) -> GitResult:
    """Run a command that needs no repository, in any folder. Raises: Unavailable.

    own_config: let it see this user's own configuration, to read from it.
    """
    environment = _environment_of(folder)
    if own_config:
        del environment["GIT_CONFIG_GLOBAL"]
    return _run_to_end(
        [
            git_program(),
            "-C",
            str(folder),
            "--no-pager",
            *_SWITCHES,
            *_SWITCHES_AT_HOME,
            *arguments,
        ],
        what=f"git {arguments[0]} in {folder}",
        environment=environment,
        timeout_s=TIMEOUT_S,
    )


def quiet_command(verb: str) -> str:
    """A command line that serves a repository on this machine without its running any program."""
    # A lock that another holds is not waited for in there: a push is tried again.
    more = (
        *("-c", "receive.autogc=false", "-c", "core.filesRefLockTimeout=300"),
        # Else the remote may have its own folder brought up to date, which runs its filters.
        *("-c", "receive.denyCurrentBranch=refuse"),
    )
    return shlex.join([git_program(), *_SWITCHES, *_SWITCHES_AT_HOME, *more, verb])


def _user_config_for_remotes(folder: Path) -> dict[str, str]:
    """The user's own credential helpers and way of ssh, as variables that git reads last of all."""
    pairs = [("credential.helper", ""), ("core.sshCommand", _SSH)]
    for where in ("--system", "--global"):
        environment = {
            k: x for k, x in _environment_of(folder).items() if k not in _FILES_OF_OTHERS
        }
        found = _run_to_end(
            [
                *(git_program(), "-C", os.path.abspath(os.sep), "config", where, "--includes"),
                *("--null", "--get-regexp", _USER_CONFIG_KEYS),
            ],
            what="git config",
            environment=environment,
            timeout_s=TIMEOUT_S,
        )
        listed = found.out.decode("utf-8", "surrogateescape").split("\0")[:-1]
        pairs += [(key, value) for key, _, value in (x.partition("\n") for x in listed)]
    variables = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _run_to_end(
    command: Sequence[str],
    *,
    what: str,
    environment: Mapping[str, str],
    timeout_s: float,
    stdin: bytes | IO[bytes] = b"",
    descriptors: Sequence[int] = (),
    is_remote: bool = False,
) -> GitResult:
    """Run a command to its end, and at the end of its time end it.

    is_remote: it has a session of its own, without a terminal to ask for a password on, and ends
    with all that it started.
    """
    import subprocess  # as in `Git.stream`

    source: int | IO[bytes]
    if isinstance(stdin, bytes):
        given, source = stdin, subprocess.PIPE if stdin else subprocess.DEVNULL
    else:
        given, source = b"", stdin
    try:
        process = subprocess.Popen(  # noqa: S603  an argument list, no shell, a full path
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=descriptors,
            start_new_session=is_remote,
        )
    except OSError as exc:
        raise _not_run(exc) from exc
    with process:
        try:
            out, err = process.communicate(given or None, timeout=timeout_s)
        except BaseException as exc:
            with contextlib.suppress(OSError):
                if is_remote and os.name != "nt":
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            if not isinstance(exc, subprocess.TimeoutExpired):
                raise
            where = "remote" if is_remote else "disk"
            raise Unavailable(
                f"{what} took longer than {timeout_s:.0f} s.",
                hint=f"See whether the {where} answers, then try again.",
            ) from exc
    return GitResult(status=process.returncode, out=out, err=err.decode("utf-8", "replace"))


@cache
def git_program() -> str:
    """Where git is. Raises: Unavailable."""
    found = find_program("git")
    if found is None:
        raise Unavailable("The git command is not there; the notebook needs it.", hint=_NO_GIT)
    return found


def _not_run(exc: OSError) -> Unavailable:
    return Unavailable(
        f"The git command cannot be run: {os.strerror(exc.errno or 0)}.", hint=_NO_GIT
    )


def _environment_of(folder: Path) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name.upper() in _VARIABLES},
        **_ENVIRONMENT,
        "GIT_ALLOW_PROTOCOL": _OFFLINE,
        # Never a repository that happens to lie around the folder.
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
    }


def _is_foreign(folder: Path) -> bool:
    """Whether the folder, or its repository, is another user's."""
    paths = filter(os.path.lexists, (folder, folder / ".git"))
    return any(os.lstat(path).st_uid != os.geteuid() for path in paths)


def shell_command(folder: Path) -> str:
    """The beginning of a git command in a folder, as a person types it."""
    return f"git -C {shlex.quote(str(folder))}"


def explain_failure(folder: Path, verb: str, ran: GitResult) -> CommonplaceError:
    """What git refused, in our words, with the repository and the next step."""
    if lock := LOCK.search(ran.err):
        return LockHeld(lock["path"])
    for sign, kind, message, hint in _EXPLANATIONS:
        if sign in ran.err:
            return kind(message, hint=hint, place=folder)
    # None of a text that was written: git repeats names, no contents.
    return Unavailable(
        f"git {verb} failed in {{place}} ({ran.status}): {ran.reason}.",
        hint="See what `git -C {place} fsck` and `git -C {place} status` say.",
        place=folder,
    )


def missing_object(folder: Path) -> Unavailable:
    """What to raise where an object is named and not there: it must not pass for nothing."""
    message, hint = _LACKS_OBJECT
    return Unavailable(message, hint=hint, place=folder)


_EXPLANATIONS: tuple[tuple[str, type[CommonplaceError], str, str], ...] = (
    (
        "from promisor remote",
        Unavailable,
        "The notebook {place} is a partial clone, and lacks an object.",
        "Fetch all of it: git -C {place} fetch --refetch --no-filter",
    ),
    (
        "dubious ownership",
        Denied,
        "The notebook {place} belongs to another user, and git does not trust it.",
        "If you do, run: git config --global --add safe.directory {place}",
    ),
    (
        "not a git repository",
        NotFound,
        "There is no notebook in {place}.",
        "Make one: commonplace notebook init {place}",
    ),
    (
        "No space left on device",
        Unavailable,
        "No space is left for the notebook {place}.",
        "Free some space, then try again.",
    ),
    (
        "Permission denied",
        Denied,
        "The notebook {place} cannot be written to or read.",
        "Check the owner and the modes of its files.",
    ),
    (
        "insufficient permission",
        Denied,
        "The notebook {place} cannot be written to.",
        "Check the owner and the modes of its files.",
    ),
    (
        "Read-only file system",
        Denied,
        "The notebook {place} lies on a read-only disk.",
        "Choose a folder on a disk you can write to.",
    ),
    (
        "unknown repository extension",
        Unavailable,
        "The notebook {place} needs a newer git.",
        _NO_GIT,
    ),
    ("bad object", Unavailable, *_LACKS_OBJECT),
)
