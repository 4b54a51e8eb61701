"""The setting that chooses what finds the nearest vectors."""

import importlib.util
import sys

import pytest

from commonplace.app.backends import VECTORS
from commonplace.app.process import ProcessContext
from commonplace.config.settings import read_settings
from commonplace.core.errors import Invalid, Unavailable


def _settings(tmp_path, **environ):
    home = {"HOME": str(tmp_path), "COMMONPLACE_HOME": str(tmp_path / "ours")}
    return read_settings(environ={**home, **environ}, cwd=tmp_path, home=tmp_path)


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


def test_a_missing_package_says_what_to_install(tmp_path, monkeypatch):
    """Before anything is searched."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.delitem(sys.modules, "commonplace.index.chroma", raising=False)
    shared = ProcessContext(_settings(tmp_path, COMMONPLACE_INDEX_VECTORS="chroma"))
    with pytest.raises(Unavailable, match="chromadb is not installed") as caught:
        _ = shared.indexes
    assert caught.value.hint == "Install commonplace[chroma]."
