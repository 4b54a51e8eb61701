"""Builds commits that follow one another, with the hashes that git gives them, and asks no git.

Pure.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from commonplace.journals.git.portable import FileChange, WholeCommit

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILE, _FOLDER = "100644", "40000"


class CommitChain:
    """A history of one line, from its first commit on."""

    def __init__(self) -> None:
        self._root = _Folder()
        self._parents: list[str] = []

    def add(self, *, message: str, author: str, files: Mapping[str, str]) -> WholeCommit:
        """The next commit.

        author: as git writes it, with a time; files: those that it puts, by their paths.
        """
        for path, text in files.items():
            self._root.put(path.split("/"), text)
        head = [f"tree {self._root.hash()}", *(f"parent {each}" for each in self._parents)]
        said = "\n".join([*head, f"author {author}", f"committer {author}", "", message])
        made = WholeCommit(
            commit=_hash("commit", said.encode()),
            author=author,
            committer=author,
            message=message,
            parents=self._parents,
            changes=[
                FileChange(path=path, mode=_FILE, text=text) for path, text in sorted(files.items())
            ],
        )
        self._parents = [made.commit]
        return made


class _Folder:
    """A folder of files and folders, whose hash is counted again where one of them changed."""

    def __init__(self) -> None:
        self._inside: dict[str, str | _Folder] = {}
        self._hash = ""

    def put(self, path: list[str], text: str) -> None:
        """Put a file in place, in folders that are made if need be."""
        self._hash = ""
        name, *below = path
        if not below:
            self._inside[name] = _hash("blob", text.encode())
            return
        folder = self._inside.get(name)
        if not isinstance(folder, _Folder):
            folder = self._inside[name] = _Folder()
        folder.put(below, text)

    def hash(self) -> str:
        """The hash of its tree."""
        if not self._hash:
            # git orders a folder as if its name ended with a slash.
            inside = sorted(
                self._inside.items(),
                key=lambda x: f"{x[0]}{'/' * isinstance(x[1], _Folder)}".encode(),
            )
            self._hash = _hash("tree", b"".join(_line(name, each) for name, each in inside))
        return self._hash


def _line(name: str, each: str | _Folder) -> bytes:
    mode, made = (_FILE, each) if isinstance(each, str) else (_FOLDER, each.hash())
    return f"{mode} {name}\0".encode() + bytes.fromhex(made)


def _hash(kind: str, content: bytes) -> str:
    whole = f"{kind} {len(content)}\0".encode() + content
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest()
