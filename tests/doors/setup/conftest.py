"""A home and a machine for the tests of `commonplace setup`."""

from __future__ import annotations

import os

import pytest

from commonplace.doors.setup.clients import Machine


@pytest.fixture
def home(tmp_path):
    """The user's home."""
    return tmp_path / "home"


@pytest.fixture
def machine(home):
    """This machine, as `setup` sees it."""
    return Machine(platform="linux", home=home, environ=os.environ)
