"""The library's public face."""

from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.long
def test_a_program_elsewhere_is_checked_by_its_types(tmp_path):
    """Strictly, and by what is installed alone: verbs, values and awaited verbs are known."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", config, program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("Success: no issues found in 1 source file\n", 0)


PROGRAM = """
from typing import Any, assert_type

from commonplace import Chronicle, Library, Memory, Notebook, Private, Timeline, Transcripts
from commonplace.aio import AsyncPrivate


def prompt(journal: Library[Any], question: str) -> str:
    journal.wait(timeout_s=5)
    return journal.context(question)


def tags_of(chronicle: Chronicle) -> tuple[str, ...]:
    return chronicle.search("deployed", tags=["api"]).hits[0].entry.tags


def all_of(memory: Memory) -> list[str]:
    with memory.beside("ann", Private) as private:
        assert_type(private, Private)
        private.save_entry("user_context", "Prefers small commits.")
        private.save_entry("moods", "Calm.")  # type: ignore[arg-type]
        faces: list[Library[Any]] = [memory, private, private.beside("ann", Timeline)]
        faces += [private.beside("ann", Notebook), private.beside("ann", Transcripts)]
        return [prompt(each, "commits") for each in faces]


async def awaited(private: AsyncPrivate) -> tuple[str, ...]:
    ref = await private.save_entry("feelings", "Calm.")
    return (await private.get(ref)).headings
"""
