"""The world that tests of verbs over several journals begin in."""

from __future__ import annotations

import pytest
from tests.verbs.recall_world import ALL, RecallWorld


@pytest.fixture
def world(tmp_path, patient_searches):
    """One user with a home and projects, closed at the end."""
    made = RecallWorld(tmp_path)
    yield made
    made.close()


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
