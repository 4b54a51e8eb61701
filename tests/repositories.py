"""Real repositories for tests: the git command, with no configuration of this machine."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def git(folder: Path, *words: str | Path) -> str:
    """What a git command prints, with no configuration but the repository's."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    return subprocess.run(
        ["git", *identity, "-C", folder, *words],
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def make_repository(folder: Path) -> Path:
    """A repository with one commit and a folder `src/deep`."""
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "deep" / "file").write_text(f"{folder.name}\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", f"first of {folder.name}")
    return folder


def add_work_tree(repository: Path, folder: Path) -> Path:
    """A linked work tree of a repository, on a branch of its own."""
    git(repository, "worktree", "add", "-q", "-b", folder.name, folder)
    return folder
