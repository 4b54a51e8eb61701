"""Users' memories in a Postgres of a test, with the worker of the same process."""

from __future__ import annotations

from contextlib import ExitStack

import psycopg

from commonplace.app import App
from commonplace.app.process import ProcessContext
from commonplace.config.settings import read_settings
from commonplace.memory import Memory
from commonplace_server.wiring.memories import open_worker
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot

# What these hold is ours, not anybody's memory; and the log of calls is left out, as agreed.
_NOT_OF_A_USER = (
    "applied_migrations",
    "wb_tool_invocation_log",
    "wb_leases",
    "wb_upkeep",
    "cp_served_home",
    "cp_revoked_tokens",
    "cp_settings",
    "cp_tokens",
)
PACKING_IS_DUE = """
    UPDATE wb_index SET unpacked_at = unpacked_at - interval '1 day';
    UPDATE applied_migrations SET at = at - interval '1 day'
"""
"""What was written until now has waited for a day, and so has the index since its migration."""


class PostgresMemoryWorld:
    """Each opening has a pool of its own, as a process would; the worker runs before a search."""

    def __init__(self, database, folder, *, worker=True):
        self.database = database
        self.clock = FrozenClock()
        self.slot = ReadySlot(HashingEncoder())
        self.settings = read_settings(
            flags={
                "home": str(folder / "data"),
                "timezone": "UTC",
                "database.url": database.app_url,
                "database.worker_url": database.worker_url,
            },
            environ={},
            cwd=folder,
            home=None,
        )
        self._has_worker = worker
        self._worker = None
        self._open_workers = ExitStack()
        self._opened = []

    def open(self, user):
        made = Memory(user, settings=self.settings, clock=self.clock, encoder=self.slot)
        if self._has_worker:
            self._work_before(made.service.finder(), "find", "newest", "listed")
            self._work_before(made.service.filing(), "catch_up", "settle")
        self._opened.append(made)
        return made

    def beside(self, memory, *users):
        """These users' memories in the process of another's, closed with the world."""
        made = [memory.beside(user) for user in users]
        self._opened += made
        return made

    def _work_before(self, asked, *names):
        """Have the worker at work before a search looks."""
        for name in names:
            verb = getattr(asked, name)
            setattr(asked, name, lambda *args, verb=verb: (self.work(), verb(*args))[1])

    def app(self):
        return App(self.settings, user_home=None, clock=self.clock, encoder=self.slot)

    def use(self, encoder):
        self.slot = ReadySlot(encoder)
        self._worker = None

    @property
    def worker(self):
        """The worker of this world, opened when it is first used."""
        if self._worker is None:
            shared = ProcessContext(self.settings, encoder=self.slot)
            self._worker = self._open_workers.enter_context(open_worker(shared, self.clock))
        return self._worker

    def work(self):
        """What a worker does with what waits now."""
        return self.worker.work()

    def run(self, statement, *values):
        """As a program of the application's own, whose role is as ours."""
        with psycopg.connect(self.database.app_url) as conn:
            conn.execute("SET LOCAL app.user_id = 'ann'")
            conn.execute(statement, values)

    def traces(self, text):
        """Tables, indexes' tables, and what the planner has sampled of them."""
        found = []
        for (table,) in self._tables():
            row = self.database.rows(
                f"SELECT 1 FROM {table} AS each WHERE lower(each::text) LIKE %s LIMIT 1",
                f"%{text.lower()}%",
            )
            found += [table] if row else []
        sampled = self.database.rows(
            "SELECT tablename FROM pg_stats WHERE schemaname = 'public'"
            " AND lower(concat(most_common_vals::text, histogram_bounds::text,"
            " most_common_elems::text)) LIKE %s",
            f"%{text.lower()}%",
        )
        return found + [f"the statistics of {table}" for (table,) in sampled]

    def bytes_of(self, user):
        kept = []
        for (table,) in self._tables():
            if table in _NOT_OF_A_USER:
                continue
            rows = self.database.rows(
                f"SELECT each::text FROM {table} AS each WHERE user_id = %s ORDER BY 1", user
            )
            kept.append((table, rows))
        return repr(kept).encode()

    def _tables(self):
        return self.database.rows(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        )

    def close(self):
        for made in self._opened:
            made.close()
        self._open_workers.close()
