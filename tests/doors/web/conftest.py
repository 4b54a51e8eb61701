"""The world of the pages."""

from __future__ import annotations

import pytest
from tests.doors.web.web_world import WebWorld


@pytest.fixture
def world(words_only):
    """A home without entries, and its pages."""
    made = WebWorld()
    yield made
    made.close()


@pytest.fixture
def browser(world):
    """A browser that was let in."""
    return world.browser()
