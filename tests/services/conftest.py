"""The world that tests of services which reach over several journals begin in."""

from __future__ import annotations

import pytest
from tests.tools.conftest import world
from tests.tools.recall_world import ALL

__all__ = ["app", "world"]


@pytest.fixture
def environ(request):
    """Where a test of a journal is of memory on a server, the database of that test."""
    if request.node.get_closest_marker("on_postgres") is None:
        return {}
    return {"COMMONPLACE_DATABASE_URL": request.getfixturevalue("database").app_url}


@pytest.fixture
def app(world, environ):
    """Every journal but transcripts, and each tool of theirs."""
    return world.open(COMMONPLACE_TOOLSETS=ALL, **environ)
