"""Which project a folder belongs to: its repository, a marked folder, else itself; which are none.

Law: never runs a program and never reads a repository's configuration. What a `.git` file, a
`commondir` or a settings file says is hostile until parsed: a folder joins a repository only where
git's own folder of that repository names it too. Imports `os` alone: hooks and the start use it.
The environment counts on Windows alone.
"""

from __future__ import annotations

import os
import sys
from itertools import islice

from commonplace.core import PROJECT_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

HERE = "here"
"""What `project` says in a PROJECT_FILE whose folder is a project by itself."""

JOINED = "commonplace-project"
"""In git's own folder of a clone: the root of the project that the user joined it to."""
CLONES = "commonplace-clones"
"""In git's own folder of that project: the roots of the clones that joined it, one a line."""

CHRONICLE_FILE = ".chronicle"
"""What marks a project outside of any repository: chronicle's file of a project, whatever it says.

Nothing is written where it says so (`journals.chronicle.trust`); it says where the project begins.
"""

MOST_WORK_TREES = 1000

_LONGEST_LINE = 4096
_LARGEST = 1 << 20
_REGULAR, _FOLDER, _KIND = 0o100000, 0o040000, 0o170000

_SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"),
    *("/System", "/Library", "/Applications", "/private/etc"),
)
# Everybody's: a project may lie below them, they are none themselves.
_SHARED_FOLDERS = (
    *("/dev/shm", "/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var", "/var/tmp"),  # noqa: S108  named, not used
    *("/Users", "/Volumes", "/private", "/private/tmp", "/private/var"),
)
_IN_MEMORY = "/dev/shm/"  # noqa: S108  named, not used; where builds and tests lay what may be lost
_WINDOWS_VARIABLES = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
_PROGRAMS_OF_HOME = frozenset({"AppData", "Library"})


class Project:
    """Where a folder belongs; all paths are real ones.

    Attributes:
        root: The project: the main work tree of the repository, or the folder that is one itself.
        tree: The work tree that the folder lies in; the same as `root` but in a linked work tree
            and in a clone that was joined.
        git: The folder that git shares among the work trees; empty where there is no repository.
        isolated: Whether the root is a project because its PROJECT_FILE says so.
    """

    __slots__ = ("git", "isolated", "root", "tree")

    def __init__(self, root: str, tree: str, git: str = "", *, isolated: bool = False) -> None:
        self.root = root
        self.tree = tree
        self.git = git
        self.isolated = isolated

    def in_root(self, path: str) -> str:
        """A path below the work tree as the same one below the root; any other as it is.

        What a file of settings names lies in each work tree, and means one thing.
        """
        below = path[len(self.tree) :]
        return self.root + below if _is_in(path, self.tree) else path


def may_have_project(
    folder: str | os.PathLike[str],
    home: str | os.PathLike[str] | None,
    environ: Mapping[str, str] = os.environ,
) -> bool:
    """Whether a program that starts in a folder works for a project.

    Not where the folder is the system's, holds programs, is the home, or holds the home.
    """
    return not _is_nobodys(os.path.realpath(folder), _real_home(home), environ)


def find_project(
    folder: str | os.PathLike[str],
    home: str | os.PathLike[str] | None,
    environ: Mapping[str, str] = os.environ,
) -> str | None:
    """The root of the project that a program works for in a folder, all links followed, or None."""
    if not may_have_project(folder, home, environ):
        return None
    return project_of(folder, home, environ).root


def project_of(
    folder: str | os.PathLike[str],
    home: str | os.PathLike[str] | None,
    environ: Mapping[str, str] = os.environ,
) -> Project:
    """The project of a folder that was named, or that holds a journal; never raises for a file.

    The folder need not be there.
    """
    here = os.path.realpath(folder)
    top = _real_home(home)
    found, marked, at = None, "", here
    while not _is_nobodys(at, top, environ):
        if _says_here(at):
            found = Project(at, at, isolated=True)
            break
        kind = _git_kind(at)
        if kind:
            found = _in_repository(at, kind)
            break
        if not marked and is_marked(at):  # a repository further up goes before it
            marked = at
        at, below = os.path.dirname(at), at
        if at == below:
            break
    if found is None:
        git = git_folder_of(here)  # the folder may be a bare repository itself
        if git:
            return _joined(here, here, git)
        return Project(marked or here, marked or here)
    return Project(found.tree, found.tree) if _is_nobodys(found.root, top, environ) else found


def folders_of(project: Project, home: str | os.PathLike[str] | None, most: int) -> list[str]:
    """All folders that stand for a project, its root first: what work trees and clones were named.

    Only those that belong to it by what they say themselves.
    """
    others = [*islice(work_trees(project.git), most), *clones_of(project.git)[:most]]
    kept = [each for each in others if project_of(each, home).root == project.root]
    return [*dict.fromkeys([project.root, project.tree, *kept])]


def is_apart(path: str, folder: str, root: str, home: str | os.PathLike[str] | None) -> bool:
    """Whether a path below a folder of a project lies in another project that begins in between.

    Args:
        path: The path, as an entry names it; hostile, and it need not be there.
        folder: One of the project's folders, above the path or the same.
        root: The project's root.
        home: The user's home folder; None where there is none.
    """
    if "\0" in path:
        return True
    at = path.rstrip(os.sep)
    while at != folder and at.startswith(folder.rstrip(os.sep) + os.sep):
        if _says_here(at) or _git_kind(at) or is_marked(at):
            return project_of(at, home).root != root
        at = os.path.dirname(at)
    return False


def work_trees(git: str) -> Iterator[str]:
    """The linked work trees that a repository knows, whether or not they are there.

    git: the folder that git shares among them; empty for none.
    """
    try:
        names = sorted(os.listdir(os.path.join(git, "worktrees")))[:MOST_WORK_TREES] if git else []
    except OSError:
        return
    for name in names:
        admin = os.path.join(git, "worktrees", name)
        back = _line(os.path.join(admin, "gitdir"))
        if back:
            yield os.path.dirname(os.path.realpath(os.path.join(admin, back)))


def clones_of(git: str) -> list[str]:
    """The roots of the clones that were joined to the repository with this folder of git's."""
    content = _read(os.path.join(git, CLONES), _LARGEST) if git else b""
    return [os.fsdecode(x) for x in content.split(b"\n") if x and b"\0" not in x]


def is_system_folder(path: str, environ: Mapping[str, str], paths: ModuleType = os.path) -> bool:
    """Whether an absolute path is a root, belongs to the system, or is shared by all its users."""
    path = paths.normcase(path)
    if path == paths.dirname(path):
        return True
    if paths.sep == "/":
        if path in _SHARED_FOLDERS:
            return True
        return not path.startswith(_IN_MEMORY) and any(_is_in(path, x) for x in _SYSTEM_FOLDERS)
    drive = paths.splitdrive(path)[0]
    folders = [environ[name] for name in _WINDOWS_VARIABLES if environ.get(name)]
    folders += [f"{drive}\\Windows", f"{drive}\\Program Files"]
    return any(_is_in(path, paths.normcase(x), paths.sep) for x in folders)


def _is_in(path: str, folder: str, separator: str = os.sep) -> bool:
    return path == folder or path.startswith(folder.rstrip(separator) + separator)


def _real_home(home: str | os.PathLike[str] | None) -> str:
    real = os.path.realpath(home) if home else ""
    return "" if real == os.path.dirname(real) else real


def _is_nobodys(path: str, home: str, environ: Mapping[str, str]) -> bool:
    """Whether a real path is no project: the home, what holds it, programs', the system's."""
    if not home:
        return is_system_folder(path, environ)
    if _is_in(home, path):
        return True
    if _is_in(path, home):
        first = path[len(home) + 1 :].partition(os.sep)[0]
        return first in _PROGRAMS_OF_HOME and sys.platform in {"darwin", "win32"}
    return is_system_folder(path, environ)


def _says_here(folder: str) -> bool:
    """Whether the folder's PROJECT_FILE says `project = "here"`; broken ones say nothing."""
    content = _read(os.path.join(folder, PROJECT_FILE), _LARGEST)
    if HERE.encode() not in content:
        return False
    import tomllib

    try:
        return tomllib.loads(content.decode("utf-8-sig")).get("project") == HERE
    except (ValueError, RecursionError):
        return False


def is_marked(folder: str) -> bool:
    """Whether a plain file marks the folder as a project, and both are the user's own.

    What lies where others write would gather notes from below where they can read them.
    """
    file = os.path.join(folder, CHRONICLE_FILE)
    try:
        if os.lstat(file).st_mode & _KIND != _REGULAR:
            return False
    except OSError:
        return False
    return _is_ours(file) and _is_ours(folder)


def _git_kind(folder: str) -> int:
    """The kind of the folder's `.git`, as in `st_mode`; 0 where git would look further up."""
    try:
        kind = os.lstat(os.path.join(folder, ".git")).st_mode & _KIND
        if kind == _FOLDER:
            os.lstat(os.path.join(folder, ".git", "HEAD"))
    except OSError:
        return 0
    return kind


def _in_repository(tree: str, kind: int) -> Project | None:
    """The project of a folder with a `.git` of this kind; None where that is another user's."""
    git = os.path.join(tree, ".git")
    if not _is_ours(git):
        return None
    if kind == _FOLDER:
        # With a `commondir` it would be a part of another repository, which no git writes.
        is_part = os.path.lexists(os.path.join(git, "commondir"))
        return Project(tree, tree) if is_part else _joined(tree, tree, git)
    named = _line(git, b"gitdir: ") if kind == _REGULAR else ""
    if not named:
        return Project(tree, tree)
    admin = os.path.realpath(os.path.join(tree, named))
    above, name = os.path.split(os.path.dirname(admin))
    if name != "worktrees":  # a submodule, or a folder whose repository lies elsewhere
        return _joined(tree, tree, admin) if _is_of(admin, tree) else Project(tree, tree)
    root = _main_tree(above) if _knows(admin, above, git) else ""
    return _joined(root, tree, above) if root else Project(tree, tree)


def _knows(admin: str, common: str, git: str) -> bool:
    """Whether a repository names the work tree whose `.git` names it: a lure is named by none."""
    back = _line(os.path.join(admin, "gitdir"))
    shared = _line(os.path.join(admin, "commondir"))
    return (
        bool(back and shared)
        and os.path.realpath(os.path.join(admin, back)) == git
        and os.path.realpath(os.path.join(admin, shared)) == common
        and _is_git_folder(common)
    )


def _main_tree(common: str) -> str:
    """The main work tree of a repository, or its own folder where it is bare; else empty."""
    above, name = os.path.split(common)
    if name == ".git":
        return above
    # A submodule's main work tree, and a bare repository in a folder whose `.git` names it.
    outer, _, inner = common.partition(os.path.join(os.sep + ".git", "modules", ""))
    if inner:
        sub = os.path.join(outer, *inner.split(os.path.join(os.sep + "modules", "")))
        return sub if _leads_to(sub, common) else ""
    if _leads_to(above, common):
        return above
    # One with an index has a main work tree, and nothing but its configuration says where.
    return "" if os.path.lexists(os.path.join(common, "index")) else common


def _leads_to(folder: str, common: str) -> bool:
    named = _line(os.path.join(folder, ".git"), b"gitdir: ")
    return bool(named) and os.path.realpath(os.path.join(folder, named)) == common


def _joined(root: str, tree: str, git: str) -> Project:
    """The project of a repository: itself, or the one it was joined to while that says so too."""
    other = _line(os.path.join(git, JOINED))
    if other and os.path.isabs(other) and os.path.realpath(other) == other:
        others = git_folder_of(other)
        if others and others != git and root in clones_of(others):
            return Project(other, tree, others)
    return Project(root, tree, git)


def git_folder_of(root: str) -> str:
    """Git's own folder of a main work tree or a bare repository; empty where there is none."""
    git = os.path.join(root, ".git")
    named = _line(git, b"gitdir: ")
    if named:
        git = os.path.realpath(os.path.join(root, named))
    elif os.path.islink(git):
        return ""
    elif not os.path.lexists(git):
        git = root
    return git if _is_of(git, root) else ""


def _is_of(git: str, root: str) -> bool:
    return _is_git_folder(git) and _main_tree(git) == root


def _is_git_folder(path: str) -> bool:
    return (
        os.path.lexists(os.path.join(path, "HEAD"))
        and os.path.isdir(os.path.join(path, "objects"))
        and _is_ours(path)
    )


def _is_ours(path: str) -> bool:
    try:
        return os.name == "nt" or os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return False


def _line(file: str, start: bytes = b"") -> str:
    """The one line of a small file, less how it must start; empty for anything else."""
    content = _read(file, _LONGEST_LINE)
    if not content.startswith(start):
        return ""
    line = content[len(start) :].strip(b"\r\n")
    return "" if b"\n" in line or b"\0" in line else os.fsdecode(line)


def _read(file: str, limit: int) -> bytes:
    """The content of a small plain file; nothing of any other, and never waiting for a pipe."""
    from commonplace.core.plain_files import open_regular

    try:
        with open_regular(file, follows_links=False) as opened:
            return opened.read(limit) if os.fstat(opened.fileno()).st_size <= limit else b""
    except (OSError, ValueError):
        return b""
