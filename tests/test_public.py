"""The library's public face."""

from __future__ import annotations

from pathlib import Path

import pytest

import commonplace
from commonplace.core import errors


def test_every_public_name_is_there_and_in_order():
    """`__all__` is sorted, and each name in it can be had."""
    assert commonplace.__all__ == sorted(commonplace.__all__)
    for name in commonplace.__all__:
        assert getattr(commonplace, name).__name__ == name


def test_every_error_is_public():
    """Whoever calls the library can catch what it raises."""
    tree = {kind.__name__ for kind in errors.CommonplaceError.__subclasses__()}
    assert tree <= set(commonplace.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """As with any module."""
    with pytest.raises(AttributeError, match="no attribute 'Journal'"):
        _ = commonplace.Journal


def test_a_program_writes_and_finds_without_a_server(tmp_path):
    """The same tools that a model is offered are the library's verbs."""
    environment = {"COMMONPLACE_HOME": str(tmp_path / "data"), "COMMONPLACE_TIMEZONE": "UTC"}
    settings = commonplace.read_settings(environ=environment, cwd=tmp_path, home=tmp_path)
    app = commonplace.App(settings, user_home=tmp_path)
    try:
        app.private.service().process_thoughts(feelings="Relieved that the build is green.")
        found = app.private.service().search_journal(query="green build")
    finally:
        app.close()
    assert found.facts["count"] == 1
    assert Path(found.facts["results"][0]["path"]).read_text().endswith("build is green.\n")
