"""What the value of a setting may be: parsers of texts and TOML values, and what defaults are.

Reads no file and no environment, and never shows what may be a key. Imports little: a hook parses.
"""

from __future__ import annotations

import os
import re

from commonplace.core.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from zoneinfo import ZoneInfo

ENV_PREFIX = "COMMONPLACE_"

_EMBED_MODEL = "WB_EMBED_MODEL"
_EMBED_MODELS = {"miniLM": "minilm-l6-v2", "e5": "e5-small-v2"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# A key's variable: upper case, so that a key put there by mistake is refused, and unseen.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_PRICE = re.compile(r"\d{1,6}(\.\d{1,6})?/\d{1,6}(\.\d{1,6})?", re.ASCII)
_SPACE_ROLE = re.compile(r"(.+?):(read|write|admin)=(.*\S.*)")
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


class Origin:
    """Where a value was found.

    Args:
        name: What errors call it.
        base: The folder from which its paths are relative.
        home: The user's home folder; empty or None where there is none.
        toolsets: The names that exist.
        typed: Whether it came with a type (TOML), not as mere text.
    """

    def __init__(
        self,
        name: str,
        base: str | Path,
        home: str | Path | None,
        toolsets: Sequence[str] = (),
        *,
        typed: bool = False,
    ) -> None:
        self.name = name
        self.base = base
        self.home = home
        self.toolsets = toolsets
        self.typed = typed


class Start:
    """What defaults are made from."""

    def __init__(self, environ: Mapping[str, str], cwd: Path, home: Path | None) -> None:
        self.environ = environ
        self.cwd = cwd
        self.home = home


def unknown(named: str, name: str, known: list[str], *, see: str = "") -> Invalid:
    """The error for a name that is none of these; the nearest one is proposed."""
    from commonplace.core.text import nearest

    near = nearest(name, known)
    hint = f"Did you mean {near}?" if near else see or f"Use one of {', '.join(known)}."
    return Invalid(f"{named[:1].upper()}{named[1:]} is unknown.", hint=hint)


def embed_model(environ: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What WB_EMBED_MODEL, the memory design's name for it, says of the encoder, by key.

    given: what the environment says by key already. Raises: Invalid for an unknown model, or two.
    """
    asked = environ.get(_EMBED_MODEL, "")
    if not asked:
        return {}
    if asked not in _EMBED_MODELS:
        names = " or ".join(_EMBED_MODELS)
        raise Invalid(f"{_EMBED_MODEL} is {asked!r}.", hint=f"Use {names}.")
    profile = _EMBED_MODELS[asked]
    if given.get("encoder.model", profile) != profile:
        raise Invalid(
            f"{_EMBED_MODEL} is {asked!r} and COMMONPLACE_ENCODER is another model.",
            hint="Set one of them.",
        )
    return {"encoder.model": profile}


# Parsers: from a text or a TOML value to what `Settings` holds.


def parse_text(value: object, origin: Origin) -> str:
    """A text that is not empty. Raises: Invalid, as every parser here."""
    if not isinstance(value, str):
        raise Invalid(f"{origin.name} is not a text.", hint="Write a text in quotes.")
    if not value.strip() or _CONTROL.search(value):
        raise Invalid(
            f"{origin.name} is empty or holds a control character.",
            hint="Write a value, or remove it.",
        )
    return value


def parse_owner_name(value: object, origin: Origin) -> str:
    """The machine's owner, which is no space: what is written in a space names its author."""
    from commonplace.core.owner_folders import parse_owner
    from commonplace.core.spaces import is_space, parse_user

    owner = parse_owner(parse_text(value, origin))
    return parse_user(owner) if is_space(owner) else owner  # which refuses it


def parse_retention_text(value: object, origin: Origin) -> str:
    """What retention lets go of, as it was written."""
    from commonplace.journals.timeline.retention import parse_retention

    text = parse_text(value, origin)
    parse_retention(text)
    return text


def names_of(known: Sequence[str]) -> Callable[[object, Origin], tuple[str, ...]]:
    """A parser of names with commas between, or of a list of them; `none` for none."""

    def parse(value: object, origin: Origin) -> tuple[str, ...]:
        parts = value if isinstance(value, (list, tuple)) else parse_text(value, origin).split(",")
        names = [parse_text(part, origin).strip() for part in parts if part]
        if names == ["none"]:
            return ()
        for name in names:
            if name not in known:
                raise unknown(f"{name!r} ({origin.name})", name, [*known, "none"])
        return tuple(dict.fromkeys(names))

    return parse


def parse_space_roles(value: object, origin: Origin) -> tuple[str, ...]:
    """Which groups have which role in a space: a list, or one text with commas between."""
    parts = value if isinstance(value, (list, tuple)) else parse_text(value, origin).split(",")
    texts = tuple(parse_text(part, origin).strip() for part in parts if part)
    for text in texts:
        split_space_role(text)
    return texts


def split_space_role(text: str) -> tuple[str, str, str]:
    """The owner that a space is, a role in it, and the group that has it. Raises: Invalid."""
    from commonplace.core.spaces import parse_space

    found = _SPACE_ROLE.fullmatch(text)
    if found is None:
        raise Invalid(
            f"{text!r} says no role of a group in a space.",
            hint="Write it as team:write=engineers; the roles are read, write and admin.",
        )
    return parse_space(found[1].strip()), found[2], found[3].strip()


def parse_own_secrets(value: object, origin: Origin) -> tuple[str, ...]:
    """Texts and expressions of one's own secrets: a list, or one of them."""
    import json

    from commonplace.core.own_shapes import own_patterns

    try:
        entries = value
        if isinstance(value, str):
            entries = json.loads(value) if value.startswith("[") else [value]
        if not isinstance(entries, (list, tuple)):
            raise ValueError("it is not a list")  # noqa: TRY004, TRY301  said with the others
        texts = tuple(parse_text(entry, origin) for entry in entries)
        own_patterns(texts)
    except (ValueError, RecursionError) as exc:
        raise Invalid(
            f"{origin.name} cannot be taken: {exc}.",
            hint='Give texts, or expressions between slashes: ["/ACME-[0-9A-F]{32}/"].',
        ) from exc
    return texts


def parse_path_text(value: object, origin: Origin) -> str:
    """A path as a text, made absolute from where it was written."""
    text = parse_text(os.fspath(value) if isinstance(value, os.PathLike) else value, origin)
    if text == "~" or text.startswith(("~/", f"~{os.sep}")):
        if not origin.home:
            raise Invalid(
                f"{origin.name} is {text}, but there is no home.", hint="Write it in full."
            )
        return os.path.abspath(os.path.join(origin.home, text[2:]))
    return os.path.abspath(os.path.join(origin.base, text))


def parse_path(value: object, origin: Origin) -> Path:
    """A path, made absolute from where it was written."""
    from pathlib import Path

    return Path(parse_path_text(value, origin))


def parse_folder(value: object, origin: Origin) -> Path:
    """A folder that is there."""
    path = parse_path(value, origin)
    if not os.path.isdir(path):
        raise Invalid(f"{origin.name} is {path}, which is no folder.", hint="Name a folder.")
    return path


def parse_boolean(value: object, origin: Origin) -> bool:
    """True or false; as a text also 1, yes, 0 and no."""
    if isinstance(value, bool):
        return value
    if origin.typed or not isinstance(value, str):
        raise Invalid(f"{origin.name} is not true or false.", hint="Write true or false, unquoted.")
    parsed = _BOOLEANS.get(value.strip().lower())
    if parsed is None:
        raise Invalid(f"{origin.name} is {value!r}.", hint="Use 1, true, yes, 0, false or no.")
    return parsed


def number_of(low: float, high: float) -> Callable[[object, Origin], float]:
    """A parser of numbers of this range, both ends in it."""

    def parse(value: object, origin: Origin) -> float:
        number = value
        if isinstance(value, str) and not origin.typed:
            try:
                number = float(value)
            except ValueError:
                number = None
        if (
            isinstance(number, (int, float))
            and not isinstance(number, bool)
            and low <= number <= high
        ):
            return float(number)
        raise Invalid(
            f"{origin.name} is {value!r}.", hint=f"Write a number of {low:.15g} to {high:,.15g}."
        )

    return parse


def whole_number_of(low: float, high: float) -> Callable[[object, Origin], int]:
    """A parser of whole numbers of this range, both ends in it: half of an entry is no limit."""
    parse_number = number_of(low, high)

    def parse(value: object, origin: Origin) -> int:
        number = parse_number(value, origin)
        if not number.is_integer():
            raise Invalid(
                f"{origin.name} is {value!r}.",
                hint=f"Write a whole number of {low:.15g} to {high:,.15g}.",
            )
        return int(number)

    return parse


def parse_url(value: object, origin: Origin) -> str:
    """An address without a key in it, and without a slash at its end."""
    import urllib.parse

    text = parse_text(value, origin)
    parts = urllib.parse.urlsplit(text.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Invalid(f"{origin.name} is no address.", hint="Write http://… or https://….")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise Invalid(
            f"{origin.name} holds more than an address.",
            hint="Leave out a name, a password, and what follows a question mark.",
        )
    return text.strip().rstrip("/")


def parse_variable(value: object, origin: Origin) -> str:
    """The name of a variable; the error does not show it, for it may be a key."""
    text = parse_text(value, origin)
    # What begins so has a meaning already, to us or to Python.
    if not _VARIABLE.fullmatch(text) or text.startswith((ENV_PREFIX, "PYTHON")):
        raise Invalid(
            f"{origin.name} is not the name of a variable, in upper case and without {ENV_PREFIX}.",
            hint="Name the environment variable that holds the key; put no key into a file.",
        )
    return text


def parse_price(value: object, origin: Origin) -> str:
    """What a million tokens read and a million written cost, as `1/5`."""
    text = parse_text(value, origin).strip()
    if not _PRICE.fullmatch(text):
        raise Invalid(
            f"{origin.name} is {text!r}.",
            hint="Write the dollars for a million tokens read and written, as 1/5 or 0.25/1.25.",
        )
    return text


class OneOf:
    """A parser of these words."""

    __slots__ = ("choices",)

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def __call__(self, value: object, origin: Origin) -> str:
        """The word that a value is. Raises: Invalid for any other."""
        text = parse_text(value, origin).strip().lower()
        if text not in self.choices:
            raise Invalid(f"{origin.name} is {text!r}.", hint=f"Use {' or '.join(self.choices)}.")
        return text


def parse_toolsets(value: object, origin: Origin) -> tuple[str, ...]:
    """Names with commas between, a list of them, or `all`."""
    from commonplace.journals.table import BESIDE_ALL

    parts = value if isinstance(value, (list, tuple)) else parse_text(value, origin).split(",")
    names = [
        parse_text(part, origin).strip()
        for part in parts
        if not isinstance(part, str) or part.strip()
    ]
    if set(names) == {"all"}:
        return tuple(name for name in origin.toolsets if name not in BESIDE_ALL)
    if "all" in names:
        raise Invalid(
            f"The toolset 'all' ({origin.name}) includes every other one.", hint="Use `all` alone."
        )
    for name in names:
        if name not in origin.toolsets:
            named = f"the toolset {name!r} ({origin.name})"
            raise unknown(named, name, [*origin.toolsets, "all"])
    if not names:
        raise Invalid(f"{origin.name} names no toolset.", hint=f"Use {', '.join(origin.toolsets)}.")
    return tuple(dict.fromkeys(names))


def parse_zone(value: object, origin: Origin) -> ZoneInfo:
    """A zone by its IANA name."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    from commonplace.core.text import nearest

    name = parse_text(value, origin)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        near = nearest(name, sorted(available_timezones()))
        hint = f"Did you mean {near}?" if near else "Use an IANA name such as Europe/Berlin."
        raise Invalid(f"Unknown time zone: {name} ({origin.name}).", hint=hint) from exc


# Defaults.


def default_folder(start: Start) -> Path | None:
    """The working directory, where it may be a project or lie in one."""
    from commonplace.core.projects import may_have_project

    return start.cwd if may_have_project(start.cwd, start.home, start.environ) else None


def system_zone(start: Start) -> ZoneInfo:
    """The machine's zone. Raises: Invalid where it is not known."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    named = start.environ.get("TZ", "").removeprefix(":")
    if named and not os.path.isabs(named):
        # tzlocal passes over a TZ that is a POSIX rule, and would tell the machine's zone instead.
        try:
            return ZoneInfo(named)
        except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
            raise _no_zone(f"TZ is {named!r}, not the name of a zone") from exc
    import warnings

    import tzlocal

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ZoneInfo(tzlocal.get_localzone_name() or "UTC")
    except (LookupError, ValueError, OSError) as exc:
        raise _no_zone("its configuration names none, or several") from exc


def _no_zone(why: str) -> Invalid:
    return Invalid(
        f"The system's time zone cannot be told: {why}.", hint="Set COMMONPLACE_TIMEZONE."
    )
