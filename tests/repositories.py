"""Real repositories for tests: the git command, with no configuration of this machine."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def _no_configuration() -> dict[str, str]:
    return {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(folder: Path, *words: str | Path) -> str:
    """What a git command prints, with no configuration but the repository's."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    return subprocess.run(
        ["git", *identity, "-C", folder, *words],
        env=_no_configuration(),
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


def bring(folder: Path, commits: Iterable[tuple[str, str, str]], *, at: int) -> None:
    """Many commits by hand in one process, and the folder with them.

    Args:
        folder: Of a repository that has a commit, and nothing uncommitted.
        commits: (message, path, content), oldest first.
        at: When the first is from, in seconds; each is a second later than the one before.
    """
    branch = git(folder, "symbolic-ref", "HEAD").strip()
    stream = [f"reset {branch}\nfrom {branch}^0\n\n"]
    for number, (message, path, content) in enumerate(commits):
        stream += [
            f"commit {branch}\ncommitter Ann <ann@example.org> {at + number} +0000\n",
            f"data {len(message.encode())}\n{message}\n",
            f"M 100644 inline {path}\ndata {len(content.encode())}\n{content}\n",
        ]
    run = ["git", "-C", folder, "fast-import", "--quiet"]
    subprocess.run(run, input="".join(stream), text=True, check=True, env=_no_configuration())
    git(folder, "reset", "-q", "--hard")
