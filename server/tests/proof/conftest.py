"""One database, what users and workers do to it, and children that are killed."""

from __future__ import annotations

import pytest
from server.tests.memory_postgres_world import PostgresMemoryWorld
from server.tests.proof.memory_children import Children


@pytest.fixture
def world(database, tmp_path):
    """Settings and stores of a database's users; no worker runs."""
    made = PostgresMemoryWorld(database, tmp_path, worker=False)
    yield made
    made.close()


@pytest.fixture
def children():
    """Starts other processes; those left are killed at the end."""
    made = Children()
    yield made
    made.close()
