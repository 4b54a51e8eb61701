"""Postgres as every room uses it: a pool that hands a connection out only with an owner.

Never hands one out without, never to a role that row level security does not hold for, and never
waits for a server longer than its deadline.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias, TypeVar

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from commonplace.core.errors import CommonplaceError, Denied, Internal, Invalid, Lost, Unavailable
from commonplace.core.expiring import is_revealed
from commonplace.core.owner_folders import parse_owner
from commonplace.core.standstill import LONGEST_S, came_at, seconds
from commonplace.db.queries import read_queries
from commonplace_server.postgres.address import PROBE_S, parse_address
from commonplace_server.postgres.errors import (
    MIGRATE_HINT,
    Late,
    TranslatedPostgres,
    is_out_of_step,
    ours,
)
from commonplace_server.postgres.hosts import connect_to_leader
from commonplace_server.postgres.of_many import OfMany
from commonplace_server.postgres.pool_use import PoolUse
from commonplace_server.postgres.quota import OverQuota
from commonplace_server.postgres.replaced import UNKNOWN, find_timeline, is_replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from psycopg.abc import PQGen

    from commonplace_server.postgres.quota import Quota

DEADLINE_S = LONGEST_S
"""The longest that a transaction may take, the server's answers included.

A frozen server breaks no connection: who asks it is told so before another takes its place, which
takes Patroni 20 s at the least. Its locks outlast a standstill that is not taken for one.
"""

MOVING_S = 600.0
"""The same for all of a user's entries of a journal, which are moved whole."""

CONNECTIONS = 8

_Answer = TypeVar("_Answer")

Commit: TypeAlias = Literal["synced", "soon"]
"""Whether a commit waits for the disk. soon: what is derived, or a log's line."""

_log = logging.getLogger(f"commonplace.{__name__}")
_TAKE_S = 6.0
_TAKE_STEP_S = 2.0
# A BEGIN is answered at once, unless the server is frozen or a proxy has no session left.
_BEGIN_S = 6.0
_SILENT_S = 1.0
_IDLE_S = 5.0
_GRACE_S = 1.0
_TICK_S = 0.1
_CLOSE_S = 2.0
# After so many runs a statement would be prepared unasked: never.
_ON_REQUEST = 1 << 30
# Servers from this version on limit a transaction as a whole.
_ENDS_STOPPED = 170_000
_ROLES_HINT = (
    "Connect as commonplace_app, a worker as commonplace_worker; `commonplace memory migrate`"
    " makes both."
)


@cache
def queries() -> Mapping[str, str]:
    """What is asked of Postgres about itself, by name."""
    return read_queries("commonplace_server.postgres", "queries.sql")


def statement(text: str) -> sql.SQL:
    """A query of ours for the driver; never text with a value in it."""
    return sql.SQL(text)


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that gives up at its deadline: a frozen server answers nothing for ever.

    No timeout of the server or of TCP helps there. deadline: monotonic seconds; None while idle.
    Where no pooler stands between, what is asked with `prepare` is parsed once, and may be planned
    once for all: for queries alone that look rows up by their keys, of whoever has few or many.
    timeline: The database's number and the primary's; see `replaced`.
    plans_for_all: Whether its transaction plans for no user in particular, as the index asks of it.
    is_shared: Whether several questions share its transaction, which a write of theirs ends.
    absent: What its user has nothing of, where a shared transaction was told so; see `MemoryTimes`.
    read_change: As of which change its transaction read a user's docs; see `OwnerTransaction`.
    """

    deadline: float | None = None
    timeline = UNKNOWN
    plans_for_all = False
    is_shared = False
    absent: frozenset[str] = frozenset()
    read_change: tuple[str, int] | None = None

    @classmethod
    def connect(cls, conninfo: str = "", **given: Any) -> Self:
        """Connect to the server that leads, of several; see `hosts`."""
        return connect_to_leader(conninfo, partial(super().connect, **given))

    def wait(self, gen: PQGen[Any], interval: float = _TICK_S, timeout: float | None = None) -> Any:
        """Wait for the server, at most until the deadline."""
        left_s = _IDLE_S if self.deadline is None else self.deadline - time.monotonic()
        if timeout is not None:
            left_s = min(left_s, timeout)
        try:
            return super().wait(gen, interval, timeout=max(left_s, _TICK_S))
        except psycopg.errors._WaitTimeout:  # noqa: SLF001  what the driver's own deadlines raise
            # Whatever comes now belongs to a question that nobody waits for.
            self.pgconn.finish()
            raise Late("deadline") from None


class _SharedTransaction(NamedTuple):
    """A transaction that several questions share, until when others may, and what ends it."""

    conn: Connection
    until: float
    ending: ExitStack


class _Joint(threading.local):
    """The transactions that a thread shares.

    Attributes:
        owner: Whose rows the shared one is of; empty outside of one.
        shared: The transaction that questions share.
        is_used: Whether a question is being asked in it.
        whole: The owner and the connection of `one_transaction`.
        many: That of `of_many`.
    """

    owner = ""
    shared: _SharedTransaction | None = None
    is_used = False
    whole: tuple[str, Connection] | None = None
    many: OfMany[Connection] | None = None


class Postgres:
    """One database, its connections shared by all threads of a process; opened at its first use.

    Thread-safe; not to be carried over a fork.

    Args:
        url: An address as libpq takes it; nothing of it but host and name is ever shown.
        check: Called with a connection before the first one is handed out; see `refuse_unguarded`.
        most: The number of connections that may be open.
        quota: What each user may keep; what is moved or forgotten is never refused.
        refuse: Called before what a user keeps is committed; what it raises rolls it back.
        has_name: Whether errors name the database: not where strangers may read them.
    """

    def __init__(
        self,
        url: str,
        *,
        check: Callable[[Connection, str], None],
        most: int = CONNECTIONS,
        deadline_s: float = DEADLINE_S,
        quota: Quota | None = None,
        refuse: Callable[[], None] = lambda: None,
        has_name: bool = True,
    ) -> None:
        self._conninfo, name, self.place = parse_address(url)
        self.name = name if has_name else "The database"
        self._check = check
        self._most = most
        self._deadline_s = deadline_s
        self._quota = quota
        self._refuse = refuse
        self.refused = 0  # writes, by the quota
        self._lock = threading.Lock()
        self._made: ConnectionPool[Connection] | None = None
        self._closed = False
        # Found frozen or away, it is looked for shortly before anything waits for it again.
        self._is_away = False
        self._looking: Future[None] | None = None
        self._silence = -math.inf, Lost("")  # until when, and what is raised for it
        self._joint = _Joint()

    @contextmanager
    def owner_transaction(
        self, owner: str, *, commit: Commit = "synced", deadline_s: float | None = None
    ) -> Iterator[Connection]:
        """A transaction that sees the rows of one owner and no others.

        Committed at the end, rolled back on any error.

        Args:
            owner: Whose rows.
            commit: What the end waits for; see `Commit`.
            deadline_s: The most seconds it may take; the pool's own limit where it is None.

        Raises:
            Invalid: That is not an owner.
            Lost: The connection broke, and it is not known whether the commit was done.
            Unavailable, Denied, Conflict: The server cannot do it now, or refuses it.
        """
        if (whole := self._joint.whole) is not None and whole[0] == owner:
            yield whole[1]
            return
        if (many := self._joint.many) is not None:
            with many.turned_to(parse_owner(owner)):
                yield many.conn
            return
        # A thread that waited for a second connection with one in its hand could wait for ever.
        self._part()
        with self._transaction(parse_owner(owner), commit, deadline_s) as conn:
            yield conn

    @contextmanager
    def one_transaction(self, owner: str) -> Iterator[None]:
        """Have all that this thread reads and writes of an owner be one transaction.

        All of it is committed at the end, or none of it. Inside, one thing is asked after another,
        and a statement that fails ends it. Raises: as `owner_transaction`.
        """
        if self._joint.whole is not None:
            yield
            return
        with self.owner_transaction(owner) as conn:
            self._joint.whole = owner, conn
            try:
                yield
            finally:
                self._joint.whole = None

    @contextmanager
    def of_many(self) -> Iterator[None]:
        """Have all that this thread reads and writes of many owners be one transaction.

        It sees one owner's rows at a time, and is committed whole or not at all. Other writers of
        these owners wait until then: name few. Raises: as `owner_transaction`.
        """
        with self._transaction("", "synced", None) as conn, conn.pipeline():
            self._joint.many = OfMany(conn, _turn_to)
            try:
                yield
            finally:
                self._joint.many = None

    @contextmanager
    def together(self, owner: str) -> Iterator[None]:
        """Have the questions this thread asks by `shared_transaction` share one transaction.

        It begins at the first question, and ends at the last, or before anything has its own.
        Without it a search of a user of 100 records takes 10 ms more of 30 on a busy machine, and
        2.2 ms of processors more beside 11.
        """
        joint = self._joint
        if joint.owner:
            yield
            return
        joint.owner = owner
        try:
            yield
        finally:
            joint.owner = ""
            self._part()

    @contextmanager
    def shared_transaction(self, owner: str, *, last: bool = False) -> Iterator[Connection]:
        """The transaction of `together`, where this thread has one for the owner; else one alone.

        For questions, and for writes that may be lost: the commit waits for no disk, and a commit
        that fails is only logged.

        Args:
            owner: Whose rows.
            last: Whether the transaction ends here, since this thread asks nothing more soon.

        Raises: as `owner_transaction`.
        """
        if self._joint.owner != owner or self._joint.is_used or self._joint.whole is not None:
            with self.owner_transaction(owner, commit="soon") as conn:
                yield conn
            return
        conn = self._join()
        self._joint.is_used = True
        try:
            yield conn
        except BaseException:
            self._drop()
            raise
        finally:
            self._joint.is_used = False
        if last:
            self._part()

    @contextmanager
    def across(
        self, *, commit: Commit = "synced", deadline_s: float | None = None
    ) -> Iterator[Connection]:
        """A transaction without an owner: nothing is there but what a policy gives the role.

        For the worker's queue, which holds no text, and for what servers agree on.
        """
        with self._transaction("", commit, deadline_s) as conn:
            yield conn

    def ask_in_one_trip(
        self, owner: str, query: sql.SQL, given: Mapping[str, Any], *, deadline_s: float
    ) -> list[tuple[Any, ...]]:
        """The rows of one statement that is a transaction of its own, and travels as a whole.

        No lock of it outlives the statement: a process that is stopped here keeps nobody waiting.
        Asked again where a connection was lost, so only for what may be done twice; its commit
        waits for no disk. Raises: as `owner_transaction`.
        """
        late = time.monotonic() + deadline_s
        whose = parse_owner(owner)
        with TranslatedPostgres(self.name, self.place):
            conn, rows = self._begun(lambda conn: _ask_whole(conn, whose, query, given, late), late)
            self._give_back(conn)
        return rows

    @contextmanager
    def bare(self, *, deadline_s: float | None = None) -> Iterator[Connection]:
        """A connection without owner and transaction, for what cannot be in one: a VACUUM."""
        with TranslatedPostgres(self.name, self.place):
            conn = self._take(time.monotonic() + (deadline_s or self._deadline_s))
            try:
                yield conn
            finally:
                self._give_back(conn)

    def use(self) -> PoolUse:
        """How busy its connections are; asks the server nothing."""
        with self._lock:
            made = self._made
        found = {} if made is None else made.get_stats()
        size = found.get("pool_size", 0)
        return PoolUse(
            open=size,
            in_use=size - found.get("pool_available", 0),
            waits=found.get("requests_queued", 0),
            wait_s=found.get("requests_wait_ms", 0) / 1000,
        )

    def close(self) -> None:
        """Close the connections; may be called twice."""
        with self._lock:
            self._closed = True
            made, self._made = self._made, None
        if made is not None:
            made.close(_CLOSE_S)

    def _join(self) -> Connection:
        """The connection of this thread's shared transaction, which begins now if there is none."""
        joint = self._joint
        if joint.shared is not None and time.monotonic() > joint.shared.until:
            self._part()
        if joint.shared is None:
            ending = ExitStack()
            owner = parse_owner(joint.owner)
            conn = ending.enter_context(self._transaction(owner, "soon", None))
            conn.is_shared = True
            joint.shared = _SharedTransaction(conn, time.monotonic() + self._deadline_s / 2, ending)
        return joint.shared.conn

    def _part(self) -> None:
        """End this thread's shared transaction, unless it is being asked something."""
        joint = self._joint
        if joint.shared is None or joint.is_used:
            return
        shared, joint.shared = joint.shared, None
        try:
            shared.ending.close()
        except CommonplaceError as exc:  # what was read is read
            _log.warning("A transaction of questions did not end well: %s", exc)

    def _drop(self) -> None:
        """End this thread's shared transaction with the failure that is being handled."""
        shared, self._joint.shared = self._joint.shared, None
        if shared is not None:
            shared.ending.__exit__(*sys.exc_info())

    @contextmanager
    def _transaction(
        self, owner: str, commit: Commit, deadline_s: float | None
    ) -> Iterator[Connection]:
        late = time.monotonic() + (deadline_s or self._deadline_s)
        with TranslatedPostgres(self.name, self.place):
            # What waits for no disk is nothing that a user keeps.
            is_held = self._quota is not None and commit == "synced" and not is_revealed()
            quota = str(self._quota) if is_held else ""
            conn, _ = self._begun(lambda conn: _begin(conn, owner, commit, quota, late), late)
            try:
                yield conn
                if owner and commit == "synced":
                    self._refuse()
                self._commit(conn)
            except BaseException as exc:
                self._is_away = self._is_away or isinstance(exc, Late)
                if is_out_of_step(exc):
                    conn.close()
                _roll_back(conn)
                if isinstance(exc, OverQuota):
                    with self._lock:
                        self.refused += 1
                raise
            finally:
                self._give_back(conn)

    def _begun(
        self, begin: Callable[[Connection], _Answer], late: float
    ) -> tuple[Connection, _Answer]:
        """A connection on which something has begun, and its answer; stale ones are replaced."""
        # Once the server was restarted, each that idled is stale; nothing was done on it yet.
        for left in reversed(range(self._most + 1)):
            conn = self._take(late)
            try:
                answer = begin(conn)
            except BaseException as exc:
                self._is_away = self._is_away or isinstance(exc, Late)
                is_stale = self._is_stale(exc)
                if is_stale:
                    conn.close()
                _roll_back(conn)
                self._give_back(conn)
                if not (is_stale and left and time.monotonic() < late):
                    raise
            else:
                self._is_away = False
                return conn, answer
        raise AssertionError("unreachable")

    def _is_stale(self, exc: BaseException) -> bool:
        if is_out_of_step(exc):
            return True
        if isinstance(exc, Late) or not isinstance(exc, psycopg.OperationalError):
            return False
        return isinstance(ours(exc, self.name, self.place), Lost)

    def _commit(self, conn: Connection) -> None:
        if conn.info.transaction_status == pq.TransactionStatus.INERROR:
            raise Internal("A transaction was to be kept after one of its statements had failed.")
        try:
            conn.commit()
        except psycopg.Error as exc:
            # A server that dies over a commit, its disk being full, may have kept it.
            is_dead = exc.diag.severity_nonlocalized == "PANIC"
            if isinstance(found := ours(exc, self.name, self.place), Lost) or is_dead:
                raise Lost(
                    f"{self.name} at {{place}} broke off at the end: it may or may not be done.",
                    place=self.place,
                    hint="Check whether it is done, or call it again with the same key.",
                ) from None
            raise found from None

    def _take(self, late: float) -> Connection:
        pool = self._pool()
        if self._is_away:
            self._probe()
        until = min(late, time.monotonic() + _TAKE_S)
        while True:
            # Each request makes the pool try again; between its own tries it waits ever longer.
            left_s = until - time.monotonic()
            try:
                conn = pool.getconn(timeout=min(max(left_s, 0.01), _TAKE_STEP_S))
            except PoolTimeout:
                if left_s <= _TAKE_STEP_S:
                    # Why there is none stands in the pool's log alone; a try of our own says it.
                    self._first_look()
                    raise
            else:
                if is_replaced(conn.timeline):
                    conn.close()
                    pool.putconn(conn)
                    continue
                # The server's own limits come first: after them the connection is whole.
                conn.deadline = late + _GRACE_S
                return conn

    def _give_back(self, conn: Connection) -> None:
        conn.deadline = None
        pool = self._made
        if pool is None:
            conn.close()
            return
        pool.putconn(conn)

    def _pool(self) -> ConnectionPool[Connection]:
        if self._made is None and not self._closed:
            self._first_look(wait_s=PROBE_S if self._is_away else None)
        with self._lock:
            if self._closed:
                raise Unavailable(
                    f"{self.name} at {{place}} is closed.", hint="Open it again.", place=self.place
                )
            if self._made is None:
                # What it warns of our errors say, and once.
                logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
                self._made = ConnectionPool(
                    self._conninfo,
                    connection_class=Connection,
                    configure=self._configure,
                    kwargs={"autocommit": True, "prepare_threshold": None},
                    min_size=0,
                    max_size=self._most,
                    open=True,
                    timeout=_TAKE_S,
                    reconnect_timeout=1.0,
                    num_workers=2,
                    name=self.name,
                )
            return self._made

    def _configure(self, conn: Connection) -> None:
        conn.timeline = find_timeline(conn, self.name, self.place)
        row = conn.execute(statement(queries()["process"])).fetchone()
        # A pooler names another: its next transaction may be in a session that knows no plan.
        if row == (conn.info.backend_pid,):
            conn.execute(queries()["keep_plans"].encode())
            conn.prepare_threshold = _ON_REQUEST

    def _probe(self) -> None:
        """Look whether the server is back; full, it is: what the pool has may be used."""
        try:
            self._first_look(wait_s=PROBE_S)
        except Lost:
            raise
        except Unavailable:
            return

    def _first_look(self, *, wait_s: int | None = None) -> None:
        """Connect once: whatever is wrong is raised at once, and as what it is.

        One thread looks for all that ask meanwhile, so that no crowd comes upon a full server.
        """
        silent_until, silence = self._silence
        if came_at() < silent_until:
            raise copy(silence)  # of a crowd each would wait again, in turn
        with self._lock:
            look = self._looking or Future()
            is_mine, self._looking = self._looking is None, look
        if is_mine:
            try:
                self._look(wait_s)
                look.set_result(None)
            except CommonplaceError as exc:
                look.set_exception(exc)
            finally:
                with self._lock:
                    self._looking = None
                look.cancel()  # unless it ended: those who wait are woken all the same
        try:
            look.result()
        except CancelledError:
            raise Unavailable(
                f"{self.name} at {{place}} was not looked at.", hint="Try again.", place=self.place
            ) from None

    def _look(self, wait_s: int | None) -> None:
        given = {} if wait_s is None else {"connect_timeout": str(wait_s)}
        began = time.monotonic()
        try:
            with (
                TranslatedPostgres(self.name, self.place),
                connect(make_conninfo(self._conninfo, **given), deadline_s=_BEGIN_S) as conn,
            ):
                conn.timeline = find_timeline(conn, self.name, self.place)
                self._check(conn, self.name)
        except CommonplaceError as exc:
            # One that refuses, having too many, is there.
            self._is_away = isinstance(exc, Lost)
            if isinstance(exc, Lost) and time.monotonic() - began >= _SILENT_S:
                # Without its traceback, which would keep what each call of the crowd had in hand.
                self._silence = seconds(), copy(exc)
            raise
        with self._lock:
            made, was_away, self._is_away = self._made, self._is_away, False
        if was_away and made is not None:
            # Those that idle may lead to one that is frozen: each would cost its BEGIN's time.
            made.drain()


def connect(conninfo: str, *, deadline_s: float = DEADLINE_S) -> Connection:
    """A connection of its own, in no pool. Close it."""
    conn = Connection.connect(conninfo, autocommit=True, prepare_threshold=None)
    conn.deadline = time.monotonic() + deadline_s
    return conn


def refuse_unguarded(conn: Connection, name: str, *, tables: Sequence[str]) -> None:
    """Refuse a role for which row level security would not hold, and tables it does not guard.

    Raises: Denied; Unavailable where a table is missing.
    """
    found = conn.execute(statement(queries()["role"])).fetchone()
    assert found is not None
    role, is_super, bypasses, encoding = found
    if is_super or bypasses:
        why = "is a superuser" if is_super else "bypasses row level security"
        raise Denied(
            f"The role {role} {why}: it would see the rows of every user.",
            hint=_ROLES_HINT,
        )
    rows = conn.execute(statement(queries()["tables"]), {"names": list(tables)}).fetchall()
    for table, is_owned, is_guarded in rows:
        if is_owned:
            raise Denied(
                f"The role {role} owns {table}: it could lift its guard.",
                hint=_ROLES_HINT,
            )
        if not is_guarded:
            raise Denied(f"{table} has no forced row level security.", hint=MIGRATE_HINT)
    if missing := sorted({*tables} - {row[0] for row in rows}):
        raise Unavailable(f"{name} has no table {missing[0]}.", hint=MIGRATE_HINT)
    if encoding != "UTF8":
        raise Invalid(f"{name} is encoded in {encoding}.", hint="Make one in UTF8.")


def _begin(conn: Connection, owner: str, commit: Commit, quota: str, late: float) -> None:
    left_s = max(late - time.monotonic(), 0.001)
    # In whole seconds there are few of them, and each is put together once.
    left_ms = math.ceil(left_s) * 1000 if left_s > 1 else math.ceil(left_s * 1000)
    whole, conn.deadline = conn.deadline, min(time.monotonic() + _BEGIN_S, late + _GRACE_S)
    ends_stopped = conn.info.server_version >= _ENDS_STOPPED
    conn.plans_for_all, conn.is_shared, conn.absent = False, False, frozenset()
    conn.read_change = None
    conn.execute(_beginning(owner, commit, quota, left_ms, ends_stopped))
    conn.deadline = whole


def _ask_whole(
    conn: Connection, owner: str, query: sql.SQL, given: Mapping[str, Any], late: float
) -> list[tuple[Any, ...]]:
    left_ms = math.ceil(max(late - time.monotonic(), 0.001)) * 1000
    ends_stopped = conn.info.server_version >= _ENDS_STOPPED
    begin = _beginning(owner, "soon", "", left_ms, ends_stopped)
    asked = psycopg.ClientCursor(conn).mogrify(query, given).encode()
    found = conn.execute(b"%b;\n%b\n;COMMIT" % (begin, asked))
    while found.description is None and found.nextset():
        pass
    return found.fetchall()


def _turn_to(conn: Connection, owner: str) -> None:
    conn.execute(_turning(owner))


@lru_cache(maxsize=1024)
def _turning(owner: str) -> bytes:
    return statement(queries()["turn_to"]).format(owner=sql.Literal(owner)).as_bytes()


@lru_cache(maxsize=1024)
def _beginning(owner: str, commit: Commit, quota: str, left_ms: int, ends_stopped: bool) -> bytes:  # noqa: FBT001  for the cache
    names = ["begin", *["end_stopped"] * ends_stopped, *["commit_soon"] * (commit == "soon")]
    names += ["quota"] * bool(quota)
    asked = statement("; ".join(queries()[name] for name in names))
    # A statement's end, after which the connection is whole, comes before the session's.
    return asked.format(
        whole_ms=sql.Literal(left_ms + round(_GRACE_S * 1000)),
        owner=sql.Literal(owner),
        quota=sql.Literal(quota),
        statement_ms=sql.Literal(left_ms),
        lock_ms=sql.Literal(max(left_ms // 2, 1)),
        idle_ms=sql.Literal(left_ms),
    ).as_bytes()


def _roll_back(conn: Connection) -> None:
    """End the transaction with nothing of it; a connection that cannot is closed."""
    if conn.closed:
        return
    conn.deadline = time.monotonic() + _IDLE_S
    try:
        if conn.info.transaction_status == pq.TransactionStatus.ACTIVE:
            conn.close()
        else:
            conn.rollback()
    except psycopg.Error:
        with suppress(psycopg.Error):
            conn.close()
