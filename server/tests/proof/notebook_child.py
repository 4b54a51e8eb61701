"""A process that writes in a notebook on Postgres until it is killed, and says what is written.

Run as a program with the database's address.
"""

from __future__ import annotations

import itertools
import sys
from contextlib import closing
from datetime import UTC, datetime

from commonplace.journals.notebook.shared import SharedNotebook
from commonplace_server.postgres.database import Postgres
from commonplace_server.store.notebook import NotebookPostgres
from commonplace_server.wiring.schema import check_database


def now():
    return datetime.now(UTC)


def open_notebook(database):
    """Ann's notebook."""
    store = NotebookPostgres(database, owner="ann", clock=now)
    return SharedNotebook(store, owner="ann", zone=UTC, clock=now)


def write_on(url):
    """Add a line to the overview with each entry; a number is printed once it is acknowledged."""
    with closing(Postgres(url, check=check_database)) as database:
        notes = open_notebook(database)
        section = notes.read_section("a")
        text, version = section.overview, section.version
        for number in itertools.count(len(text.splitlines())):
            text = f"{text}\nLine {number}."
            made = notes.write("a", f"Entry {number}.", overview=text, base_version=version)
            version = made.version
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    write_on(sys.argv[1])
