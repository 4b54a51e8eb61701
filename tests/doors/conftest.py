"""What several test files of the doors share."""

from __future__ import annotations

import pytest


@pytest.fixture
def words_only(no_weights, monkeypatch):
    """No weights, and days are cut by UTC."""
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
