"""From settings to a running HTTP server.

Decides who may use what at most; imports the server and the SDK after every cheap error.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace

from commonplace.app import App, Apps
from commonplace.app.process import OF_EVERYBODY
from commonplace.core.clock import utc_now
from commonplace.core.errors import Invalid
from commonplace.journals.table import DEFAULT, JOURNALS, TOOLSETS
from commonplace_server.grants.records import RecordFile
from commonplace_server.http.accesses import AccessLog, AccessUpkeep
from commonplace_server.http.address import check_access, parse_address
from commonplace_server.http.authenticator import Offer
from commonplace_server.http.limits import Limits
from commonplace_server.http.memory_worker import MemoryWork
from commonplace_server.http.metrics import Metrics
from commonplace_server.http.readiness import DatabaseWatch
from commonplace_server.http.scheduler import RollupScheduler
from commonplace_server.http.sign_in import read_sign_in
from commonplace_server.tokens import TokenFile
from commonplace_server.wiring.measures import measure_apps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.app.process import ProcessContext
    from commonplace.config.table import ServeSettings, Settings
    from commonplace.doors.web.guard import KeepsVisitors
    from commonplace_server.grants.records import KeepsRecords
    from commonplace_server.http.address import ListenAddress
    from commonplace_server.http.authenticator import ToMetrics
    from commonplace_server.http.calls import ObservesCalls
    from commonplace_server.http.limits import SharesRates
    from commonplace_server.http.server import BackgroundTask
    from commonplace_server.http.shared_sessions import KeepsSessions
    from commonplace_server.tokens import ReadsTokens
    from commonplace_server.wiring.measures import Metric

_BURST_S = 4


def start(
    settings: Settings,
    address: str,
    *,
    hosts: Sequence[str],
    user_home: Path | None,
    shared_only: bool = False,
    claim: bool = False,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C, then end the process.

    Args:
        settings: Of the machine's own user.
        address: Where to listen, such as `127.0.0.1:8765`.
        hosts: Other names of the server, as behind a proxy.
        user_home: The home folder; None for a user who has none.
        shared_only: Whether only what lies in the database is served, as from a second home of it.
        claim: Whether this home takes the place of another that was served with its database.
        ready: Called with the URL for clients, once they can connect.

    Raises:
        Invalid: The address is not one of this machine, or a name is malformed.
        Denied: Other machines could connect, and there are no tokens; or another home is served
            with the database.
        Unavailable: Another process listens there, or the tokens cannot be read.
    """
    where = parse_address(address, hosts)
    if settings.database.url is None and (settings.serve.most_entries or settings.serve.most_bytes):
        raise Invalid(
            "No database is named, in which serve.most_entries and serve.most_bytes are counted.",
            hint="Set COMMONPLACE_DATABASE_URL, or leave them out.",
        )
    with _shared_state(settings) as state:
        check_access(where, state.tokens, has_issuer=settings.serve.issuer is not None)
        _start(
            settings,
            where,
            state,
            user_home=user_home,
            shared_only=shared_only,
            claim=claim,
            ready=ready,
        )


def _start(
    settings: Settings,
    where: ListenAddress,
    state: _State,
    *,
    user_home: Path | None,
    shared_only: bool,
    claim: bool,
    ready: Callable[[str], None],
) -> None:
    offer = _offer(settings, shared_only=shared_only)
    sign_in = read_sign_in(settings, state.tokens, state.records, offer)
    served = replace(settings, toolsets=offer.toolsets)
    apps = Apps(served, user_home=user_home)
    apps.shared.encoder.start()
    whole = replace(served, read_only=False)
    sample = App(whole, user_home=None, shared=apps.shared).toolsets()
    from commonplace_server.http.server import HttpDoor

    agreeing = _agreeing(settings, shared_only=shared_only, claim=claim)
    watches, measures = _database_measures(served, apps.shared)
    with agreeing as (looking, find_database):
        HttpDoor(
            apps=apps,
            sample=sample,
            tokens=state.tokens,
            sign_in=sign_in,
            sessions=state.sessions,
            visitors=state.visitors,
            rates=state.rates,
            offer=offer,
            screen=apps.shared.screen,
            structured=settings.structured,
            clock=utc_now,
            limits=_limits(served.serve),
            background_tasks=[
                *state.tasks,
                *looking,
                *watches,
                *_background_tasks(served, apps, rolls_up=not shared_only),
            ],
            encoder=apps.shared.encoder,
            find_database=find_database,
            metrics=Metrics(partial(_measured, [partial(measure_apps, apps), *measures])),
            accesses=_accesses(served, sign_in.tokens, apps.shared),
        ).run(where, ready=ready)


class _State(NamedTuple):
    """What a server knows of its clients, and what is done for that beside its answers."""

    tokens: ReadsTokens
    records: KeepsRecords
    sessions: KeepsSessions | None = None
    visitors: KeepsVisitors | None = None
    rates: SharesRates | None = None
    tasks: Sequence[BackgroundTask] = ()


@contextmanager
def _shared_state(settings: Settings) -> Iterator[_State]:
    """What a server knows of its clients: this one alone, or all servers of a database."""
    if settings.database.url is None:
        home = settings.home
        yield _State(TokenFile(home, clock=utc_now), RecordFile(home, clock=utc_now))
        return
    from commonplace_server.state.rates import RateDatabase
    from commonplace_server.state.sessions import SessionDatabase
    from commonplace_server.state.sign_ins import RecordDatabase
    from commonplace_server.state.visitors import VisitorDatabase
    from commonplace_server.wiring.tokens import open_served_tokens

    limits = _limits(settings.serve)
    with open_served_tokens(settings) as (tokens, database, move):
        sessions = SessionDatabase(database, most=limits.sessions, idle_s=limits.session_idle_s)
        rates = RateDatabase(database, per_second=limits.per_second, burst=limits.burst)
        records = RecordDatabase(database, clock=utc_now)
        yield _State(tokens, records, sessions, VisitorDatabase(database), rates, (move,))


def _accesses(
    settings: Settings, tokens: ReadsTokens, shared: ProcessContext
) -> ObservesCalls | None:
    """What keeps account of each call, where the settings say so."""
    if not settings.serve.audit_days:
        return None
    return AccessLog(shared.folder_of, tokens=tokens, clock=utc_now)


def _measured(measures: Sequence[Callable[[], Iterable[Metric]]]) -> Iterator[Metric]:
    """What is read at each asking for metrics."""
    for measure in measures:
        yield from measure()


def _database_measures(
    settings: Settings, shared: ProcessContext
) -> tuple[list[BackgroundTask], list[Callable[[], Iterable[Metric]]]]:
    """What looks at a database for metrics, and what gives the numbers; nothing without one."""
    if settings.database.url is None:
        return [], []
    from commonplace_server.wiring.database_measures import WaitingWatch, measure_pool

    measures: list[Callable[[], Iterable[Metric]]] = [partial(measure_pool, shared)]
    if settings.database.worker_url is None or settings.serve.metrics == "off":
        return [], measures
    watch = WaitingWatch(settings)
    return [watch], [*measures, watch.measure]


def _limits(settings: ServeSettings) -> Limits:
    return Limits(
        per_second=settings.per_second,
        burst=int(settings.per_second * _BURST_S),
        at_once=settings.at_once,
        drain_s=settings.drain_seconds,
    )


def _offer(settings: Settings, *, shared_only: bool) -> Offer:
    """What callers may have at most. Raises: Invalid."""
    chosen = settings.origins.get("toolsets", "default") != "default"
    if shared_only and settings.database.url is None:
        raise Invalid(
            "No database is named: without one each home has journals of its own.",
            hint="Set COMMONPLACE_DATABASE_URL, or leave out --shared-only.",
        )
    return Offer(
        owner=settings.owner,
        toolsets=settings.toolsets if chosen else TOOLSETS,
        usual=settings.toolsets if chosen else (DEFAULT,),
        may_write=not settings.read_only,
        has_pages=not shared_only,
        of_others=frozenset(TOOLSETS) - frozenset(_toolsets_of(OF_EVERYBODY))
        if shared_only
        else frozenset(),
        metrics=cast("ToMetrics", settings.serve.metrics),
    )


def _toolsets_of(journals: Sequence[str]) -> tuple[str, ...]:
    return tuple(x for row in JOURNALS if row.name in journals for x in row.toolsets)


@contextmanager
def _agreeing(
    settings: Settings, *, shared_only: bool, claim: bool
) -> Iterator[tuple[list[BackgroundTask], Callable[[], Mapping[str, str]]]]:
    """Agree with the other servers of a database, where there is one.

    Yields:
        What goes on looking, and what says whether the database can be used.

    Raises: as `start`.
    """
    if settings.database.url is None:
        yield [], dict
        return
    from commonplace_server.wiring.servers import (
        DatabaseLook,
        claim_home,
        open_servers,
    )

    with open_servers(settings) as servers:
        if not shared_only:
            claim_home(settings, servers, instead=claim)
        look = DatabaseLook(settings, servers, serves_home=not shared_only, clock=utc_now)
        watch = DatabaseWatch(look)
        yield [watch], watch.find


def _has_due(apps: Apps, owner: str) -> bool:
    """Whether anything of a user's is due that lies in a database. Raises: Unavailable, Denied."""
    if apps.settings.database.url is None:
        return False
    from commonplace_server.wiring.memories import has_due

    return has_due(apps.shared, owner, utc_now())


def _background_tasks(settings: Settings, apps: Apps, *, rolls_up: bool) -> list[BackgroundTask]:
    """The tasks of the server beside its answers; one that only reads changes no journal."""
    tasks: list[BackgroundTask] = []
    if days := settings.serve.audit_days:
        tasks.append(AccessUpkeep(settings.home / "users", days=days, clock=utc_now))
    if settings.read_only:
        return tasks
    grace = timedelta(minutes=settings.timeline.grace_minutes)
    users = settings.home / "users"
    is_worker = settings.database.worker_url is not None
    if rolls_up:
        tasks.append(
            RollupScheduler(
                apps,
                users=users,
                grace=grace,
                clock=utc_now,
                # A worker finds who is due in the database without asking for each.
                has_due=lambda owner: not is_worker and _has_due(apps, owner),
            )
        )
    if is_worker:
        tasks.append(MemoryWork(apps, utc_now))
    return tasks
