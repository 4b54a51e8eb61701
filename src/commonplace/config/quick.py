"""The settings that a hook and the start of `mcp` need, read without what all settings import.

Their rows in `table` take name, parser and default from here; a test holds that both read the same.
"""

from __future__ import annotations

import os

from commonplace.config.files import (
    LARGEST,
    RECALL_VARIABLE,
    data_folder,
    project_files,
    user_settings_file,
)
from commonplace.config.values import (
    OneOf,
    Origin,
    names_of,
    parse_boolean,
    parse_own_secrets,
    parse_path_text,
    parse_text,
    whole_number_of,
)
from commonplace.core.errors import CommonplaceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from commonplace.core.redact import Screen

BRIEF_PARTS = ("lost", "last", "open", "decided", "preferred", "timeline")
"""The parts of a brief, in their order."""

MOST_BRIEF_TOKENS = 2400
"""Claude Code cuts what a hook says at 10,000 characters."""

SERVED = "served"
"""The folder, in an owner's, of what depends on journals that are served to that owner alone."""

BY_SERVER = os.path.join(SERVED, "by-server")
"""A folder in an owner's: there once a server, or the library, opened that owner as one of many."""

_FROM_PROJECT = ("timezone",)


def _toolset_names(value: Any, origin: Origin) -> tuple[str, ...]:
    """Names that the table of journals may not know: who offers them asks it."""
    names = value if isinstance(value, list) else parse_text(value, origin).split(",")
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


QUICK: dict[str, tuple[str, Callable[[Any, Origin], Any], Any]] = {
    "home": ("COMMONPLACE_HOME", parse_path_text, None),
    "owner": ("COMMONPLACE_OWNER", parse_text, "me"),
    "project": ("COMMONPLACE_PROJECT", parse_path_text, None),
    "timezone": ("COMMONPLACE_TIMEZONE", parse_text, None),
    "log": ("COMMONPLACE_LOG", parse_path_text, None),
    "transcripts.capture": ("COMMONPLACE_TRANSCRIPTS_CAPTURE", parse_boolean, True),
    "transcripts.tools": (
        "COMMONPLACE_TRANSCRIPTS_TOOLS",
        OneOf("none", "names", "all"),
        "names",
    ),
    "transcripts.subagents": ("COMMONPLACE_TRANSCRIPTS_SUBAGENTS", parse_boolean, False),
    "secrets.at_write": (
        "COMMONPLACE_SECRETS_AT_WRITE",
        OneOf("replace", "refuse", "keep"),
        "replace",
    ),
    "secrets.own": ("COMMONPLACE_SECRETS_OWN", parse_own_secrets, ()),
    "brief.tokens": ("COMMONPLACE_BRIEF_TOKENS", whole_number_of(0, MOST_BRIEF_TOKENS), 1500),
    "brief.private": ("COMMONPLACE_BRIEF_PRIVATE", OneOf("notes", "all", "none"), "notes"),
    "brief.parts": ("COMMONPLACE_BRIEF_PARTS", names_of(BRIEF_PARTS), BRIEF_PARTS),
    "hooks.recall": (RECALL_VARIABLE, parse_boolean, False),
    "toolsets": ("COMMONPLACE_TOOLSETS", _toolset_names, ("default",)),
    "read_only": ("COMMONPLACE_READ_ONLY", parse_boolean, False),
    "preload": ("COMMONPLACE_PRELOAD", parse_boolean, True),
}
"""Each by its key: its variable, what parses it, and its default."""


class QuickSettings:
    """The values of `QUICK`, by key; each is parsed when it is asked for.

    So a wrong value fails what needs it, and nothing else: a session is copied with a wrong
    `toolsets` as well.

    Args:
        given: What was given for a key, and where.
        strangers: The project's files, which may have been written by others.
    """

    __slots__ = ("_given", "_values", "environ", "home", "strangers")

    def __init__(
        self,
        given: Mapping[str, tuple[Any, Origin]],
        environ: Mapping[str, str],
        home: str,
        strangers: Sequence[str],
    ) -> None:
        self._given = given
        self._values: dict[str, Any] = {}
        self.environ = environ
        self.home = home
        self.strangers = strangers

    def __getitem__(self, key: str) -> Any:
        """The value of a setting by its key. Raises: ValueError where what was given is none."""
        if key not in self._values:
            value = _parsed(key, *self._given[key]) if key in self._given else QUICK[key][2]
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
        if owner != "me":
            from commonplace.core.owner_folders import owner_folder, parse_owner

            owner = owner_folder(parse_owner(owner))
        return os.path.join(self["home"], "users", owner)

    def check_owner(self) -> None:
        """Refuse an owner who is not the machine's, as `ProcessContext.check_owner` does.

        Raises: ValueError; Invalid for what is no owner.
        """
        if self["owner"] != "me":
            from commonplace.core.spaces import is_space

            if is_space(self["owner"]):
                raise ValueError("the owner is a space")
        if os.path.isdir(os.path.join(self.owner_folder, BY_SERVER)):
            raise ValueError("the owner is a user who is served from this home")


def read_quick(environ: Mapping[str, str], cwd: str) -> QuickSettings:
    """Read the settings of `QUICK`: environment, then project's files, then the user's file.

    Raises:
        ValueError: A file of the user cannot be read, or is not valid.
    """
    home = os.path.expanduser("~")
    home = home if os.path.isabs(home) else ""
    given: dict[str, tuple[Any, Origin]] = {
        key: (environ[name], Origin(name, cwd, home))
        for key, (name, _, _) in QUICK.items()
        if environ.get(name)
    }
    try:
        start = _parsed("project", *given["project"]) if "project" in given else cwd
    except ValueError:  # who asks for the project is told
        start = cwd
    of_project = project_files(start, home)
    files = [*of_project, (user_settings_file(environ), True)]
    for path, trusted in files:
        if os.path.isfile(path):
            origin = Origin(path, os.path.dirname(path), home, typed=True)
            for key, value in _read_file(path, trusted=trusted).items():
                given.setdefault(key, (value, origin))
    strangers = [path for path, trusted in of_project if not trusted]
    return QuickSettings(given, environ, home, strangers)


def _read_file(path: str, *, trusted: bool) -> dict[str, Any]:
    """The settings of a file that are ours to read; a project's that is broken has none."""
    import tomllib

    from commonplace.core.plain_files import open_regular

    try:
        with open_regular(path) as file:
            tables = tomllib.loads(file.read(LARGEST).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as exc:
        if trusted:
            raise ValueError(f"{path} cannot be read") from exc
        return {}
    found = {}
    for key in QUICK:
        section, _, name = key.rpartition(".")
        table = tables.get(section, {}) if section else tables
        if isinstance(table, dict) and name in table and (trusted or _may_set(key, table[name])):
            found[key] = table[name]
    return found


def _may_set(key: str, value: object) -> bool:
    """Whether a project's file, which may be a stranger's, may set this."""
    return key in _FROM_PROJECT and isinstance(value, str) and bool(value)


def _parsed(key: str, value: Any, origin: Origin) -> Any:
    try:
        return QUICK[key][1](value, origin)
    except (CommonplaceError, TypeError, AttributeError) as exc:
        raise ValueError(f"{key} is not valid") from exc
