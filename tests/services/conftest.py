"""The world that tests of services which reach over several journals begin in."""

from __future__ import annotations

import pytest
from tests.tools.conftest import world
from tests.tools.recall_world import ALL

__all__ = ["app", "world"]


@pytest.fixture
def app(world):
    """Every journal but transcripts, and each tool of theirs."""
    return world.open(COMMONPLACE_TOOLSETS=ALL)
