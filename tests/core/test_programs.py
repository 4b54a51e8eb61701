"""A program is found on the PATH, and never where a repository may have put one."""

from __future__ import annotations

import os

import pytest

from commonplace.core.programs import find_program


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A function that lays an executable `tool` into a folder below tmp_path; tmp_path is the cwd."""
    monkeypatch.chdir(tmp_path)

    def lay(folder):
        path = tmp_path / folder / "tool"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    return lay


def test_the_first_absolute_folder_wins(there, tmp_path, monkeypatch):
    """What is beside goes before the path; its result is absolute."""
    first, second, beside = there("a"), there("b"), there("c")
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert find_program("tool") == first
    assert find_program("tool", beside=str(tmp_path / "c")) == beside
    os.unlink(first)
    assert find_program("tool") == second


@pytest.mark.parametrize("path", ["", ".", "bin", ".:bin:", "./bin"])
def test_the_working_folder_is_no_place_for_programs(there, monkeypatch, path):
    """An empty or relative entry of the path leads into whatever repository one stands in."""
    there(".")
    there("bin")
    monkeypatch.setenv("PATH", path)
    assert find_program("tool") is None
