"""Owns the work tree's files: brings those that a write changed up to date, and no others.

Never overwrites what a person changed there, and never follows a link out of the notebook.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import unicodedata
from typing import TYPE_CHECKING

from commonplace.core.files import translated
from commonplace.journals.gitrepo_commit import EMPTY_TREES, refresh_index
from commonplace.journals.gitrepo_trees import list_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.journals.gitrepo import GitRepo
    from commonplace.journals.gitrepo_trees import Change, Leaf

# Beside git's own files: what is to be brought up to date once the branch has moved.
_NOTE = "commonplace-refresh"
_AT_ONCE = 200
# What a disk answers that can hold no file of a name.
_NAMELESS = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ})
# Of a larger file nothing is held in memory: git itself brings it.
_LARGE = 64 * 1024 * 1024


class WorkTree:
    """The files of one repository's work tree. Used under the notebook's lock alone."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._known: tuple[str, Mapping[str, bytes]] = ("", {})
        self._left: tuple[str | None, dict[str, str]] = (None, {})

    def expect(self, commit: str, files: Mapping[str, str]) -> None:
        """Remember, before the branch moves, what lies in the tree now.

        commit: the branch's, empty where it has none. files: paths, each with the name of its blob
        there, empty where there is none. Survives the end of this process.
        Raises: Unavailable, Denied.
        """
        if self._repo.is_bare:
            return
        # A second attempt begins anew; what an earlier write could not bring up to date stays.
        older, known = self._left
        note = {"older": commit if older is None else older, "files": {**files, **known}}
        path = self._repo.own / _NOTE
        with translated(path), open(path, "w", encoding="utf-8") as file:
            json.dump(note, file)

    def know(self, commit: str, contents: Mapping[str, bytes]) -> None:
        """What files hold in a commit just made, so that git need not be asked for it."""
        self._known = (commit, contents)

    def expect_changes(self, commit: str, changes: Mapping[str, Change]) -> None:
        """Remember, before the branch moves, the files of a tree that another will differ from."""
        files = {
            path: change.before.blob if change.before else ""
            for path, change in changes.items()
            if all(x is None or x.is_file for x in (change.before, change.after))
        }
        self.expect(commit, files)

    def dirty(self, commit: str, changes: Mapping[str, Change]) -> list[str]:
        """Which of the files that are to change a person has changed here, or staged.

        commit: the branch's, empty where it has none. Raises: Unavailable, Denied.
        """
        if self._repo.is_bare or not changes:
            return []
        found = [path for path, change in changes.items() if self._is_edited(path, change)]
        base = commit or EMPTY_TREES[max(x.digits for x in changes.values())]
        ran = self._repo.git.run(
            [*("diff-index", "--cached", "--name-only", "-z"), "--end-of-options", base]
        )
        staged = {x.decode("utf-8", "surrogateescape") for x in ran.out.split(b"\0")}
        return sorted({*found, *(staged & changes.keys())})

    def _is_edited(self, path: str, change: Change) -> bool:
        before, after = change.before, change.after
        if any(x is not None and not x.is_file for x in (before, after)) or not _is_safe(path):
            return False
        try:
            found = _read_plain(self._repo.folder / path)
        except NotADirectoryError:
            return after is not None
        except OSError as exc:
            return exc.errno not in _NAMELESS
        if found is None:
            return before is not None and after is not None
        return not any(x is not None and _is_blob(found, x.blob) for x in (before, after))

    def refresh(self) -> tuple[str, ...]:
        """Bring what was remembered up to the branch; sentences on what was left as it was.

        Raises: Unavailable, Denied.
        """
        if self._repo.is_bare:
            return ()
        older, files = self._read_note()
        if older is None:
            return ()
        newer = self._repo.head().commit
        notes: list[str] = []
        if newer and newer != older:
            notes += self._bring_all(newer, files)
            why = refresh_index(self._repo, older, newer)
            if why:
                notes.append(why)
            if "locked" in why:  # the next write, or the next program, tries again
                self._left = (older, files)
                return tuple(notes)
        with contextlib.suppress(OSError):
            os.unlink(self._repo.own / _NOTE)
        return tuple(notes)

    def _bring_all(self, commit: str, files: Mapping[str, str]) -> Iterator[str]:
        """Bring these files to a commit; sentences on what was left."""
        if self._known[0] == commit and files.keys() <= self._known[1].keys():
            for path, old in files.items():
                yield from filter(None, [self._bring(path, old, self._known[1][path])])
            return
        leaves = list_leaves(self._repo, commit)
        paths = sorted(
            files, key=lambda path: path in leaves
        )  # what goes makes room for what comes
        for start in range(0, len(paths), _AT_ONCE):
            some = paths[start : start + _AT_ONCE]
            sizes = self._repo.read_sizes([leaves[x].blob for x in some if x in leaves])
            small = [x for x in some if x in leaves and sizes.get(leaves[x].blob, 0) <= _LARGE]
            blobs = self._repo.read_objects([leaves[x].blob for x in small])
            contents = {path: blob.content for path, blob in zip(small, blobs, strict=True) if blob}
            for path in some:
                leaf = leaves.get(path)
                if leaf is not None and path not in contents:
                    git = f"{self._repo.typed} restore -- {path}"
                    yield f"{path} is large, and is left to git: {git}."
                    continue
                note = self._bring(path, files[path], contents.get(path))
                if note:
                    yield note
                elif leaf is not None:
                    self._set_mode(path, leaf)

    def _set_mode(self, path: str, leaf: Leaf) -> None:
        """Let a file run, or not, as the tree says."""
        target = self._repo.folder / path
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(os.lstat(target).st_mode)
            wanted = mode | (mode & 0o444) >> 2 if leaf.mode == "100755" else mode & ~0o111
            if wanted != mode:
                os.chmod(target, wanted)

    def _bring(self, path: str, old_blob: str, wanted: bytes | None) -> str:
        """Put the wanted bytes in place of the old ones; a sentence if others lie there."""
        target = self._repo.folder / path
        if not _is_safe(path):
            return f"{path!a} was left alone: no folder holds a file of that name safely."
        if not self._is_inside(target):
            return f"{path} was left alone: a link leads out of the notebook."
        try:
            return self._bring_to(target, path, old_blob, wanted)
        except OSError as exc:
            return f"{path} is committed, but not in the folder: {os.strerror(exc.errno or 0)}."

    def _bring_to(self, target: Path, path: str, old_blob: str, wanted: bytes | None) -> str:
        found = _read_plain(target)
        if found == wanted or (found is None and wanted is None):
            return ""
        if found is None and old_blob:
            return f"{path} was removed in the folder and not committed; it was left so."
        if found is not None and not _is_blob(found, old_blob):
            return f"{path} was edited in the folder and not committed; it was left as it is there."
        if found is not None and wanted is not None and _has_crlf(found, old_blob):
            wanted = wanted.replace(b"\n", b"\r\n")
        self._put(target, wanted)
        return ""

    def _is_inside(self, target: Path) -> bool:
        """Whether every folder on the way is a folder itself, or not there yet."""
        for folder in (x for x in target.parents if x.is_relative_to(self._repo.folder)):
            with contextlib.suppress(FileNotFoundError):
                if not stat.S_ISDIR(os.lstat(folder).st_mode):
                    return False
        return True

    def _put(self, target: Path, content: bytes | None) -> None:
        if content is None:
            os.unlink(target)
            with contextlib.suppress(OSError):
                os.removedirs(target.parent)
            return
        os.makedirs(target.parent, exist_ok=True)
        # Not synced: the commit is the truth, and git brings the file back.
        temp = self._repo.own / f"commonplace-{os.getpid()}-{os.urandom(4).hex()}.tmp"
        try:
            with open(temp, "xb") as file:
                file.write(content)
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temp, stat.S_IMODE(os.lstat(target).st_mode))
            os.replace(temp, target)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temp)
            raise

    def _read_note(self) -> tuple[str | None, dict[str, str]]:
        try:
            # A plain file alone: what else lies there may have no end.
            note = json.loads(_read_plain(self._repo.own / _NOTE) or b"")
            files = {str(k): str(v) for k, v in note["files"].items()}
            return str(note["older"]), files
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None, {}


def _is_safe(path: str) -> bool:
    """Whether a path of a tree leads into the work tree, and not into git's own folder."""
    for part in path.split("/"):
        bare = "".join(c for c in part if unicodedata.category(c) != "Cf").casefold().rstrip(". ")
        if bare in {"", ".git"} or bare.startswith("git~") or "\\" in part or ":" in part:
            return False
    return True


def _read_plain(path: Path) -> bytes | None:
    """The bytes of a regular file; None where nothing is. Raises: OSError, for a link too."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise IsADirectoryError(21, "not a regular file")
    return path.read_bytes()


def _is_blob(content: bytes, name: str) -> bool:
    """Whether these bytes are a blob's, as they are or with the line ends of Windows."""
    return blob_name(content, len(name)) == name or _has_crlf(content, name)


def _has_crlf(content: bytes, name: str) -> bool:
    if b"\r\n" not in content:
        return False
    return (
        blob_name(content, len(name)) != name
        and blob_name(content.replace(b"\r\n", b"\n"), len(name)) == name
    )


def blob_name(content: bytes, digits: int) -> str:
    """The name git gives to these bytes, in a repository whose names have so many digits."""
    made = hashlib.sha256() if digits == 64 else hashlib.sha1(usedforsecurity=False)  # noqa: PLR2004  git's two formats
    made.update(b"blob %d\0" % len(content) + content)
    return made.hexdigest()
