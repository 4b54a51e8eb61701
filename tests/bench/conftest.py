"""A place for the servers that a bench starts."""

from __future__ import annotations

import shutil

import pytest
from examples.postgres import PostgresServer


@pytest.fixture
def scratch():
    """A folder that the user of a Postgres server can reach, with room for a socket's path."""
    folder = PostgresServer().folder
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
