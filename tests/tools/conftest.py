"""The world that tests of tools over several journals begin in."""

from __future__ import annotations

import pytest
from tests.tools.recall_world import RecallWorld


@pytest.fixture
def world(tmp_path):
    """One user with a home and projects, closed at the end."""
    made = RecallWorld(tmp_path)
    yield made
    made.close()
