"""Users' memories on SQLite in a folder of a test, with an encoder that hashes words."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from commonplace.config.settings import read_settings
from commonplace.core.owner_folders import owner_folder
from commonplace.memory import Memory
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot


class SqliteMemoryWorld:
    """Each opening is a process of its own, as far as files go."""

    def __init__(self, folder, **environ):
        self.home = folder / "data"
        self.clock = FrozenClock()
        self.slot = ReadySlot(HashingEncoder())
        self.settings = read_settings(
            flags={"home": str(self.home), "timezone": "UTC"},
            environ=environ,
            cwd=folder,
            home=None,
        )
        self._opened = []

    def open(self, user):
        made = Memory(user, settings=self.settings, clock=self.clock, encoder=self.slot)
        self._opened.append(made)
        return made

    def beside(self, memory, *users):
        """These users' memories in the process of another's, closed with the world."""
        made = [memory.beside(user) for user in users]
        self._opened += made
        return made

    def use(self, encoder):
        self.slot = ReadySlot(encoder)

    def folder(self, user):
        return self.home / "users" / owner_folder(user)

    def run(self, statement, *values):
        file = self.folder("ann") / "memory" / "memory.db"
        with closing(sqlite3.connect(file)) as conn, conn:
            conn.execute(statement.replace("%s", "?"), values)

    def traces(self, text):
        sought = (text.encode(), text.lower().encode())
        return [
            str(path)
            for path in self.home.rglob("*")
            if path.is_file() and any(each in path.read_bytes() for each in sought)
        ]

    def bytes_of(self, user):
        files = sorted(path for path in self.folder(user).rglob("*") if path.is_file())
        return b"".join(
            path.name.encode() + path.read_bytes()
            for path in files
            if not path.name.endswith("-shm")
        )

    def close(self):
        for made in self._opened:
            made.close()
