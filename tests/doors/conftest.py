"""What several test files of the doors share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.doors.shared_world import SharedWorld

from commonplace.core.files import make_folder


@pytest.fixture
def words_only(no_weights, monkeypatch):
    """No weights, and days are cut by UTC."""
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")


@pytest.fixture
def move_home(tmp_path, monkeypatch):
    """What has the next commands run with another home, new or former."""

    def move(name):
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        for variable, below in (
            ("HOME", ""),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_STATE_HOME", ".local/state"),
        ):
            monkeypatch.setenv(variable, str(home / below))
        return home

    return move


@pytest.fixture(scope="session")
def known_hashes(tmp_path_factory):
    """The record of the installed weights' hashes that a home keeps; a skip where none are."""
    from tests.inference.encoder.small_models import minilm_weights

    home = tmp_path_factory.mktemp("weights")
    minilm_weights(home)
    return home / "models" / "verified.json"


@pytest.fixture
def known_weights(own_world, known_hashes, patient_searches):
    """The installed weights, in a home that knows them: no command hashes their 90 MB again."""
    models = Path.home() / ".local" / "share" / "commonplace" / "models"
    make_folder(models)
    shutil.copy2(known_hashes, models)


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory):
    """One home and project of a module, for what its tests only ask."""
    return SharedWorld(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session")
def small_model(tmp_path_factory):
    """The folder of a model as e5-small-v2 is published, with few numbers in it."""
    from tests.inference.encoder.small_models import write_published

    return write_published(tmp_path_factory.mktemp("small"), dimensions=384)


@pytest.fixture
def small_weights(small_model, monkeypatch):
    """Weights that are loaded at once, where what a vector means is not the subject."""
    monkeypatch.setenv("COMMONPLACE_ENCODER", "e5-small-v2")
    monkeypatch.setenv("COMMONPLACE_ENCODER_FOLDER", str(small_model))
