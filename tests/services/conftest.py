"""The world that tests of services which reach over several journals begin in."""

from __future__ import annotations

import pytest
from tests.tools.recall_world import ALL, RecallWorld


@pytest.fixture
def world(tmp_path):
    made = RecallWorld(tmp_path)
    yield made
    made.close()


@pytest.fixture
def app(world):
    """Every journal but transcripts, and each tool of theirs."""
    return world.open(COMMONPLACE_TOOLSETS=ALL)
