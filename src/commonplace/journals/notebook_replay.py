"""Owns what a sync makes of two histories: what of ours is told again on theirs, and how.

Never writes, and never loses an entry, or a line of an overview that nobody took out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.core.errors import Conflict, Invalid
from commonplace.journals.gitrepo_history import read_history
from commonplace.journals.gitrepo_run import lacking
from commonplace.journals.gitrepo_trees import Leaf, list_leaves
from commonplace.journals.notebook_drafts import (
    Hand,
    Told,
    named_message,
    told_again,
    upkeep_draft,
)
from commonplace.journals.notebook_format import (
    Message,
    entries_of,
    parse_file,
    parse_message,
    render_file,
)
from commonplace.journals.notebook_merge import settle
from commonplace.journals.notebook_names import file_of, find_section, refuse_twin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from commonplace.journals.gitrepo import GitRepo
    from commonplace.journals.gitrepo_commit import Draft
    from commonplace.journals.gitrepo_history import Commit, Touch
    from commonplace.journals.notebook_format import Entry
    from commonplace.journals.notebook_ledger import Ledger

_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The commits of two histories. base: what both held when they parted, empty for nothing.

    apart: commits whose entries are settled: none of what they hold is told again. lost: entries
    that are not to come back.
    """

    base: str
    ours: str
    theirs: str
    apart: tuple[str, ...] = ()
    lost: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """An overview that both sides changed in one place. section: its name in what comes of it."""

    section: str
    base: str
    ours: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be put on theirs. places: sections of ours that are called otherwise there."""

    drafts: tuple[Draft, ...]
    clashes: tuple[Clash, ...]
    places: Mapping[str, str]
    notes: tuple[str, ...]


class Replay:
    """Tells the entries of one side again on the other. Used once.

    ledger: what theirs holds.
    """

    def __init__(self, repo: GitRepo, ledger: Ledger, sides: Sides, hand: Hand) -> None:
        self._repo = repo
        self._ledger = ledger
        self._sides = sides
        self._hand = hand
        self._base = list_leaves(repo, sides.base)
        self._ours = list_leaves(repo, sides.ours)
        self._theirs = list_leaves(repo, sides.theirs)
        self._texts = _Overviews(repo)
        # What has come of it so far: leaves, and the overviews and counts that differ from theirs.
        self._files = dict(self._theirs)
        self._now: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._places: dict[str, str] = {}
        self._origins: dict[str, str | None] = {}
        self._told: set[tuple[str, str]] = set()
        self._drafts: list[Draft] = []
        self._clashes: list[Clash] = []
        self._notes: list[str] = []
        self._moves: list[tuple[str, str]] = []
        self._by_hand: set[tuple[str, ...]] = set()

    def plan(self) -> Plan:
        """What is to be put on theirs, so that both sides' entries and overviews are there.

        Raises: Conflict where a file and a folder have one name; Unavailable, Denied.
        """
        self._read_theirs()
        commits = list(self._only(self._sides.ours, self._sides.theirs))
        for start in range(0, len(commits), _AT_ONCE):
            some = commits[start : start + _AT_ONCE]
            blobs = self._repo.read_objects([x.hash for x in some])
            self._texts.read({t.blob for x in some for t in x.touched if _is_section(t)})
            for commit, blob in zip(some, blobs, strict=True):
                self._tell(Told(commit, blob.content if blob else b""))
        self._bring_together()
        self._refuse_nesting()
        self._note_twins()
        return Plan(
            drafts=tuple(self._drafts),
            clashes=tuple(self._clashes),
            places={old: new for old, new in self._places.items() if old != new},
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def _only(self, one: str, other: str) -> Iterator[Commit]:
        since = [x for x in (other, self._sides.base, *self._sides.apart) if x]
        yield from read_history(self._repo, one, since=since)

    def _read_theirs(self) -> None:
        """Learn what they moved, and what was committed by hand there."""
        for commit in self._only(self._sides.theirs, self._sides.ours):
            message = parse_message(commit.message)
            if message.verb == "move":
                self._moves.append((message.moved_from, message.section))
            self._by_hand |= {_said(entry) for entry in entries_of(commit, message)}

    def _moved_there(self, section: str) -> str:
        """What they call a section that both sides knew by this name."""
        for old, new in self._moves:
            section = new if section == old else section
        return section

    def _place(self, section: str) -> str:
        """What a section of ours is called in what comes of it."""
        return self._places.get(section) or self._moved_there(section)

    def _origin(self, section: str) -> str | None:
        """What a section of ours was called in the base; None where it was begun since."""
        return self._origins.get(section, section)

    def _sides_of(self, section: str) -> tuple[str | None, str | None]:
        """A section's overview in the base and at theirs; None where there is no file of it."""
        origin = self._origin(section)
        before = self._base.get(file_of(origin)) if origin is not None else None
        there = self._moved_there(origin) if origin is not None else section
        after = self._theirs.get(file_of(there))
        return self._texts.of(before), self._texts.of(after)

    def _is_untouched_there(self, section: str) -> bool:
        origin = self._origin(section)
        if origin is None:
            return False
        there = self._theirs.get(file_of(self._moved_there(origin)))
        return there is not None and there == self._base.get(file_of(origin))

    def _overview(self, section: str) -> str:
        if section not in self._now:
            self._now[section] = self._texts.of(self._files.get(file_of(section))) or ""
        return self._now[section]

    def _count(self, section: str) -> int:
        if section not in self._counts:
            self._counts[section] = self._ledger.count(section)
        return self._counts[section]

    def _tell(self, told: Told) -> None:
        commit = told.commit
        message = parse_message(commit.message)
        if len(commit.parents) > 1:
            return  # what it brought is told by its commits, what it made is in the files
        if message.verb == "move" and not message.entry_id:
            if all(find_section(file_of(x)) for x in (message.moved_from, message.section)):
                self._move(told, message)
            return
        if message.verb and not message.entry_id:
            return
        entries = list(entries_of(commit, message))
        fresh = [x for x in entries if not self._is_known(x)]
        if entries and not fresh:
            return
        links, drops = self._others(commit)
        for entry in fresh:
            self._told.add((entry.id, entry.section))
            self._add_entry(told, message, entry, links=links, drops=drops)
            links, drops = {}, ()
        if not entries and (links or drops):
            self._drafts.append(told_again(told, self._hand, told.raw, links=links, drops=drops))

    def _is_known(self, entry: Entry) -> bool:
        if entry.id in self._sides.lost or (entry.id, entry.section) in self._told:
            return True
        lines = self._ledger.by_id(entry.id)
        if not entry.by_hand:
            return bool(lines)
        here = {entry.section, self._place(entry.section)}
        # A rebase by hand gives a commit another hash, and leaves all else as it was.
        return any(x.section in here for x in lines) or _said(entry) in self._by_hand

    def _others(self, commit: Commit) -> tuple[dict[str, tuple[str, str]], Sequence[str]]:
        """What a commit did to files that are no section's, where they left them alone."""
        links: dict[str, tuple[str, str]] = {}
        drops: list[str] = []
        for touch in commit.touched:
            path = touch.path
            if _is_section(touch) or self._base.get(path) != self._theirs.get(path):
                continue
            if touch.blob:
                links[path] = (touch.mode, touch.blob)
                self._files[path] = Leaf(touch.mode, touch.blob)
            elif self._files.pop(path, None) is not None:
                drops.append(path)
        return links, drops

    def _add_entry(
        self,
        told: Told,
        message: Message,
        entry: Entry,
        *,
        links: Mapping[str, tuple[str, str]],
        drops: Sequence[str],
    ) -> None:
        place = self._place(entry.section)
        path = file_of(place)
        self._counts[place] = self._count(place) + 1
        touched = told.commit.touched
        touch = next((t for t in touched if t.path == file_of(entry.section)), None)
        puts: dict[str, bytes] = {}
        if touch is not None and not touch.blob and self._is_untouched_there(entry.section):
            drops = [*drops, *([path] if self._files.pop(path, None) else [])]
            self._now[place] = ""
        else:
            said = self._texts.of_blob(touch.blob) if touch and _is_section(touch) else None
            if said is not None:
                self._now[place] = self._merged(entry.section, said, self._overview(place))
            puts = {path: self._put(place)}
        said_now = named_message(message, entry, place, told.raw)
        self._drafts.append(
            told_again(told, self._hand, said_now, puts=puts, links=links, drops=drops)
        )

    def _merged(self, section: str, said: str, otherwise: str) -> str:
        """An overview on its way: what a commit of ours made of it, with what they changed."""
        base, theirs = self._sides_of(section)
        if theirs is None:
            return said
        merged = settle(base or "", said, theirs)
        return otherwise if merged is None else merged

    def _put(self, section: str) -> bytes:
        content = render_file(self._overview(section), self._count(section))
        self._files[file_of(section)] = Leaf("100644", "")
        return content

    def _move(self, told: Told, message: Message) -> None:
        old, new = message.moved_from, message.section
        now = self._place(old)
        self._origins[new] = self._origin(old)
        self._origins[old] = None
        self._places[old] = old
        if now == new:
            self._places[new] = new
            return
        if now != old:
            self._places[new] = now
            self._notes.append(f"{old} was moved to {now} there, and to {new} here: it is {now}.")
            return
        source, target = file_of(old), file_of(new)
        if target in self._files or self._count(new):
            self._places[new] = old
            self._notes.append(f"{old} was moved to {new} here; there {new} is another: it stays.")
            return
        self._places[new] = new
        self._now[new], self._counts[new] = self._overview(old), self._count(old)
        self._now[old], self._counts[old] = "", 0
        leaf = self._files.pop(source, None)
        if leaf is not None:
            self._files[target] = leaf
        renames = {source: target} if leaf is not None else {}
        self._drafts.append(told_again(told, self._hand, told.raw, renames=renames))

    def _bring_together(self) -> None:
        """Put what the files must hold at the end into a last commit, where it is not there yet."""
        changed = {
            path
            for path in self._ours.keys() | self._base.keys()
            if self._ours.get(path) != self._base.get(path)
        }
        sections = {path for path in changed if self._is_text(path)}
        self._texts.read({x.blob for path in sections for x in self._leaves(path) if x})
        puts: dict[str, bytes] = {}
        drops: list[str] = []
        for path in sorted(sections):
            self._settle_section(path.removesuffix(".md"), puts, drops)
        links = self._settle_others(sorted(changed - sections), drops)
        if puts or drops or links:
            message = Message(summary="Merge what both sides wrote", text="", verb="merge")
            self._drafts.append(
                upkeep_draft(self._hand, message, puts=puts, links=links, drops=drops)
            )

    def _leaves(self, path: str) -> tuple[Leaf | None, ...]:
        there = file_of(self._moved_there(path.removesuffix(".md")))
        return (
            self._base.get(path),
            self._ours.get(path),
            self._theirs.get(path),
            self._theirs.get(there),
        )

    def _is_text(self, path: str) -> bool:
        """Whether a path is a section's file on whatever side has it."""
        leaves = [x for x in self._leaves(path) if x is not None]
        return find_section(path) is not None and all(x.is_file for x in leaves)

    def _settle_section(self, section: str, puts: dict[str, bytes], drops: list[str]) -> None:
        place = self._place(section)
        path = file_of(place)
        leaf = self._ours.get(file_of(section))
        if leaf is None:
            if section in self._origins.values():
                return  # it was moved
            if self._is_untouched_there(section):
                if self._files.pop(path, None):
                    drops.append(path)
            elif path in self._files:
                self._notes.append(f"{section} was removed here, and written to there: it stays.")
            return
        base, theirs = self._sides_of(section)
        ours = self._texts.of(leaf) or ""
        if base is None and theirs is None and not ours and not self._count(place):
            return  # its one entry is told elsewhere: one key, two sections
        wanted = ours if theirs is None else settle(base or "", ours, theirs)
        if wanted is None:
            assert theirs is not None
            self._clashes.append(Clash(section=place, base=base or "", ours=ours))
            wanted = theirs
        if path not in self._files or self._overview(place) != wanted:
            self._now[place] = wanted
            puts[path] = self._put(place)

    def _settle_others(self, paths: Sequence[str], drops: list[str]) -> dict[str, tuple[str, str]]:
        """Files that are no section's: one side's, or both beside each other."""
        links: dict[str, tuple[str, str]] = {}
        for path in paths:
            base, ours, theirs = (x.get(path) for x in (self._base, self._ours, self._theirs))
            wanted = ours if theirs in (base, None) or theirs == ours else theirs
            if ours is not None and wanted != ours:
                beside = _beside(path, ours.blob)
                self._notes.append(f"{path} is another on both sides: yours is {beside} now.")
                if self._files.get(beside) != ours:
                    self._files[beside] = ours
                    links[beside] = (ours.mode, ours.blob)
            if wanted == self._files.get(path):
                continue
            if wanted is None:
                del self._files[path]
                drops.append(path)
            else:
                self._files[path] = wanted
                links[path] = (wanted.mode, wanted.blob)
        return links

    def _refuse_nesting(self) -> None:
        folders = {x for path in self._files for x in _folders(path)}
        for path in sorted(self._files.keys() & folders):
            raise Conflict(
                f"{path} is a file on one side and a folder on the other.",
                hint=f"Rename it with plain git in {self._repo.folder}, commit, and sync again.",
            )

    def _note_twins(self) -> None:
        added = [
            x for path in self._files.keys() - self._theirs.keys() if (x := find_section(path))
        ]
        there = [x for path in self._theirs if (x := find_section(path))]
        for section in added:
            try:
                refuse_twin(section, there)
            except Invalid as exc:
                self._notes.append(f"{exc.message} Some disks hold only one of them.")


class _Overviews:
    """The overviews in files, by the names of their blobs."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._known: dict[str, str] = {}

    def read(self, blobs: Collection[str]) -> None:
        """Read these at once."""
        missing = sorted({x for x in blobs if x} - self._known.keys())
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for name, blob in zip(some, self._repo.read_objects(some), strict=True):
                if blob is None:
                    raise lacking(self._repo.folder)
                self._known[name] = parse_file(blob.content, errors="surrogateescape").overview

    def of_blob(self, blob: str) -> str | None:
        if not blob:
            return None
        self.read([blob])
        return self._known[blob]

    def of(self, leaf: Leaf | None) -> str | None:
        return None if leaf is None or not leaf.is_file else self.of_blob(leaf.blob)


def _is_section(touch: Touch) -> bool:
    return touch.is_file and find_section(touch.path) is not None


def _said(entry: Entry) -> tuple[str, ...]:
    """What a commit by hand is known by, whatever its hash."""
    at = str(int(entry.at.timestamp()))
    return (entry.author, entry.address, at, entry.section, entry.text)


def _beside(path: str, blob: str) -> str:
    folder, sign, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem:
        return f"{path}.{blob[:7]}"
    return f"{folder}{sign}{stem}.{blob[:7]}{dot}{ending}"


def _folders(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
