"""Chronicle's tools over databases of one test."""

from __future__ import annotations

import pytest
from tests.verbs.chronicle_world import ChronicleWorld


@pytest.fixture
def open_world(tmp_path):
    """Opens a world over this test's home and project; several share the database."""
    made = []

    def open_(**rest):
        made.append(ChronicleWorld(tmp_path / "home", tmp_path / "project", **rest))
        return made[-1]

    yield open_
    for each in made:
        each.close()


@pytest.fixture
def world(open_world):
    """One world."""
    return open_world()
