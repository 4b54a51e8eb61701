"""Owns what a sync makes of two histories that parted: the tree of the commit that merges them.

Never moves a branch, and never loses a line of an overview that neither side took out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import Conflict, Invalid
from commonplace.journals.git.history import read_history
from commonplace.journals.git.run import missing_object
from commonplace.journals.git.trees import TreeEntry, list_tree
from commonplace.journals.notebook.commit_drafts import maintenance_draft
from commonplace.journals.notebook.format import (
    CommitMessage,
    move_of,
    parse_file,
    parse_message,
    render_file,
)
from commonplace.journals.notebook.merge import try_merge
from commonplace.journals.notebook.names import SUFFIX, file_of, find_section, refuse_twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from commonplace.journals.git.commit import CommitDraft
    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.commit_drafts import Signature
    from commonplace.journals.notebook.format import SectionFile

MERGED = CommitMessage(summary="Merge what both sides wrote", text="", verb="merge")
RECOUNTED = CommitMessage(summary="Count the entries again", text="", verb="recount")

_AT_ONCE = 200


class Clash(Struct, frozen=True, kw_only=True):
    """An overview that both sides changed in one place.

    Attributes:
        section: Its name in what comes of it.
    """

    section: str
    base: str
    ours: str


class MergedOverview(Struct, frozen=True):
    """An overview that was merged, whose count is still to be put below it."""

    mode: str
    overview: str


class MergedTree(Struct, kw_only=True):
    """What came of a merge.

    Attributes:
        files: All of the tree, by path.
        clashes: Theirs stands in the file.
        moves: Sections that both sides moved, by ours and by the name that they have now.
    """

    files: dict[str, TreeEntry | MergedOverview] = field(default_factory=dict)
    clashes: list[Clash] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Part(Struct, frozen=True):
    """A section's file in the base and on both sides, by whatever name; None where it is not."""

    base: TreeEntry | None = None
    ours: TreeEntry | None = None
    theirs: TreeEntry | None = None


class TreeMerge:
    """Merges the trees of two commits: sections by their names and blocks, other files whole.

    Used once. base: where their histories parted, empty for nowhere.
    """

    def __init__(self, repo: GitRepository, *, base: str, ours: str, theirs: str) -> None:
        self._repo = repo
        self._base, self._ours, self._theirs = (list_tree(repo, x) for x in (base, ours, theirs))
        self.our_moves = list(_moves(repo, ours, without=(theirs, base)))
        self._their_moves = list(_moves(repo, theirs, without=(ours, base)))
        trees = (self._base, self._ours, self._theirs)
        self._odd = {path for tree in trees for path, entry in tree.items() if not entry.is_file}
        self._overviews: dict[str, str] = {}
        self._merged = MergedTree()

    def run(self) -> MergedTree:
        """Merge them. Raises: Conflict where a file and a folder have one name."""
        named = self._parts_by_name()
        self._read_overviews(part for parts in named.values() for part in parts)
        for section, parts in sorted(named.items()):
            self._merge_section(section, parts)
        self._merge_other_files()
        self._refuse_nesting()
        self._note_twins()
        return self._merged

    def _parts_by_name(self) -> dict[str, list[_Part]]:
        """What every section of the merged tree is made of, by the name that it has there.

        A section that either side moved is one with what it was in the base, and what the other
        side wrote under the old name goes along.
        """
        base, ours, theirs = (self._sections(x) for x in (self._base, self._ours, self._theirs))
        found: dict[str, list[_Part]] = {}
        for section, entry in base.items():
            here, there = (_follow(section, x) for x in (self.our_moves, self._their_moves))
            name = here if there == section else there
            if here not in {section, name}:
                self._merged.moves.append((here, name))
                self._merged.notes.append(
                    f"{section} was moved to {there} there, and to {here} here: it is {name}."
                )
            part = _Part(entry, ours.pop(here, None), theirs.pop(there, None))
            found.setdefault(name, []).append(part)
        for name, entry in ours.items():
            # Begun on both sides under one name: they are merged against nothing.
            place = self.name_of(name)
            is_one = place == name == _follow(name, self.our_moves)
            twin = theirs.pop(name, None) if is_one else None
            found.setdefault(place, []).append(_Part(ours=entry, theirs=twin))
        for name, entry in theirs.items():
            found.setdefault(_follow(name, self.our_moves), []).append(_Part(theirs=entry))
        return found

    def name_of(self, section: str) -> str:
        """What a section of ours is called in the merged tree, once that is made."""
        return _follow(section, (*self._their_moves, *self._merged.moves))

    def _sections(self, tree: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
        return {
            section: entry
            for path, entry in tree.items()
            if path not in self._odd and (section := find_section(path)) is not None
        }

    def _merge_section(self, section: str, parts: Sequence[_Part]) -> None:
        # What they have under this name is there for the others already: it stands.
        there = self._theirs.get(file_of(section))
        first, *more = sorted(parts, key=lambda part: there is None or part.theirs != there)
        made = self._merge_part(section, first)
        for part in more:  # two sections got one name: they are one
            other = self._merge_part(section, part)
            if other is None or made is None:
                made = made or other
                continue
            self._merged.notes.append(f"Two sections are called {section} now: they are one.")
            text, added = self._text(made), self._text(other)
            joined = try_merge("", added, text)
            if joined is None:
                self._merged.clashes.append(Clash(section=section, base="", ours=added))
            made = MergedOverview(made.mode, text if joined is None else joined)
        if made is not None:
            self._merged.files[file_of(section)] = made

    def _merge_part(self, section: str, part: _Part) -> TreeEntry | MergedOverview | None:
        base, ours, theirs = part.base, part.ours, part.theirs
        if ours in (base, theirs):
            return theirs
        if theirs == base:
            return ours
        if ours is None:
            self._merged.notes.append(
                f"{section} was removed here, and written to there: it stays."
            )
        if ours is None or theirs is None:
            return ours or theirs
        before, mine, other = (self._text(x) for x in (base, ours, theirs))
        text = try_merge(before, mine, other)
        if text is None:
            self._merged.clashes.append(Clash(section=section, base=before, ours=mine))
            text = other
        changed = ours if base is None or theirs.mode == base.mode else theirs
        return MergedOverview(changed.mode, text)

    def _text(self, file: TreeEntry | MergedOverview | None) -> str:
        if isinstance(file, TreeEntry):
            self._read([file.blob])
            return self._overviews[file.blob]
        return file.overview if file else ""

    def _read_overviews(self, parts: Iterable[_Part]) -> None:
        """Read at once those that both sides changed."""
        wanted = {
            entry.blob
            for part in parts
            if part.ours not in (part.base, part.theirs) and part.theirs != part.base
            for entry in (part.base, part.ours, part.theirs)
            if entry is not None
        }
        self._read(sorted(wanted))

    def _read(self, blobs: Sequence[str]) -> None:
        missing = [x for x in blobs if x not in self._overviews]
        for name, file in zip(missing, read_files(self._repo, missing), strict=True):
            if file is None:
                raise missing_object(self._repo.folder)
            self._overviews[name] = file.overview

    def _merge_other_files(self) -> None:
        """Files that are not a section's: one side's, or both beside each other."""
        files = self._merged.files
        paths = self._base.keys() | self._ours.keys() | self._theirs.keys()
        for path in sorted(x for x in paths if x in self._odd or find_section(x) is None):
            base, ours, theirs = (x.get(path) for x in (self._base, self._ours, self._theirs))
            wanted = theirs
            if ours not in (base, theirs) and theirs in (base, None):
                wanted = ours
            elif ours is not None and ours not in (base, theirs):
                stem, ending = os.path.splitext(path)
                beside = f"{stem}.{ours.blob[:7]}{ending}"
                self._merged.notes.append(
                    f"{path} is another on both sides: yours is {beside} now."
                )
                files[beside] = ours
            if wanted is not None:
                files[path] = wanted

    def _refuse_nesting(self) -> None:
        parents = (path.split("/")[:-1] for path in self._merged.files)
        folders = {"/".join(x[: n + 1]) for x in parents for n in range(len(x))}
        for path in sorted(self._merged.files.keys() & folders):
            raise Conflict(
                f"{path} is a file on one side and a folder on the other.",
                hint=f"Rename it with plain git in {self._repo.folder}, commit, and sync again.",
            )

    def _note_twins(self) -> None:
        added = self._merged.files.keys() - self._theirs.keys()
        there = [x for path in self._theirs if (x := find_section(path))]
        for section in filter(None, map(find_section, added)):
            try:
                refuse_twin(section, there)
            except Invalid as exc:
                self._merged.notes.append(f"{exc.message} Some disks hold only one of them.")


def read_files(repo: GitRepository, blobs: Sequence[str]) -> Iterator[SectionFile | None]:
    """The section files under these names of objects; None for one that is not there."""
    for start in range(0, len(blobs), _AT_ONCE):
        for blob in repo.read_objects(blobs[start : start + _AT_ONCE]):
            yield parse_file(blob.content, errors="surrogateescape") if blob else None


def recount(
    repo: GitRepository,
    files: Mapping[str, TreeEntry | MergedOverview],
    count: Callable[[str], int],
) -> dict[str, TreeEntry | MergedOverview]:
    """These files, those whose count line is wrong, or not alone, to be written again.

    count: how many entries a section has.
    """
    found = dict(files)
    sections = [
        (path, name, file)
        for path, file in files.items()
        if isinstance(file, TreeEntry) and file.is_file and (name := find_section(path)) is not None
    ]
    read = read_files(repo, [entry.blob for _, _, entry in sections])
    for (path, name, entry), file in zip(sections, read, strict=True):
        if file and (file.lines > 1 or (file.lines and file.count != count(name))):
            found[path] = MergedOverview(entry.mode, file.overview)
    return found


def joined_draft(
    signature: Signature,
    files: Mapping[str, TreeEntry | MergedOverview],
    *,
    onto: Mapping[str, TreeEntry],
    count: Callable[[str], int],
    others: Sequence[str] = (),
    message: CommitMessage = MERGED,
) -> CommitDraft:
    """The commit that has these files.

    files: all of the tree, by path; onto: those of its first parent; count: how many entries a
    section has; others: its further parents.
    """
    texts = {path: x for path, x in files.items() if isinstance(x, MergedOverview)}
    return replace(
        maintenance_draft(signature, message),
        puts={
            path: render_file(x.overview, count(path.removesuffix(SUFFIX)))
            for path, x in texts.items()
        },
        modes={path: x.mode for path, x in texts.items()},
        links={
            path: (x.mode, x.blob)
            for path, x in files.items()
            if isinstance(x, TreeEntry) and x != onto.get(path)
        },
        drops=sorted(onto.keys() - files.keys()),
        others=others,
    )


def _moves(repo: GitRepository, one: str, *, without: Sequence[str]) -> Iterator[tuple[str, str]]:
    for commit in read_history(repo, one, since=without, paths=False):
        if move := move_of(parse_message(commit.message)):
            yield move


def _follow(name: str, moves: Sequence[tuple[str, str]]) -> str:
    """What a section that was there before these moves is called after them."""
    for old, new in moves:
        name = new if name == old else name
    return name
