"""The setting that chooses what finds the nearest vectors."""

import importlib.util
import sys

import pytest

from commonplace.app import App
from commonplace.app.backends import VECTORS
from commonplace.app.process import ProcessContext
from commonplace.config.settings import read_settings
from commonplace.core.errors import Invalid
from commonplace.core.values import Problem
from commonplace.doors.doctor.checks import Doctor
from commonplace_testing import HashingEncoder, ReadySlot


def _settings(tmp_path, **environ):
    home = {"HOME": str(tmp_path), "COMMONPLACE_HOME": str(tmp_path / "ours")}
    return read_settings(environ={**home, **environ}, cwd=tmp_path, home=tmp_path)


@pytest.mark.design("000-14")
def test_the_matrix_is_the_default(tmp_path):
    """Nobody has to choose."""
    assert _settings(tmp_path).index.vectors == "numpy"


def test_each_row_of_the_table_can_be_chosen(tmp_path):
    """And nothing else: an unknown one names the choices."""
    for name in VECTORS:
        chosen = _settings(tmp_path, COMMONPLACE_INDEX_VECTORS=name)
        assert chosen.index.vectors == name
    with pytest.raises(Invalid) as caught:
        _settings(tmp_path, COMMONPLACE_INDEX_VECTORS="faiss")
    assert caught.value.hint == f"Use {' or '.join(VECTORS)}."


NOTE = (
    "chromadb is not installed. numpy compares vectors in its place. "
    'Run `pip install "commonplace-memory[chroma]"`. Or set index.vectors to numpy.'
)


@pytest.fixture
def without_chroma(tmp_path, monkeypatch):
    """An app whose settings name Chroma, on a machine that has none of it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.delitem(sys.modules, "commonplace_chroma.store", raising=False)
    monkeypatch.setenv("COMMONPLACE_INDEX_VECTORS", "chroma")
    settings = read_settings(cwd=tmp_path, home=tmp_path)
    app = App(settings, user_home=tmp_path, encoder=ReadySlot(HashingEncoder()))
    yield app
    app.close()


def test_without_its_package_searches_go_on_and_say_what_to_install(without_chroma):
    """By words and by meaning, as without the setting: the vectors lie in the index's tables."""
    tools = without_chroma.private.service()
    tools.process_thoughts(feelings="A harbour in fog.")
    found = tools.search_journal(query="harbour fog", explain=True)
    assert "A harbour in fog." in found.text
    assert NOTE in found.text
    [hit] = found.facts["results"]
    assert hit["by"] == "both"


def test_without_its_package_doctor_says_what_to_install(without_chroma):
    """A problem that it cannot repair itself; the index is looked at all the same."""
    report = Doctor(without_chroma).examine()
    assert (
        "index",
        Problem(
            what="chromadb is not installed. numpy compares vectors in its place.",
            hint='Run `pip install "commonplace-memory[chroma]"`. Or set index.vectors to numpy.',
        ),
    ) in report.problems
    assert ("index", "Not made yet.") in report.notes


def test_with_its_package_nothing_is_said(tmp_path):
    """The default has what it needs."""
    shared = ProcessContext(_settings(tmp_path))
    assert shared.missing_vectors is None
    shared.close()
