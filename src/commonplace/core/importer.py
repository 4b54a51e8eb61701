"""The port of importers: what reads another program's entries, and the values that it gives.

Never reads a file itself. Stable: importers of other distributions are written against it, see
`docs/adding-an-importer.md`.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field

from commonplace.core.text import opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EARLIEST = datetime(11, 1, 1, tzinfo=UTC)
LATEST = datetime(9980, 1, 1, tzinfo=UTC)
_MILLISECONDS = 1e11
"""A number of seconds this large would be the year 5138: it counts milliseconds."""
_SHOWN = 60

A_LINK = "a link to another place"
"""Why a file of a folder is left out: links are not followed, which may lead to anything."""


class ForeignEntry(Struct, frozen=True, kw_only=True):
    """An entry of another program.

    Attributes:
        id: By which the program, or failing that its reader, knows it again.
        text: All of it.
        at: When it was written there, in aware UTC; None where nothing says so.
        where: Its place in what is read, for people: `line 7`, `row 12 of memories`.
        kind: What the program calls its kind; empty where it has none.
        tags: As the program has them, without their sign.
        metadata: What else is kept of it.
        is_dated: Whether `at` is its own time, and not that of its file.
        month_first: What `at` is where the date there can be read as two days, and the month
            stands first; None for a date that is one day.
        said: That date, in words for people.
        read_as: The encoding that its bytes were guessed to have; empty for a known one.
    """

    id: str
    text: str
    at: datetime | None
    where: str
    kind: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_dated: bool = True
    month_first: datetime | None = None
    said: str = ""
    read_as: str = ""


class NotTaken(Struct, frozen=True, kw_only=True):
    """Something that is not brought in.

    Attributes:
        why: In words that are the same for all of its kind.
        where: Its place in what is read, for people; may be empty.
        count: How many there are.
    """

    why: str
    where: str = ""
    count: int = 1


Read: TypeAlias = ForeignEntry | NotTaken
Into: TypeAlias = Literal["private", "timeline"]


class Importer(Protocol):
    """What reads the entries of one program, and changes none of its files: a module, or an object.

    Attributes:
        title: The program, as its users call it.
        takes: What PATH is, for people: `its journal file or folder`.
        into: The journal that fits: `private` for diaries, `timeline` for what assistants kept.
    """

    title: str
    takes: str
    into: Into

    def find(self, home: str, environ: Mapping[str, str], /) -> Sequence[str]:
        """Where the program keeps its entries on this machine, as far as that can be known.

        Args:
            home: The user's home folder.
            environ: The environment, which may say that it keeps them elsewhere.
        """

    def read(self, path: str, /, *, zone: tzinfo) -> Iterator[Read]:
        """The entries of a file or a folder, in its order, one after another.

        Args:
            path: Of a file or a folder that is there.
            zone: In which times without one are read.

        Raises:
            Invalid: It is not the program's, or breaks off; names the file, the line and the value.
            NotFound, Denied, Unavailable.
        """


def instant_of(value: object, zone: tzinfo = UTC) -> datetime:
    """The instant that a value of another program names.

    Args:
        value: ISO 8601, or a number of seconds or milliseconds since 1970.
        zone: For a time that names none.

    Raises:
        ValueError: It is not a time, or lies outside the calendar; the message is for people.
    """
    shown = f"{opening(str(value), _SHOWN)!r} is not a time"
    try:
        match value:
            case float() | int() if not isinstance(value, bool):
                at = datetime.fromtimestamp(
                    value / 1000 if abs(value) > _MILLISECONDS else value, UTC
                )
            case str():
                at = datetime.fromisoformat(value.strip())
                at = (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
            case _:
                at = EARLIEST - timedelta(days=1)
    except (ValueError, OverflowError, OSError) as exc:
        raise ValueError(shown) from exc
    return check_calendar(at, value)


def check_calendar(at: datetime, value: object) -> datetime:
    """An instant in UTC. Raises: ValueError, with what was read, outside the calendar."""
    with suppress(OverflowError):
        at = at.astimezone(UTC)
        if EARLIEST <= at < LATEST:
            return at
    raise ValueError(f"{opening(str(value), _SHOWN)!r} is not a time")


def text_in(value: object) -> str:
    """A value where a text belongs; empty where it is none."""
    return value if isinstance(value, str) else ""


def texts_in(value: object) -> tuple[str, ...]:
    """The texts of a list, or of names between commas, once each; of anything else none."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)):
        return ()
    names = (" ".join(x.split()) for x in listed if isinstance(x, str))
    return tuple(dict.fromkeys(x for x in names if x))
