"""What the value of a setting may be: parsers of texts and TOML values, and what defaults are.

Reads no file and no environment, and never shows what may be a key.
"""

from __future__ import annotations

import os
import re
import urllib.parse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from commonplace.config.quick import listed_texts
from commonplace.core.errors import Invalid
from commonplace.core.own_shapes import own_patterns
from commonplace.core.owner_folders import parse_owner
from commonplace.core.projects import find_project
from commonplace.core.text import nearest
from commonplace.journals.table import CLASSIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ENV_PREFIX = "COMMONPLACE_"

_EMBED_MODEL = "WB_EMBED_MODEL"
_EMBED_MODELS = {"miniLM": "minilm-l6-v2", "e5": "e5-small-v2"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# A key's variable: upper case, so that a key put there by mistake is refused, and unseen.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_PRICE = re.compile(r"\d{1,6}(\.\d{1,6})?/\d{1,6}(\.\d{1,6})?", re.ASCII)
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


class Place(NamedTuple):
    """Where a value was found and what it may lean on.

    typed: it came with a type (TOML), not as mere text.
    """

    name: str
    base: Path
    home: Path | None
    toolsets: Sequence[str]
    typed: bool = False


class Start(NamedTuple):
    """What defaults are made from."""

    environ: Mapping[str, str]
    cwd: Path
    home: Path | None


def unknown(named: str, name: str, known: list[str], *, see: str = "") -> Invalid:
    """The error for a name that is none of these; the nearest one is proposed.

    Args:
        named: The name with what it is the name of, as the error says it.
        name: What was given.
        known: What may be given.
        see: What to do where none is near; else all are listed.
    """
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


def parse_text(value: object, place: Place) -> str:
    """A text that is not empty. Raises: Invalid, as every parser here."""
    if not isinstance(value, str):
        raise Invalid(f"{place.name} is not a text.", hint="Write a text in quotes.")
    if not value.strip() or _CONTROL.search(value):
        raise Invalid(
            f"{place.name} is empty or holds a control character.",
            hint="Write a value, or remove it.",
        )
    return value


def parse_owner_name(value: object, place: Place) -> str:
    """An owner."""
    return parse_owner(parse_text(value, place))


def parse_retention_text(value: object, place: Place) -> str:
    """What retention lets go of, as it was written."""
    from commonplace.journals.timeline.retention import parse_retention

    text = parse_text(value, place)
    parse_retention(text)
    return text


def names_of(known: Sequence[str]) -> Callable[[object, Place], tuple[str, ...]]:
    """A parser of names with commas between, or of a list of them; `none` for none."""

    def parse(value: object, place: Place) -> tuple[str, ...]:
        parts = value if isinstance(value, (list, tuple)) else parse_text(value, place).split(",")
        names = [parse_text(part, place).strip() for part in parts if part]
        if names == ["none"]:
            return ()
        for name in names:
            if name not in known:
                raise unknown(f"{name!r} ({place.name})", name, [*known, "none"])
        return tuple(dict.fromkeys(names))

    return parse


def parse_own_secrets(value: object, place: Place) -> tuple[str, ...]:
    """Texts and expressions of one's own secrets: a list, or one of them."""
    try:
        entries = listed_texts(value) if isinstance(value, str) else value
        if not isinstance(entries, (list, tuple)):
            raise ValueError("it is not a list")  # noqa: TRY004, TRY301  said with the others
        texts = tuple(parse_text(entry, place) for entry in entries)
        own_patterns(texts)
    except ValueError as exc:
        raise Invalid(
            f"{place.name} cannot be taken: {exc}.",
            hint='Give texts, or expressions between slashes: ["/ACME-[0-9A-F]{32}/"].',
        ) from exc
    return texts


def parse_path(value: object, place: Place) -> Path:
    """A path, made absolute from where it was written."""
    text = parse_text(str(value) if isinstance(value, Path) else value, place)
    if text == "~" or text.startswith(("~/", f"~{os.sep}")):
        if place.home is None:
            raise Invalid(
                f"{place.name} is {text}, but there is no home.", hint="Write it in full."
            )
        return Path(os.path.abspath(f"{place.home}/{text[2:]}"))
    return Path(os.path.abspath(place.base / text))


def parse_folder(value: object, place: Place) -> Path:
    """A folder that is there."""
    path = parse_path(value, place)
    if not os.path.isdir(path):
        raise Invalid(f"{place.name} is {path}, which is no folder.", hint="Name a folder.")
    return path


def parse_boolean(value: object, place: Place) -> bool:
    """True or false; as a text also 1, yes, 0 and no."""
    if isinstance(value, bool):
        return value
    if place.typed or not isinstance(value, str):
        raise Invalid(f"{place.name} is not true or false.", hint="Write true or false, unquoted.")
    parsed = _BOOLEANS.get(value.strip().lower())
    if parsed is None:
        raise Invalid(f"{place.name} is {value!r}.", hint="Use 1, true, yes, 0, false or no.")
    return parsed


def number_of(low: float, high: float) -> Callable[[object, Place], float]:
    """A parser of numbers of this range, both ends in it."""

    def parse(value: object, place: Place) -> float:
        number = value
        if isinstance(value, str) and not place.typed:
            with suppress(ValueError):
                number = float(value)
        if (
            isinstance(number, (int, float))
            and not isinstance(number, bool)
            and low <= number <= high
        ):
            return float(number)
        raise Invalid(f"{place.name} is {value!r}.", hint=f"Write a number of {low:g} to {high:g}.")

    return parse


def parse_url(value: object, place: Place) -> str:
    """An address without a key in it, and without a slash at its end."""
    text = parse_text(value, place)
    parts = urllib.parse.urlsplit(text.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Invalid(f"{place.name} is no address.", hint="Write http://… or https://….")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise Invalid(
            f"{place.name} holds more than an address.",
            hint="Leave out a name, a password, and what follows a question mark.",
        )
    return text.strip().rstrip("/")


def parse_variable(value: object, place: Place) -> str:
    """The name of a variable; the error does not show it, for it may be a key."""
    text = parse_text(value, place)
    # Variables that begin so are a part of what names a snapshot, which is a file.
    if not _VARIABLE.fullmatch(text) or text.startswith((ENV_PREFIX, "PYTHON")):
        raise Invalid(
            f"{place.name} is not the name of a variable, in upper case and without {ENV_PREFIX}.",
            hint="Name the environment variable that holds the key; put no key into a file.",
        )
    return text


def parse_price(value: object, place: Place) -> str:
    """What a million tokens read and a million written cost, as `1/5`."""
    text = parse_text(value, place).strip()
    if not _PRICE.fullmatch(text):
        raise Invalid(
            f"{place.name} is {text!r}.",
            hint="Write the dollars for a million tokens read and written, as 1/5 or 0.25/1.25.",
        )
    return text


def one_of(*choices: str) -> Callable[[object, Place], str]:
    """A parser of these words."""

    def parse(value: object, place: Place) -> str:
        text = parse_text(value, place).strip().lower()
        if text not in choices:
            raise Invalid(f"{place.name} is {text!r}.", hint=f"Use {' or '.join(choices)}.")
        return text

    return parse


def parse_toolsets(value: object, place: Place) -> tuple[str, ...]:
    """Names with commas between, a list of them, or `all`."""
    parts = value if isinstance(value, (list, tuple)) else parse_text(value, place).split(",")
    names = [
        parse_text(part, place).strip()
        for part in parts
        if not isinstance(part, str) or part.strip()
    ]
    if set(names) == {"all"}:
        return tuple(name for name in place.toolsets if name != CLASSIC)
    if "all" in names:
        raise Invalid(
            f"The toolset 'all' ({place.name}) includes every other one.", hint="Use `all` alone."
        )
    for name in names:
        if name not in place.toolsets:
            named = f"the toolset {name!r} ({place.name})"
            raise unknown(named, name, [*place.toolsets, "all"])
    if not names:
        raise Invalid(f"{place.name} names no toolset.", hint=f"Use {', '.join(place.toolsets)}.")
    return tuple(dict.fromkeys(names))


def parse_zone(value: object, place: Place) -> ZoneInfo:
    """A zone by its IANA name."""
    name = parse_text(value, place)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        from zoneinfo import available_timezones

        near = nearest(name, sorted(available_timezones()))
        hint = f"Did you mean {near}?" if near else "Use an IANA name such as Europe/Berlin."
        raise Invalid(f"Unknown time zone: {name} ({place.name}).", hint=hint) from exc


# Defaults.


def nothing(_start: Start) -> None:
    """The default of what may be left out."""
    return


def default_folder(start: Start) -> Path | None:
    """The working directory, where it may be a project or lie in one."""
    return start.cwd if find_project(start.cwd, start.home, start.environ) else None


def system_zone(start: Start) -> ZoneInfo:
    """The machine's zone. Raises: Invalid where it is not known."""
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


def platform_folder(environ: Mapping[str, str], xdg: str, kind: str) -> Path:
    """Our folder of a kind: where XDG says, else where the system keeps such."""
    named = environ.get(xdg, "")
    if os.path.isabs(named):
        return Path(named) / "commonplace"
    import platformdirs

    return Path(getattr(platformdirs, kind)("commonplace", appauthor=False))
