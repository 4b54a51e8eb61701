"""What several test files of the doors share."""

from __future__ import annotations

import pytest
from tests.doors.shared_world import SharedWorld


@pytest.fixture
def words_only(no_weights, monkeypatch):
    """No weights, and days are cut by UTC."""
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory):
    """One home and project of a module, for what its tests only ask."""
    return SharedWorld(tmp_path_factory.mktemp("shared"))
