"""Owns how trees are compared: which files differ between two commits, and what lies in one.

Never guesses at a rename. What git refuses is Unavailable or Denied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.journals.git.commit import EMPTY_TREES

if TYPE_CHECKING:
    from commonplace.journals.git.repo import GitRepository

_NO_MODE = b"000000"
REGULAR = "100644"
FOLDER = "040000"
_FILES = (REGULAR, "100755")


class TreeEntry(Struct, frozen=True):
    """What lies under a path of a tree: a file, a link or another repository, by its mode."""

    mode: str
    blob: str

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode in _FILES


class TreeChange(Struct, frozen=True):
    """What lay under a path, and what lies there; None for nothing."""

    before: TreeEntry | None
    after: TreeEntry | None

    @property
    def is_file(self) -> bool:
        """Whether a regular file lay there, or lies there, and nothing else."""
        return all(x is None or x.is_file for x in (self.before, self.after))


def compare_trees(repo: GitRepository, older: str, newer: str) -> dict[str, TreeChange]:
    """What differs between two commits, by path; an empty name stands for nothing at all."""
    if older == newer or not (older or newer):
        return {}
    empty = EMPTY_TREES[len(older or newer)]
    ran = repo.git.run(
        [
            *("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--full-index"),
            *("--no-ext-diff", "--no-textconv", "--ignore-submodules=none"),
            *("--end-of-options", older or empty, newer or empty),
        ]
    )
    tokens = ran.out.split(b"\0")[:-1]
    found: dict[str, TreeChange] = {}
    for facts, path in zip(tokens[::2], tokens[1::2], strict=True):
        was, now, old, new, _ = facts[1:].split(b" ")
        found[path.decode("utf-8", "surrogateescape")] = TreeChange(
            _entry(was, old), _entry(now, new)
        )
    return found


def list_tree(repo: GitRepository, commit: str) -> dict[str, TreeEntry]:
    """All that lies in a commit's tree, by path."""
    return {
        path: change.after
        for path, change in compare_trees(repo, "", commit).items()
        if change.after is not None
    }


def read_file(repo: GitRepository, commit: str, path: str) -> tuple[TreeEntry, bytes] | None:
    """What lies under a path of a commit, with its bytes; None for nothing; one call of git.

    A folder has no bytes here. Raises: Invalid for a newline or NUL in a path.
    """
    if not commit:
        return None
    folder, _, name = path.rpartition("/")
    found, tree = repo.read_objects([f"{commit}:{path}", f"{commit}:{folder}"])
    if found is None or tree is None:
        return None
    content = found.content if found.kind == "blob" else b""
    return TreeEntry(_mode_in(tree.content, name, digits=len(found.name)), found.name), content


def _mode_in(tree: bytes, name: str, *, digits: int) -> str:
    """The mode of a name in the bytes of a tree: `mode name NUL object`, one after the other."""
    wanted = name.encode("utf-8", "surrogateescape")
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, found = tree[at:end].partition(b" ")
        if found == wanted:
            return mode.decode("ascii").zfill(len(_NO_MODE))
        at = end + 1 + digits // 2
    return _NO_MODE.decode("ascii")


def _entry(mode: bytes, blob: bytes) -> TreeEntry | None:
    return None if mode == _NO_MODE else TreeEntry(mode.decode("ascii"), blob.decode("ascii"))
