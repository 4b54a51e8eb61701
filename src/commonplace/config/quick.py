"""The settings that a hook and the start of `mcp` need, read without what all settings import.

Never decides what a setting means: `table` does, and a test holds that both read the same.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from commonplace.core.redact import Screen

PROJECT_FILE = ".commonplace.toml"

BRIEF_PARTS = ("lost", "last", "open", "decided", "preferred")
"""The parts of a brief, in their order."""

BRIEF_REACH = ("notes", "all", "none")
"""What of the private journal a brief may hold."""

KEPT_TOOLS = ("none", "names", "all")
"""What of the tools that a model called is kept in transcripts."""

AT_WRITE = ("replace", "refuse", "keep")
"""What becomes of a secret that is written."""

MOST_BRIEF_TOKENS = 2400
"""Claude Code cuts what a hook says at 10,000 characters."""

_FROM_PROJECT = ("timezone",)
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_LARGEST = 1 << 20
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST_DEVICE = 4  # names of Windows such as `com1`

_WRONG = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError)

# What makes a value of a text, or of what TOML holds. Each raises what `_parsed` catches.


def _text(value: Any, _base: str, _home: str) -> str:
    if not value.strip() or any(x < " " or x == "\x7f" for x in value):
        raise ValueError
    return str(value)


def _path(value: Any, base: str, home: str) -> str:
    text = _text(value, base, home)
    if home and (text == "~" or text.startswith(("~/", f"~{os.sep}"))):
        return os.path.abspath(os.path.join(home, text[2:]))
    return os.path.abspath(os.path.join(base, text))


def _boolean(value: Any, _base: str, _home: str) -> bool:
    return value if isinstance(value, bool) else _BOOLEANS[value.strip().lower()]


def _kept_tools(value: Any, _base: str, _home: str) -> str:
    return KEPT_TOOLS[KEPT_TOOLS.index(value.strip().lower())]


def _tokens(value: Any, _base: str, _home: str) -> float:
    if isinstance(value, bool) or not 0 <= float(value) <= MOST_BRIEF_TOKENS:
        raise ValueError
    return float(value)


def _at_write(value: Any, _base: str, _home: str) -> str:
    return AT_WRITE[AT_WRITE.index(value.strip().lower())]


def _own(value: Any, _base: str, _home: str) -> tuple[str, ...]:
    from commonplace.core.own_shapes import own_patterns

    entries = listed_texts(value) if isinstance(value, str) else _list(value)
    own_patterns(entries)
    return tuple(entries)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def listed_texts(text: str) -> list[str]:
    """The texts of a JSON list, or the one text that it is. Raises: ValueError."""
    if not text.startswith("["):
        return [text]
    import json

    found = json.loads(text)
    if not all(isinstance(each, str) for each in found):
        raise ValueError
    return list(found)


def _toolsets(value: Any, _base: str, _home: str) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else _list(value)
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _reach(value: Any, _base: str, _home: str) -> str:
    return BRIEF_REACH[BRIEF_REACH.index(value.strip().lower())]


def _parts(value: Any, _base: str, _home: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else _list(value)
    names = dict.fromkeys(part.strip() for part in parts if part)
    if [*names] == ["none"]:
        return ()
    return tuple(BRIEF_PARTS[BRIEF_PARTS.index(name)] for name in names)


QUICK: dict[str, tuple[str, Callable[[Any, str, str], Any], Any]] = {
    "home": ("COMMONPLACE_HOME", _path, None),
    "owner": ("COMMONPLACE_OWNER", _text, "me"),
    "project": ("COMMONPLACE_PROJECT", _path, None),
    "timezone": ("COMMONPLACE_TIMEZONE", _text, None),
    "log": ("COMMONPLACE_LOG", _path, None),
    "transcripts.capture": ("COMMONPLACE_TRANSCRIPTS_CAPTURE", _boolean, True),
    "transcripts.tools": ("COMMONPLACE_TRANSCRIPTS_TOOLS", _kept_tools, "names"),
    "transcripts.subagents": ("COMMONPLACE_TRANSCRIPTS_SUBAGENTS", _boolean, False),
    "secrets.at_write": ("COMMONPLACE_SECRETS_AT_WRITE", _at_write, "replace"),
    "secrets.own": ("COMMONPLACE_SECRETS_OWN", _own, ()),
    "brief.tokens": ("COMMONPLACE_BRIEF_TOKENS", _tokens, 1500),
    "brief.private": ("COMMONPLACE_BRIEF_PRIVATE", _reach, "notes"),
    "brief.parts": ("COMMONPLACE_BRIEF_PARTS", _parts, BRIEF_PARTS),
    "hooks.recall": ("COMMONPLACE_HOOKS_RECALL", _boolean, False),
    "toolsets": ("COMMONPLACE_TOOLSETS", _toolsets, ("default",)),
    "read_only": ("COMMONPLACE_READ_ONLY", _boolean, False),
    "preload": ("COMMONPLACE_PRELOAD", _boolean, True),
}
"""Each by its key: its variable, what parses it, and its default."""


class QuickSettings:
    """The values of `QUICK`, by key; each is parsed when it is asked for.

    So a wrong value fails what needs it, and nothing else: a session is copied with a wrong
    `toolsets` as well.

    Args:
        heard: What was given for a key, and the folder that its paths lean on.
        environ: The environment's variables.
        home: The user's home folder; empty where it is unknown.
        strangers: The project's files, which may have been written by others.
    """

    __slots__ = ("_heard", "_values", "environ", "home", "strangers")

    def __init__(
        self,
        heard: Mapping[str, tuple[Any, str]],
        environ: Mapping[str, str],
        home: str,
        strangers: Sequence[str],
    ) -> None:
        self._heard = heard
        self._values: dict[str, Any] = {}
        self.environ = environ
        self.home = home
        self.strangers = strangers

    def __getitem__(self, key: str) -> Any:
        """The value of a setting by its key. Raises: ValueError where what was given is none."""
        if key not in self._values:
            value = QUICK[key][2]
            if key in self._heard:
                value = _parsed(key, *self._heard[key], self.home)
            if key == "home" and value is None:
                value = os.path.join(data_folder(self.environ), "commonplace")
            self._values[key] = value
        return self._values[key]

    @property
    def values(self) -> dict[str, Any]:
        """All of them. Raises: ValueError where one is not valid."""
        return {key: self[key] for key in QUICK}

    def screen(self) -> Screen:
        """What hides secrets in what a hook keeps and says."""
        from commonplace.core.redact import screen_of

        return screen_of(self["home"], self["secrets.own"], self["secrets.at_write"])

    @property
    def owner_folder(self) -> str:
        """What of the owner is only ours, as `App` names it; there or not."""
        owner = self["owner"]
        if not (_PLAIN.issuperset(owner) and (owner == "me" or len(owner) > _LONGEST_DEVICE)):
            from commonplace.core.owner_folders import owner_folder, parse_owner

            owner = owner_folder(parse_owner(owner))
        return os.path.join(self["home"], "users", owner)


def read_quick(environ: Mapping[str, str], cwd: str) -> QuickSettings:
    """Read the settings of `QUICK`: environment, then project's files, then the user's file.

    Args:
        environ: The environment's variables.
        cwd: The folder that is worked in.

    Raises:
        ValueError: A file of the user is not valid.
        OSError: The user's file cannot be read.
    """
    home = os.path.expanduser("~")
    home = home if os.path.isabs(home) else ""
    given = {key: environ[name] for key, (name, _, _) in QUICK.items() if environ.get(name)}
    layers: list[tuple[Mapping[str, Any], str]] = [(given, cwd)]
    try:
        start = _parsed("project", given["project"], cwd, home) if "project" in given else cwd
    except ValueError:  # who asks for the project is told
        start = cwd
    project_files = _project_files(start, home)
    layers += [
        (_read_file(path, trusted=trusted), os.path.dirname(path))
        for path, trusted in project_files
    ]
    if os.path.isfile(path := user_settings_file(environ)):
        layers.append((_read_file(path, trusted=True), os.path.dirname(path)))
    heard: dict[str, tuple[Any, str]] = {}
    for values, base in layers:
        for key, value in values.items():
            heard.setdefault(key, (value, base))
    strangers = [path for path, trusted in project_files if not trusted]
    return QuickSettings(heard, environ, home, strangers)


def may_recall(environ: Mapping[str, str]) -> bool:
    """Whether `hooks.recall` may be on; True in doubt.

    Looks for the word in what may set it, and parses nothing: a hook asks this at each prompt.

    Args:
        environ: The environment's variables.
    """
    if environ.get(QUICK["hooks.recall"][0]):
        return True
    from commonplace.core.regular_files import open_regular

    for path in (user_settings_file(environ), os.path.expanduser(f"~/{PROJECT_FILE}")):
        try:
            with open_regular(path) as file:
                if b"recall" in file.read(_LARGEST):
                    return True
        except FileNotFoundError:
            continue
        except OSError:  # reading the settings says what is wrong
            return True
    return False


def data_folder(environ: Mapping[str, str]) -> str:
    """The folder in which programs of this user keep their files."""
    user = os.path.expanduser("~")
    if os.path.isabs(environ.get("XDG_DATA_HOME", "")):
        return environ["XDG_DATA_HOME"]
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support")
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")
    return os.path.join(user, ".local", "share")


def user_settings_file(environ: Mapping[str, str]) -> str:
    """The user's own settings file, whether or not it is there."""
    user = os.path.expanduser("~")
    if os.path.isabs(environ.get("XDG_CONFIG_HOME", "")):
        folder = environ["XDG_CONFIG_HOME"]
    elif sys.platform in {"darwin", "win32"}:
        folder = data_folder({**environ, "XDG_DATA_HOME": ""})
    else:
        folder = os.path.join(user, ".config")
    return os.path.join(folder, "commonplace", "config.toml")


def _project_files(cwd: str, home: str) -> list[tuple[str, bool]]:
    """The project's files from a folder upward, each with whether only the user can write it."""
    found = []
    here, top = os.path.realpath(cwd), os.path.realpath(home) if home else ""
    while True:
        path = os.path.join(here, PROJECT_FILE)
        if os.path.isfile(path):
            found.append((path, here == top))
        if here in {top, os.path.dirname(here)}:
            return found
        here = os.path.dirname(here)


def _read_file(path: str, *, trusted: bool) -> dict[str, Any]:
    """The settings of a file that are ours to read; a project's that is broken has none."""
    import tomllib

    from commonplace.core.regular_files import open_regular

    try:
        with open_regular(path) as file:
            tables = tomllib.loads(file.read(_LARGEST).decode("utf-8-sig"))
    except RecursionError as exc:
        if trusted:
            raise ValueError(f"{path} is nested beyond measure") from exc
        return {}
    except (OSError, ValueError):
        if trusted:
            raise
        return {}
    found = {}
    for key in QUICK:
        section, _, name = key.rpartition(".")
        table = tables.get(section, {}) if section else tables
        if isinstance(table, dict) and name in table:
            found[key] = table[name]
    return found if trusted else {x: y for x, y in found.items() if _may_set(x, y)}


def _may_set(key: str, value: object) -> bool:
    """Whether a project's file, which may be a stranger's, may set this."""
    return key in _FROM_PROJECT and isinstance(value, str) and bool(value)


def _parsed(key: str, value: Any, base: str, home: str) -> Any:
    try:
        return QUICK[key][1](value, base, home)
    except _WRONG as exc:
        raise ValueError(f"{key} is not valid") from exc
