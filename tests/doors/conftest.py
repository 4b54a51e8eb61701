"""What several test files of the doors share."""

from __future__ import annotations

import pytest


@pytest.fixture
def words_only(tmp_path, monkeypatch):
    """No weights: words are enough there, and quick; days are cut by UTC."""
    empty = tmp_path / "no weights"
    empty.mkdir()
    monkeypatch.setenv("COMMONPLACE_ENCODER_FOLDER", str(empty))
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
