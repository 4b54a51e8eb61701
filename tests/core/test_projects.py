"""A project is where somebody works, not where a program was started."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from commonplace.core.projects import find_project, is_system_folder


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/", True),
        ("/usr", True),
        ("/usr/share/app", True),
        ("/System/Volumes", True),
        ("/Applications/Claude.app/Contents", True),
        ("/tmp", True),
        ("/tmp/work", False),
        ("/home", True),
        ("/home/ann/work", False),
        ("/usrlocal", False),
        ("/workspace", False),
        ("/opt/project", False),
    ],
)
def test_system_folders_of_unix(path, system):
    """Folders of the system with all below them, shared folders alone."""
    assert is_system_folder(PurePosixPath(path), {}) is system


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("C:\\", True),
        ("D:\\", True),
        ("C:\\Windows\\System32", True),
        ("c:\\windows", True),
        ("E:\\Win\\System32", True),
        ("C:\\Program Files\\App", True),
        ("C:\\work", False),
        ("C:\\Users\\ann\\work", False),
    ],
)
def test_system_folders_of_windows(path, system):
    """Roots of drives, Windows wherever it lies, programs; case does not count."""
    assert is_system_folder(PureWindowsPath(path), {"SystemRoot": "E:\\Win"}) is system


def test_the_working_directory_is_the_project(tmp_path):
    """An ordinary folder below the home, and one elsewhere."""
    home = tmp_path / "ann"
    work = home / "work"
    work.mkdir(parents=True)
    assert find_project(work, home, {}) == work
    assert find_project(tmp_path / "elsewhere", home, {}) == tmp_path / "elsewhere"


def test_the_home_and_what_holds_it_are_no_projects(tmp_path):
    """Notes about everything belong to the user, not to a project; links are seen through."""
    home = tmp_path / "ann"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    assert find_project(home, home, {}) is None
    assert find_project(tmp_path / "link", home, {}) is None
    assert find_project(tmp_path, home, {}) is None


def test_without_a_real_home_only_the_system_is_left_out():
    """Containers run with no home, or with / as home."""
    for home in (None, Path("/")):
        assert find_project(Path("/workspace"), home, {}) == Path("/workspace")
        assert find_project(Path("/usr/lib"), home, {}) is None
