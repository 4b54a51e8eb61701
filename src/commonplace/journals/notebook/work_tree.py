"""Owns how the work tree follows a write: its files and its index, those changed and no others.

Never overwrites what a person changed there, and never follows a link out of the notebook.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import unicodedata
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.files import remove_leftovers, temp_file, translated
from commonplace.core.plain_files import open_regular, remove_name, rename_over
from commonplace.core.text import opening, well_formed
from commonplace.journals.git.commit import EMPTY_TREES, branch_moved
from commonplace.journals.git.index import locked_index, read_entries
from commonplace.journals.git.refs import RefUpdate, find_reset, update_refs
from commonplace.journals.git.run import missing_object
from commonplace.journals.git.trees import REGULAR, TreeEntry, compare_trees, list_tree

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.journals.git.index import GitIndex
    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.git.trees import TreeChange

# Beside git's own files: what is to be brought up to date once the branch has moved.
_NOTE = "commonplace-refresh"
_LAST = "commonplace-last"
_AT_ONCE = 200
# A larger file is copied and hashed piece by piece: gigabytes do not fit into memory.
_LARGE = 64 * 1024 * 1024
# What a disk answers that can hold no file of a name.
_NO_SUCH_NAME = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ})
# What another try does not change.
_LASTING = _NO_SUCH_NAME | {errno.EISDIR, errno.ENOTDIR, errno.ELOOP}


class _LastMove(Struct, frozen=True):
    """What is remembered of the last move of a branch, and from where it was.

    Attributes:
        files: Paths, each with the name of its blob before, empty for none.
        newer: Where the branch was then, once files and index had followed; empty until then.
    """

    branch: str
    older: str
    newer: str
    files: Mapping[str, str]


class _LargeFile(Struct, frozen=True):
    """A regular file of the folder that is too large to be held in memory."""

    path: Path


class WorkTree:
    """The files and the index of one repository's work tree.

    What reads or writes them raises Unavailable or Denied where git or the disk refuses.

    Args:
        repo: As its one writer has it, see `GitRepository.locked`.
    """

    def __init__(self, repo: GitRepository) -> None:
        self._repo = repo

    @contextlib.contextmanager
    def following(
        self,
        head: Head,
        changes: Mapping[str, TreeChange],
        contents: Mapping[str, bytes] | None = None,
        *,
        edits: Literal["left", "refused"] = "left",
        branch: str = "",
    ) -> Iterator[list[str]]:
        """Hold git's index while the block moves the branch; then let index and files follow.

        A person's command and this exclude each other as two commands of git's do. Yields sentences
        on what was left as it is, whole once the block is done. head: where the branch must be;
        contents: the new bytes of what changes, where all are known; edits: of a person there;
        branch: the one that the block goes to, empty where it stays on its own.
        Raises, before the block: IndexLocked, BranchMoved, Conflict for edits that are refused.
        """
        notes: list[str] = []
        if self._repo.is_bare:
            yield notes
            return
        with locked_index(self._repo) as index:
            former = self._read_last_move()
            index.read({*changes, *(former.files if former else ())})  # all at once
            healed, behind = self._finish_last_move(former, index)
            if self._repo.head() != head:
                index.publish()
                raise branch_moved(self._repo)
            staged = self._put_entries(index, changes, edits)
            files = {p: _blob(x.before) for p, x in changes.items()} | behind
            move = _LastMove(branch or head.branch, head.commit, "", files)
            self._write_last_move(move)
            try:
                yield notes
            finally:
                newer = self._repo.head().commit
                if newer == head.commit:
                    self._write_last_move(former if behind else None)
            notes += healed
            if newer == head.commit:
                index.publish()
                return
            notes += [f"{_shown(x)} was left as it is staged there." for x in staged]
            try:
                index.publish()
                regular = {p: files[p] for p, x in changes.items() if x.is_file}
                sentences, left = self._update_files(newer, regular, contents or {})
                notes += sentences
                self._write_last_move(move if behind or left else replace(move, newer=newer))
            except CommonplaceError as exc:  # the branch holds it: the next write tries again
                notes.append(exc.summary)

    def refresh(self) -> tuple[str, ...]:
        """Bring up what a process left that was killed after it had moved the branch.

        Sentences on what was left as it was. Raises: IndexLocked.
        """
        if self._repo.is_bare:
            return ()
        with locked_index(self._repo) as index:
            note = self._read_last_move()
            notes, behind = self._finish_last_move(note, index)
            index.publish()
            if note and not (behind or note.newer):
                self._write_last_move(None)
            return tuple(notes)

    def forget_last_move(self) -> None:
        """Forget where the branch was: a reset of it is then kept."""
        last = self._repo.git_dir / _LAST
        with translated(last):
            last.unlink(missing_ok=True)

    def is_behind(self) -> bool:
        """Whether index or files are behind the branch through us."""
        note = None if self._repo.is_bare else self._read_last_move()
        head = self._repo.head()
        if note is None or head.branch != note.branch or head.commit == note.older:
            return False
        if not note.newer:
            return True
        return bool(self._outdated_entries(note, head, read_entries(self._repo, {*note.files})))

    def dirty(self, commit: str, changes: Mapping[str, TreeChange]) -> list[str]:
        """Which of the files that are to change a person has changed here, or staged.

        commit: the branch's, empty where it has none.
        """
        if self._repo.is_bare or not changes:
            return []
        found = [path for path, change in changes.items() if self._is_edited(path, change)]
        base = commit or EMPTY_TREES[self._repo.hash_length(commit)]
        ran = self._repo.git.run(
            [*("diff-index", "--cached", "--name-only", "-z"), "--end-of-options", base]
        )
        staged = {x.decode("utf-8", "surrogateescape") for x in ran.out.split(b"\0")}
        return sorted({*found, *(staged & changes.keys())})

    def _is_edited(self, path: str, change: TreeChange) -> bool:
        before, after = change.before, change.after
        if not change.is_file or not _is_safe(path):
            return False
        try:
            found = _read_plain(self._repo.folder / path)
        except NotADirectoryError:
            return after is not None
        except OSError as exc:
            return exc.errno not in _NO_SUCH_NAME
        if found is None:
            return before is not None and after is not None
        return not any(x is not None and _is_blob(found, x.blob) for x in (before, after))

    def _put_entries(
        self, index: GitIndex, changes: Mapping[str, TreeChange], edits: Literal["left", "refused"]
    ) -> list[str]:
        """Let the index hold what the changes leave; what a person staged stays, and is returned.

        Raises: Conflict where edits are refused, and a person has changed a file or staged it.
        """
        found = index.read({*changes})
        staged = sorted(p for p, x in changes.items() if not _is_entry_at(found.get(p), x))
        refused = changes.items() if edits == "refused" else ()
        if edited := [path for path, x in refused if path in staged or self._is_edited(path, x)]:
            git, names = "git -C {place}", _shown(", ".join(edited))
            raise Conflict(
                f"Changed in the folder and not committed: {names}; no overview was written, since"
                " the next commit there would undo it.",
                hint=f"Commit it: {git} add -- FILE, then {git} commit; or undo it: {git} restore"
                " --staged --worktree -- FILE. An entry without an overview can be written now.",
                place=self._repo.folder,
            )
        index.put({p: _entry_after(found.get(p), x) for p, x in changes.items() if p not in staged})
        return staged

    def _finish_last_move(
        self, note: _LastMove | None, index: GitIndex
    ) -> tuple[list[str], dict[str, str]]:
        """Bring up what fell behind the branch through us; sentences, and what still is behind.

        After a move that was cut off: what is as it was before. After one that was finished:
        what the index holds as before while the file is the branch's, since a command of git's
        that had read the index before may have written it after.
        """
        head = self._repo.head()
        if note is None or head.branch != note.branch or head.commit == note.older:
            return (self._restore_branch(note, head, index) if note else []), {}
        lagging = self._outdated_entries(note, head, index.read({*note.files}))
        index.put(lagging)
        if note.newer:
            return self._restore_branch(note, head, index), {}
        entries = list_tree(self._repo, head.commit)
        regular = {
            p: old for p, old in note.files.items() if p not in entries or entries[p].is_file
        }
        notes, left = self._update_files(head.commit, regular, {})
        return notes, {path: note.files[path] for path in left}

    def _outdated_entries(
        self, note: _LastMove, head: Head, found: Mapping[str, TreeEntry]
    ) -> dict[str, TreeEntry | None]:
        """What the index is to hold where it stands as before a move; see `_finish_last_move`."""
        same = [path for path, old in note.files.items() if _blob(found.get(path)) == old]
        if not same:
            return {}
        entries = list_tree(self._repo, head.commit)
        return {
            path: entries.get(path)
            for path in same
            if _blob(entries.get(path)) != note.files[path]
            and not (note.newer and not self.has(path, entries.get(path)))
        }

    def _restore_branch(self, note: _LastMove, head: Head, index: GitIndex) -> list[str]:
        """Put the branch back where we had put it, after a command of git's that had not seen it.

        A person's `git stash` beside a writer had read the head, and then took an entry off the
        branch that was acknowledged meanwhile. A sentence where others have gone on from there, as
        then only a merge brings it back.
        """
        if head.branch != note.branch or note.newer in {"", head.commit}:
            return []
        back = find_reset(self._repo, head.branch, note.newer)
        if back != head.commit:
            if back and not self._repo.is_ancestor(note.newer, head.commit):
                merge = f"git merge {note.newer[:12]}"
                return [
                    f"A command of git's beside a write took it back. Run in the notebook: {merge}"
                ]
            return []
        changes = compare_trees(self._repo, head.commit, note.newer)
        found = index.read({*changes})
        index.put(
            {
                p: _entry_after(found.get(p), x)
                for p, x in changes.items()
                if _is_entry_at(found.get(p), x)
            }
        )
        why = "commonplace: what a command beside a write took back"
        update_refs(self._repo, [RefUpdate(head.branch, note.newer, head.commit)], why=why)
        files = {p: _blob(x.before) for p, x in changes.items() if x.is_file}
        return self._update_files(note.newer, files, {})[0]

    def has(self, path: str, entry: TreeEntry | None) -> bool:
        """Whether a file of the folder is what a tree has, None for nothing."""
        with contextlib.suppress(OSError):
            found = _read_plain(self._repo.folder / path)
            if found is not None and entry is not None:
                return _is_blob(found, entry.blob)
            return found is None and entry is None
        return False

    def restore_object(self, path: str, blob: str) -> bool:
        """Put a blob back into git from the folder's file, if that has it; whether it is there."""
        with translated(target := self._repo.folder / path):
            found = _read_plain(target)
        if isinstance(found, bytes) and _has_crlf(found, blob):
            source, given = ["--stdin"], found.replace(b"\r\n", b"\n")
        else:
            source, given = ["--no-filters", "--", path], b""
        ran = self._repo.git.run(["hash-object", "-w", *source], stdin=given)
        return ran.out.decode("ascii", "replace").strip() == blob

    def _update_files(
        self, commit: str, files: Mapping[str, str], contents: Mapping[str, bytes]
    ) -> tuple[list[str], list[str]]:
        """Bring these files to a commit; sentences on what was left, and what to try again.

        contents: their bytes there, if all of them are known.
        """
        notes: list[str] = []
        left: list[str] = []
        if files.keys() <= contents.keys():
            for path, old in files.items():
                self._update_file(path, old, contents[path], notes, left)
            return notes, left
        entries = list_tree(self._repo, commit)
        # What goes makes room for what comes.
        paths = sorted(files, key=lambda path: path in entries)
        for start in range(0, len(paths), _AT_ONCE):
            some = paths[start : start + _AT_ONCE]
            there = [x for x in some if x in entries]
            sizes = self._repo.read_sizes([entries[x].blob for x in there])
            small = [x for x in there if sizes.get(entries[x].blob, 0) <= _LARGE]
            blobs = self._repo.read_objects([entries[x].blob for x in small])
            known: dict[str, bytes | TreeEntry] = {x: entries[x] for x in there if x not in small}
            known |= {path: blob.content for path, blob in zip(small, blobs, strict=True) if blob}
            for path in some:
                entry = entries.get(path)
                if entry is not None and path not in known:
                    notes.append(missing_object(self._repo.folder).summary)
                elif self._update_file(path, files[path], known.get(path), notes, left) and entry:
                    self._set_mode(path, entry)
        return notes, left

    def _set_mode(self, path: str, entry: TreeEntry) -> None:
        """Let a file run, or not, as the tree says."""
        target = self._repo.folder / path
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(os.lstat(target).st_mode)
            wanted = mode | (mode & 0o444) >> 2 if entry.mode == "100755" else mode & ~0o111
            if wanted != mode:
                os.chmod(target, wanted)

    def _update_file(
        self,
        path: str,
        old_blob: str,
        wanted: bytes | TreeEntry | None,
        notes: list[str],
        left: list[str],
    ) -> bool:
        """Put the wanted bytes in place of the old ones; whether they are there.

        Args:
            path: Of the file, below the work tree.
            old_blob: The name of the blob that may be replaced, empty for no file.
            wanted: The new bytes, or the entry of a blob that is large; None to remove the file.
            notes: Gets a sentence where they are not.
            left: The path, where to try again may help.
        """
        target = self._repo.folder / path
        if not _is_safe(path):
            note = f"{path!a} was left alone: no folder holds a file of that name safely."
        else:
            try:
                note = self._replace_content(target, path, old_blob, wanted)
            except OSError as exc:
                why = os.strerror(exc.errno or 0)
                note = f"{_shown(path)} is committed, but not in the folder: {why}."
                # On a full disk each write would copy a large one once more.
                if exc.errno not in _LASTING and not isinstance(wanted, TreeEntry):
                    left.append(path)
        if note:
            notes.append(note)
        return not note

    def _replace_content(
        self, target: Path, path: str, old_blob: str, wanted: bytes | TreeEntry | None
    ) -> str:
        shown = _shown(path)
        if not self._is_inside(path):
            return f"{shown} was left alone: a link leads out of the notebook."
        found = _read_plain(target)
        if found == wanted or (
            isinstance(found, _LargeFile)
            and isinstance(wanted, TreeEntry)
            and _is_blob(found, wanted.blob)
        ):
            return ""
        if found is None and old_blob:
            return f"{shown} was removed in the folder and not committed; it was left so."
        if found is not None and not _is_blob(found, old_blob):
            return (
                f"{shown} was edited in the folder and not committed; it was left as it is there."
            )
        if isinstance(found, bytes) and isinstance(wanted, bytes) and _has_crlf(found, old_blob):
            wanted = wanted.replace(b"\n", b"\r\n")
        self._put(target, path, wanted)
        return ""

    def _folders_of(self, path: str) -> Iterator[str]:
        """The folders that a file lies in, from the top; a tree may be thousands deep."""
        folder = str(self._repo.folder)
        for part in path.split("/")[:-1]:
            folder = f"{folder}{os.sep}{part}"
            yield folder

    def _is_inside(self, path: str) -> bool:
        """Whether every folder on the way is a folder itself, or not there yet."""
        for folder in self._folders_of(path):
            try:
                if not stat.S_ISDIR(os.lstat(folder).st_mode):
                    return False
            except FileNotFoundError:
                break
        return True

    def _put(self, target: Path, path: str, content: bytes | TreeEntry | None) -> None:
        if content is None:
            remove_name(target)
            with contextlib.suppress(OSError):
                os.removedirs(target.parent)
            return
        for folder in self._folders_of(path):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
        # Not synced: the commit is the truth, and git brings the file back.
        small = content if isinstance(content, bytes) else b""
        with temp_file(self._repo.git_dir, small, mode=0o666) as temp:
            if isinstance(content, TreeEntry):
                asked = ["cat-file", "blob", content.blob]
                with self._repo.git.stream(asked) as source, open(temp, "wb") as file:
                    shutil.copyfileobj(source, file)
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temp, stat.S_IMODE(os.lstat(target).st_mode))
            rename_over(temp, target)

    def _write_last_move(self, note: _LastMove | None) -> None:
        """Keep a note, or forget the one that is not finished; survives the end of this process.

        Raises: Unavailable, Denied.
        """
        pending = self._repo.git_dir / _NOTE
        remove_leftovers(self._repo.git_dir)
        with translated(pending):
            if note is not None:
                path = self._repo.git_dir / _LAST if note.newer else pending
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(asdict(note), file)
            if note is None or note.newer:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(pending)

    def _read_last_move(self) -> _LastMove | None:
        """The move that was cut off, else the last one."""
        for name in (_NOTE, _LAST):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                # A plain file alone: a link to a device without an end took all memory there is.
                with open_regular(self._repo.git_dir / name, follows_links=False) as file:
                    kept = json.loads(file.readall())
                files = {str(k): str(v) for k, v in kept["files"].items()}
                branch = str(kept.get("branch") or self._repo.head().branch)
                return _LastMove(branch, str(kept["older"]), str(kept.get("newer", "")), files)
        return None


def _blob(entry: TreeEntry | None) -> str:
    return entry.blob if entry else ""


def _shown(path: str) -> str:
    """A path as a sentence may hold it, whatever its bytes are."""
    return opening(well_formed(path), 200)


def _is_entry_at(found: TreeEntry | None, change: TreeChange) -> bool:
    """Whether the index has a file as it was or as it is to be, and not as a person staged it."""
    return _blob(found) in {_blob(change.before), _blob(change.after)}


def _entry_after(found: TreeEntry | None, change: TreeChange) -> TreeEntry | None:
    """What the index is to hold: the new text, with a mode that a person staged."""
    before, after = change.before, change.after
    if found and before and after and found.is_file and found.mode != before.mode:
        return TreeEntry(found.mode, after.blob)
    return after


def _is_safe(path: str) -> bool:
    """Whether a path of a tree leads into the work tree, and not into git's own folder."""
    for part in path.split("/"):
        bare = "".join(c for c in part if unicodedata.category(c) != "Cf").casefold().rstrip(". ")
        if bare in {"", ".git"} or bare.startswith("git~") or "\\" in part or ":" in part:
            return False
    return True


def _read_plain(path: Path) -> bytes | _LargeFile | None:
    """The bytes of a regular file; None where nothing is. Raises: OSError, for a link too."""
    try:
        with open_regular(path, follows_links=False) as file:
            is_large = os.fstat(file.fileno()).st_size > _LARGE
            return _LargeFile(path) if is_large else file.readall()
    except FileNotFoundError:
        return None


def _is_blob(content: bytes | _LargeFile, name: str) -> bool:
    """Whether these bytes are a blob's, as they are or with the line ends of Windows."""
    if isinstance(content, _LargeFile):  # with other line ends it counts as edited
        return _large_blob_name(content.path, len(name)) == name
    return _blob_name(content, len(name)) == name or _has_crlf(content, name)


def _has_crlf(content: bytes, name: str) -> bool:
    return (
        b"\r\n" in content
        and _blob_name(content, len(name)) != name
        and _blob_name(content.replace(b"\r\n", b"\n"), len(name)) == name
    )


def _blob_name(content: bytes, digits: int) -> str:
    """The name git gives to these bytes, in a repository whose names have so many digits."""
    made = _begun_name(len(content), digits)
    made.update(content)
    return made.hexdigest()


def _large_blob_name(path: Path, digits: int) -> str:
    """The same for a file's bytes, read piece by piece."""
    import hashlib

    with open_regular(path, follows_links=False) as file:
        made = _begun_name(os.fstat(file.fileno()).st_size, digits)
        return hashlib.file_digest(file, lambda: made).hexdigest()


def _begun_name(size: int, digits: int) -> hashlib._Hash:
    import hashlib

    made = hashlib.sha256() if digits == 64 else hashlib.sha1(usedforsecurity=False)  # noqa: PLR2004  git's two formats
    made.update(b"blob %d\0" % size)
    return made


def next_entry(
    repo: GitRepository, head: Head, before: TreeEntry | None, content: bytes
) -> TreeEntry:
    """A file with new bytes: one that may be run still may."""
    mode = before.mode if before is not None and before.is_file else REGULAR
    return TreeEntry(mode, _blob_name(content, repo.hash_length(head.commit)))
