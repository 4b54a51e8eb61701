"""The wiring of what the servers of one database agree on: whose journals are served.

Decides alone whether a home's journals may be served beside a database.
"""

from __future__ import annotations

import json
import logging
import platform
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from commonplace.app.process import OF_EVERYBODY
from commonplace.config.settings import render_setting
from commonplace.core.errors import CommonplaceError, Denied, Lost
from commonplace.core.files import make_folder, replace_file
from commonplace.core.values import Problem
from commonplace.journals.table import JOURNALS
from commonplace_server.postgres.database import Postgres
from commonplace_server.postgres.migrate import OtherSchema
from commonplace_server.postgres.servers import OtherSetting, ServedHome, Servers
from commonplace_server.wiring.addresses import address_in
from commonplace_server.wiring.schema import check_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock

FILE = "served-home.json"
"""In a home: its own id, and the database that it is the served home of, as far as it knows."""

OF_WORKERS = ("timezone", "timeline.feed", "timeline.grace_minutes")
"""The settings on which depends what servers and workers alike store, or delete."""

OF_SERVERS = (
    *OF_WORKERS,
    *("timeline.retention", "transcripts.retain_days", "undo.keep_days", "secrets.at_write"),
    *("serve.most_entries", "serve.most_bytes"),
)
"""The same of servers."""

_log = logging.getLogger(f"commonplace.{__name__}")
_CONNECTIONS = 2
_LOOK_S = 2.0
_CLOCK_OFF_S = 30.0
"""How far a clock may be off and nothing is said: half of what the code of a sign-in lasts."""


@contextmanager
def open_servers(settings: Settings) -> Iterator[Servers]:
    """What the servers of the settings' database agree on. Raises: Invalid."""
    database = Postgres(address_in(settings, "url"), check=check_database, most=_CONNECTIONS)
    try:
        yield Servers(database)
    finally:
        database.close()


def claim_home(settings: Settings, servers: Servers, *, instead: bool = False) -> None:
    """Have this home be the one whose journals are served with a database.

    Args:
        settings: The home's.
        servers: Of the database.
        instead: Whether it takes the place of another.

    Raises:
        Denied: Another home is.
        Unavailable: The database does not answer, and this home is not known to be the one.
    """
    path = settings.home / FILE
    own_id, of_database = _read(path)
    home = ServedHome(id=own_id or str(uuid4()), place=place_of(settings))
    try:
        served = servers.claim(home, instead=instead)
    except CommonplaceError as exc:
        if own_id and of_database == _named(servers):
            _log.warning("It is not known whether another home is served by now: %s", exc)
            return
        raise exc.extended(
            "Until it answers, it is not known whether the journals of this home may be served.",
            hint="With --shared-only no journal on disk is served.",
        ) from exc
    is_ours = served.id == home.id
    noted = {"home": home.id, "database": _named(servers) if is_ours else ""}
    if noted != {"home": own_id, "database": of_database}:
        make_folder(settings.home)
        replace_file(path, json.dumps(noted).encode(), mode=0o600)
    if not is_ours:
        raise Denied(
            f"{servers.name} at {{place}} is served beside the journals of another home,"
            f" {served.place}: what the machine's own owner writes into the journals here would be"
            " missing there.",
            place=servers.place,
            hint="Serve only what lies in the database, with --shared-only; or, if that home is"
            " gone for good, take its place with --claim.",
        )


def announce_settings(
    settings: Settings, servers: Servers, names: Sequence[str] = OF_SERVERS
) -> bool:
    """Let the others of the database know what these settings are; log which are other there.

    False where nothing can be written, as where it does not answer, or a standby does.
    """
    with suppress(CommonplaceError):
        for other in servers.announce_settings(_own(settings, names), place_of(settings)):
            problem = _describe_other(settings, other)
            _log.warning("%s %s", problem.what, problem.hint)
        return True
    return False


def find_unlike(settings: Settings, servers: Servers, names: Sequence[str]) -> Sequence[str]:
    """Which of these settings who announced them last has otherwise, or nobody announced.

    Raises: Unavailable.
    """
    return servers.find_unlike(_own(settings, names))


class DatabaseLook:
    """Says why a server cannot use its database, in words without its name or its place.

    By what was looked at, empty where nothing is wrong. A schema that became newer while it was in
    use does not count: servers of two versions may work during an upgrade. A clock that is off is
    logged alone: if it is the database's, all servers would be taken for unfit at once.

    The settings are announced with the first look at a database that can be written, which a
    standby is once it is promoted; those of a server that only reads never: nothing is stored by
    them, and it compares what its answers depend on.

    Args:
        settings: The home's.
        servers: Of the database.
        serves_home: Whether the journals of this home are served.
        clock: Gives the time of this server.
    """

    def __init__(
        self, settings: Settings, servers: Servers, *, serves_home: bool, clock: Clock
    ) -> None:
        self._settings = settings
        self._own = _own(settings, _compared(settings))
        self._has_announced = settings.read_only
        self._servers = servers
        self._serves_home = serves_home
        self._clock = clock
        self._is_off = False

    def __call__(self) -> Mapping[str, str]:
        """Look now."""
        began = self._clock()
        try:
            state = self._servers.read_state(self._own, deadline_s=_LOOK_S)
        except OtherSchema:
            return {"database": "", "migrations": "not those of this program"}
        except Lost:
            return {"database": "does not answer"}
        except CommonplaceError as exc:
            return {"database": exc.code}
        self._compare_clocks(began, state.at)
        others = state.others
        if not self._has_announced and not state.is_read_only:
            self._has_announced = announce_settings(self._settings, self._servers)
            others = () if self._has_announced else others  # who differs looks next
        # One that offers no writes may ask a standby.
        is_unfit = state.is_read_only and not self._settings.read_only
        found = {"database": "", "writes": "refused" if is_unfit else "", "migrations": ""}
        if self._serves_home:
            own_id, _ = _read(self._settings.home / FILE)
            is_ours = state.served is None or state.served.id == own_id
            found["home"] = "" if is_ours else "another is served"
        names = ", ".join(other.name for other in others)
        found["settings"] = f"{names} other than elsewhere" if names else ""
        return found

    def _compare_clocks(self, began: datetime, at: datetime) -> None:
        """Log, once while it lasts, that this server's clock is another than the database's."""
        ended = self._clock()
        # It was read there some time between the question and the answer.
        ahead_s = (min(max(at, began), ended) - at).total_seconds()
        is_off = abs(ahead_s) > _CLOCK_OFF_S
        if is_off and not self._is_off:
            way = "ahead of" if ahead_s > 0 else "behind"
            _log.warning(
                "The clock of this server is %d s %s that of the database: sign-ins, what expires"
                " and phrases such as last hour go by it. Have both set by the network.",
                abs(ahead_s),
                way,
            )
        self._is_off = is_off


def describe_servers(settings: Settings, servers: Servers) -> Iterator[Problem | str]:
    """Whose journals are served with a database, and which settings are other elsewhere.

    Raises: Unavailable, Denied.
    """
    state = servers.read_state(_own(settings, _compared(settings)))
    yield _describe_home(settings, state.served)
    for other in state.others:
        yield _describe_other(settings, other)


def describe_others(
    settings: Settings, servers: Servers, names: Sequence[str]
) -> Iterator[Problem]:
    """Which of these settings are other elsewhere. Raises: Unavailable, Denied."""
    for other in servers.find_others(_own(settings, names)):
        yield _describe_other(settings, other)


def _describe_home(settings: Settings, served: ServedHome | None) -> str:
    names = ", ".join(row.name for row in JOURNALS if row.name not in OF_EVERYBODY)
    on_disk = f"The journals on disk of a home's own owner ({names})"
    if served is None:
        return "No home's journals are served with it: the first `commonplace serve` decides."
    own_id, _ = _read(settings.home / FILE)
    if served.id == own_id:
        return f"{on_disk} that are served with it are those of this home."
    return (
        f"{on_disk} that are served with it are those of another home, {served.place}:"
        " here `commonplace serve` takes --shared-only."
    )


def _describe_other(settings: Settings, other: OtherSetting) -> Problem:
    """What a setting is here and elsewhere, and what to do."""
    own = _own(settings, [other.name])[other.name]
    return Problem(
        what=f"The setting {other.name} is {own} here, and {other.value} in {other.place}: what is"
        " stored depends on which of them is asked.",
        hint="Give all servers and workers of the database the same, and start them again.",
    )


def _compared(settings: Settings) -> Sequence[str]:
    """The names of the settings that a server should have like the others."""
    return OF_WORKERS if settings.read_only else OF_SERVERS


def _own(settings: Settings, names: Sequence[str]) -> dict[str, str]:
    """The values of settings as JSON, by name; the order in which journals are named is none."""
    found = {name: render_setting(attrgetter(name)(settings)) for name in names}
    return {x: json.dumps(sorted(y) if isinstance(y, list) else y) for x, y in found.items()}


def place_of(settings: Settings) -> str:
    """Where this process is, for people."""
    return f"{settings.home} on {platform.node()}"


def _named(servers: Servers) -> str:
    return f"{servers.name} at {servers.place}"


def _read(path: Path) -> tuple[str, str]:
    """This home's id, and its database; empty where there is none."""
    try:
        found = json.loads(path.read_bytes())
        return str(UUID(found["home"])), str(found["database"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "", ""
