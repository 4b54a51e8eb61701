"""Owns one git repository as a store: where it lies, its branch and head, its trees and texts.

Never changes a work tree, and never follows a repository beyond the folder it was named by.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, NotFound, Unavailable
from commonplace.core.files import locked, make_folder, remove_file, translated, write_new
from commonplace.journals.git.run import Git, git_program, run_anywhere, shell_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_POINTER = re.compile(r"gitdir: (?P<path>[^\0\n]+)\n*")
_REGULAR = ("100644", "100755")
_MOST_POINTER = 10_000
_CLONE = "commonplace-clone"

# What a folder of git's holds in the middle of a merge or the like, and how to end that.
_UNFINISHED = (
    ("MERGE_HEAD", "a merge", "merge --continue", "merge --abort"),
    ("rebase-merge", "a rebase", "rebase --continue", "rebase --abort"),
    ("rebase-apply", "a rebase", "rebase --continue", "rebase --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "cherry-pick --continue", "cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "revert --continue", "revert --abort"),
    ("BISECT_LOG", "a bisection", "bisect reset", "bisect reset"),
)


class Head(Struct, frozen=True, kw_only=True):
    """Where a repository stands.

    Attributes:
        branch: Empty when detached.
        commit: Empty when unborn.
    """

    branch: str
    commit: str


class GitObject(Struct, frozen=True, kw_only=True):
    """What lies under a path of a tree: the object's name, its type and its bytes."""

    name: str
    kind: str
    content: bytes


class GitRepository:
    """One repository. Thread-safe; reads the head from git's files, everything else through git.

    What reads it raises Unavailable or Denied where git or the disk refuses.

    Args:
        folder: Its work tree, or itself where it is bare.
        git_dir: The folder that git keeps for this work tree.
        common_dir: The folder that it keeps for all work trees of the repository.
    """

    def __init__(
        self,
        folder: Path,
        *,
        git_dir: Path,
        common_dir: Path,
        is_bare: bool,
        lock: int | None = None,
    ) -> None:
        self.folder = folder
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.is_bare = is_bare
        self.lock = lock
        self.git = Git(folder, is_bare=is_bare, lock=lock)

    @contextlib.contextmanager
    def locked(self) -> Iterator[GitRepository]:
        """Hold the lock of its writers; yields the repository as the one writer uses it.

        Its `lock` is a descriptor that every command of git's holds as well: what a killed writer
        had begun ends before the next one begins. None where folders cannot be locked.
        """
        with locked(self.git_dir) as lock:
            yield GitRepository(
                self.folder,
                git_dir=self.git_dir,
                common_dir=self.common_dir,
                is_bare=self.is_bare,
                lock=lock,
            )

    @property
    def shell_command(self) -> str:
        """The beginning of a git command here, as a person types it."""
        return shell_command(self.folder)

    @property
    def is_shallow(self) -> bool:
        """Whether its history is cut off somewhere."""
        return os.path.exists(self.common_dir / "shallow")

    def clone_id(self) -> str:
        """What this clone alone is called, for good: git copies it to no other one."""
        path = self.common_dir / _CLONE
        if not os.path.exists(path):
            with contextlib.suppress(FileExistsError):
                write_new(path, os.urandom(16).hex().encode(), mode=0o644)
        with translated(path):
            return _read_small(path)

    def head(self) -> Head:
        """The branch and its commit, from two small files; by git where those do not say."""
        with translated(self.git_dir / "HEAD"):
            text = _read_small(self.git_dir / "HEAD").strip()
        if _HASH.fullmatch(text):
            return Head(branch="", commit=text)
        branch = text.removeprefix("ref:").strip()
        if not text.startswith("ref:") or not branch.startswith("refs/heads/"):
            return self._head_by_git()
        if branch == "refs/heads/.invalid":  # its branches are kept in another format
            return self._head_by_git()
        return Head(branch=branch, commit=self._commit_of(branch))

    def _commit_of(self, branch: str) -> str:
        for _ in range(3):  # a branch that is being packed is for a moment only in the other file
            with (
                translated(self.common_dir),
                contextlib.suppress(FileNotFoundError, NotADirectoryError),
            ):
                text = _read_small(self.common_dir / branch).strip()
                if _HASH.fullmatch(text):
                    return text
            with translated(self.common_dir), contextlib.suppress(FileNotFoundError):
                packed = (self.common_dir / "packed-refs").read_text("utf-8", "replace")
                if found := re.search(rf"^([0-9a-f]+) {re.escape(branch)}$", packed, re.MULTILINE):
                    return found[1]
        if os.path.lexists(self.common_dir / branch):  # a link to another branch, say
            return self._head_by_git().commit
        return ""

    def branches(self) -> dict[str, str]:
        """Every local branch, by its full name, with its commit.

        They are read from git's files. Git is asked where a file holds no hash, or git keeps its
        branches in another form.
        """
        found: dict[str, str] = {}
        packed, loose = self.common_dir / "packed-refs", self.common_dir / "refs" / "heads"
        # The loose ones first: a branch that git packs in between is found among the packed ones.
        with translated(self.common_dir):
            names = [*_walk_files(loose)]
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    found[f"refs/heads/{name}"] = _read_small(loose / name).strip()
            with contextlib.suppress(FileNotFoundError):
                for line in packed.read_text("utf-8", "surrogateescape").splitlines():
                    commit, _, ref = line.partition(" ")
                    if ref.startswith("refs/heads/"):
                        found.setdefault(ref, commit)
        if all(map(_HASH.fullmatch, found.values())) and not os.path.lexists(
            self.common_dir / "reftable"
        ):
            return found
        ran = self.git.run(["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"])
        lines = ran.out.decode("utf-8", "surrogateescape").splitlines()
        return {ref: commit for commit, _, ref in (line.partition(" ") for line in lines)}

    def _head_by_git(self) -> Head:
        named = self.git.run(["symbolic-ref", "-q", "HEAD"], statuses=(0, 1))
        found = self.git.run(["rev-parse", "-q", "--verify", "HEAD^{commit}"], statuses=(0, 1))
        return Head(branch=named.out.decode().strip(), commit=found.out.decode().strip())

    def refuse_unfinished(self) -> None:
        """Refuse to go on in the middle of a merge or the like. Raises: Conflict."""
        for name, what, finish, abort in _UNFINISHED:
            if os.path.lexists(self.git_dir / name):
                git = "git -C {place}"
                raise Conflict(
                    f"The notebook {{place}} is in the middle of {what}.",
                    hint=f"Finish it: {git} {finish}; or give it up: {git} {abort}.",
                    place=self.folder,
                )

    def writable_head(self) -> Head:
        """The head, where a commit may be put on its branch now.

        Raises: Conflict on a detached head and in the middle of a merge or the like.
        """
        self.refuse_unfinished()
        head = self.head()
        if not head.branch:
            raise Conflict(
                f"The notebook {{place}} is on no branch (detached at {head.commit[:7]}).",
                hint="Go back to its branch: git -C {place} switch main.",
                place=self.folder,
            )
        return head

    def read_blobs(self, commit: str, paths: Sequence[str]) -> list[GitObject | None]:
        """What lies under these paths of a commit, None where nothing does; one call of git.

        The path "" is the commit itself. Raises: Invalid for a newline or NUL in a path.
        """
        if not commit:
            return [None] * len(paths)
        if not _HASH.fullmatch(commit) or any("\n" in x or "\0" in x for x in paths):
            raise Invalid("A path holds a newline or NUL.", hint="Use another name.")
        return self.read_objects([f"{commit}:{x}" if x else commit for x in paths])

    def read_objects(self, names: Sequence[str]) -> list[GitObject | None]:
        """The objects with these names, or beginnings of them, in hex; None for those not there."""
        if not names:
            return []
        ran = self.git.run(["cat-file", "--batch"], stdin="".join(f"{x}\n" for x in names).encode())
        return _parse_batch(ran.out, len(names))

    def read_sizes(self, names: Sequence[str]) -> dict[str, int]:
        """How many bytes objects have, by their names; those not there are left out."""
        if not names:
            return {}
        given = "".join(f"{x}\n" for x in names).encode()
        ran = self.git.run(["cat-file", "--batch-check=%(objectname) %(objectsize)"], stdin=given)
        lines = (line.split(" ") for line in ran.out.decode("ascii", "replace").splitlines())
        return {name: int(size) for name, size in lines if size.isdigit()}

    def list_files(self, commit: str) -> list[str]:
        """The regular files of a commit by their paths, links and submodules left out."""
        if not commit:
            return []
        ran = self.git.run(["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit])
        found = []
        for line in ran.out.split(b"\0")[:-1]:
            facts, _, path = line.partition(b"\t")
            if facts[:6].decode("ascii", "replace") in _REGULAR:
                found.append(path.decode("utf-8", "surrogateescape"))
        return found

    def hash_length(self, commit: str) -> int:
        """How long the names of its objects are. commit: one of its, empty where it has none."""
        if commit:
            return len(commit)
        ran = self.git.run(["rev-parse", "--show-object-format"])
        return 64 if ran.out.strip() == b"sha256" else 40

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one commit lies in the history of another; False where one of them is gone."""
        ran = self.git.run(
            ["merge-base", "--is-ancestor", "--end-of-options", older, newer], statuses=(0, 1, 128)
        )
        return ran.status == 0

    def merge_base(self, one: str, other: str) -> str:
        """A commit where two histories part; empty where they share none, or one is gone."""
        return next(iter(self.list_merge_bases(one, other)), "")

    def list_merge_bases(self, one: str, other: str) -> list[str]:
        """The commits where two histories part: several where they were merged crosswise."""
        ran = self.git.run(
            ["merge-base", "--all", "--end-of-options", one, other], statuses=(0, 1, 128)
        )
        return ran.out.decode("ascii", "replace").split() if ran.status == 0 else []

    def identity(self) -> str:
        """`Name <address>` as git knows this user here; empty where it knows none. Never raises."""
        with contextlib.suppress(CommonplaceError):
            found = run_anywhere(
                ["config", "--includes", "--null", "--get-regexp", r"^user\.(name|email)$"],
                self.folder,
                own_config=True,
            )
            pairs = dict(
                line.partition("\n")[::2] for line in found.out.decode(errors="replace").split("\0")
            )
            # git takes these signs out of a name as well.
            name, address = (
                re.sub(r"[<>\s]+", " ", pairs.get(key, "")).strip()
                for key in ("user.name", "user.email")
            )
            if name and address:
                return f"{name} <{address}>"
        return ""


def is_repository(folder: Path) -> bool:
    """Whether a folder is a repository itself, by its files alone. Never raises."""
    with contextlib.suppress(OSError, CommonplaceError):
        return _find_git_dir(folder) is not None
    return False


def find_repository(folder: Path) -> GitRepository:
    """The repository whose work tree this folder is, or which it is itself.

    Raises: NotFound, Denied, Unavailable.
    """
    folder = Path(os.path.realpath(folder))
    with translated(folder):
        git_dir = _find_git_dir(folder)
    if git_dir is None:
        raise NotFound(
            "There is no notebook in {place}.",
            hint="Make one: commonplace notebook init {place}",
            place=folder,
        )
    common_dir = _common_dir(git_dir)
    return GitRepository(folder, git_dir=git_dir, common_dir=common_dir, is_bare=git_dir == folder)


def init_repository(folder: Path) -> GitRepository:
    """Make a repository in a folder, made if need be; one that is there is taken as it is.

    What a killed call began is made whole. Raises: Unavailable, Denied, Invalid.
    """
    folder = Path(os.path.realpath(folder))
    if not is_repository(folder):
        git_program()  # first: an empty folder would be taken for a notebook that lost its own
        make_folder(folder, 0o777)
        with locked(folder):
            if not is_repository(folder):  # else another process made it
                _init(folder)
    return find_repository(folder)


def _init(folder: Path) -> None:
    for left in ("HEAD.lock", "config.lock"):  # of one that was killed, which git would refuse
        if os.path.isfile(folder / ".git" / left):
            remove_file(folder / ".git" / left)
    # No template: it may bring hooks.
    made = run_anywhere(
        ["init", "--quiet", "--template=", "--initial-branch=main", "--", str(folder)], folder
    )
    if made.status:
        raise Unavailable(
            f"No notebook can be made in {{place}} ({made.status}): {made.reason}.",
            hint="Check the folder and its disk, then try again.",
            place=folder,
        )


def _find_git_dir(folder: Path) -> Path | None:
    """The folder that git keeps for a work tree; a bare repository is one itself.

    Where git was killed as it made one there is none: the folder for objects comes last.
    """
    git_dir = folder / ".git"
    if os.path.isdir(git_dir / "objects"):
        return git_dir
    if os.path.isfile(git_dir):
        pointer = _POINTER.fullmatch(_read_small(git_dir))
        target = Path(os.path.realpath(folder / pointer["path"])) if pointer else None
        if target is None or not os.path.isfile(target / "HEAD"):
            raise Unavailable(
                "The file .git in {place} points to no repository.",
                hint="Run: git -C {place} worktree repair.",
                place=folder,
            )
        return target
    if os.path.isfile(folder / "HEAD") and os.path.isdir(folder / "objects"):
        return folder
    return None


def _walk_files(folder: Path, start: str = "") -> Iterator[str]:
    """The files below a folder of git's, without its locks, by their paths in it."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk_files(folder / entry.name, f"{start}{entry.name}/")
            elif not entry.name.endswith(".lock"):
                yield start + entry.name


def _common_dir(git_dir: Path) -> Path:
    with contextlib.suppress(OSError):
        return Path(os.path.realpath(git_dir / _read_small(git_dir / "commondir").strip()))
    return git_dir


def _read_small(path: Path) -> str:
    with open(path, "rb") as file:
        return file.read(_MOST_POINTER).decode("utf-8", "surrogateescape")


def _parse_batch(out: bytes, count: int) -> list[GitObject | None]:
    found: list[GitObject | None] = []
    at = 0
    for _ in range(count):
        end = out.index(b"\n", at)
        head = out[at:end].split(b" ")
        at = end + 1
        if len(head) != 3 or not head[2].isdigit():  # noqa: PLR2004  name, type, size
            found.append(None)  # "<name> missing", or "ambiguous"
            continue
        size = int(head[2])
        content = out[at : at + size]
        found.append(GitObject(name=head[0].decode(), kind=head[1].decode(), content=content))
        at += size + 1
    return found
