"""Owns what an overview could not know: entries of its section replaced after it was written.

Never goes by times, which differ among clones: git's history says what a writer could know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import ChainLink, Replacement
from commonplace.journals.git.history import parse_commit
from commonplace.journals.git.run import LONG_TIMEOUT_S
from commonplace.journals.notebook.format import parse_file, parse_message, version_of, written_of
from commonplace.journals.notebook.names import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.ledger import Ledger
    from commonplace.journals.notebook.sections import EntryLine, ReplacedEntry

_AT_ONCE = 64
_MORE = 16
"""So many times more commits are listed where the first ones do not reach back far enough."""


def replaced_since_overview(
    repo: GitRepository, ledger: Ledger, section: str, *, before: datetime | None = None
) -> tuple[Replacement, ...]:
    """Entries that a section's overview may state as true, with what took their place since.

    Newest first. Entries written after the overview are left out, and so are those whose successor
    the writer of the overview could read. Where nothing of the section was ever replaced this is
    one query of the ledger, without git.

    ledger: of its entries, caught up; before: only what was written before counts, None for all.
    Raises: Unavailable, Denied.
    """
    replaced = ledger.list_replaced(section)
    head = repo.head().commit if replaced else ""
    if not head:
        return ()
    paths = [file_of(name) for name in ledger.names_of(section)]
    found: dict[str, Replacement] = {}
    for each in _unknown_to_writer(replaced, _Overviews(repo, paths, head)):
        old, new = each.former, each.successor
        if old.id not in found and _is_written(repo, new, before):
            end = _end_of_chain(repo, ledger, new, before)
            found[old.id] = Replacement(
                former=ChainLink(ref=old.ref, at=old.at),
                successor=ChainLink(ref=end.ref, at=end.at),
            )
    return tuple(found.values())


def commits_that_wrote(repo: GitRepository, ledger: Ledger, section: str) -> list[str]:
    """The commits that made a section's overview what it is; none where it is blank.

    Several where clones wrote the same text. Raises: Unavailable, Denied.
    """
    head = repo.head().commit
    overviews = _Overviews(repo, [file_of(name) for name in ledger.names_of(section)], head)
    return _commits_that_wrote(overviews) if head and overviews.read([]) else []


def _unknown_to_writer(
    replaced: Sequence[ReplacedEntry], overviews: _Overviews
) -> Iterator[ReplacedEntry]:
    """The entries that were there before the overview, and whose successors came after it.

    An overview that right before a successor read as it does now is older than that one; any other
    is newer, unless it comes from a line of the history that was merged.
    """
    commits = [line.hash for each in replaced for line in (each.former, each.successor)]
    if not overviews.read([f"{commit}^" for commit in commits]):
        return
    is_open = any(
        not each.is_on_one_line and f"{each.successor.hash}^" not in overviews for each in replaced
    )
    later = _later(overviews, [x.successor.hash for x in replaced]) if is_open else frozenset[str]()
    for each in replaced:
        old, new = each.former.hash, each.successor.hash
        is_newer = f"{new}^" in overviews or (not each.is_on_one_line and new in later)
        if is_newer and f"{old}^" not in overviews and old not in later:
            yield each


class _Overviews:
    """A section's overview, and which of the commits that were read hold it word for word.

    Args:
        repo: Where they lie.
        paths: What its file is called and was called, the newest name first.
        head: The commit that has it as it is now.
    """

    def __init__(self, repo: GitRepository, paths: Sequence[str], head: str) -> None:
        self.repo = repo
        self.paths = paths
        self.head = head
        self._texts: dict[str, str] = {}

    def __contains__(self, commit: str) -> bool:
        return self._texts.get(commit) == self._texts[self.head]

    def read(self, commits: Sequence[str]) -> bool:
        """Read the overview at each commit, and first at the head; whether there is one there."""
        commits = list(dict.fromkeys([*([] if self._texts else [self.head]), *commits]))
        width = len(self.paths)
        for start in range(0, len(commits), _AT_ONCE):
            some = commits[start : start + _AT_ONCE]
            blobs = self.repo.read_objects([f"{x}:{path}" for x in some for path in self.paths])
            for place, commit in enumerate(some):
                # By its newest name: an older one may have been taken by another section since.
                there = blobs[place * width : (place + 1) * width]
                blob = next((x for x in there if x is not None and x.kind == "blob"), None)
                text = parse_file(blob.content).overview if blob else ""
                self._texts[commit] = version_of(text) if text.strip() else ""
        return bool(self._texts[self.head])


def _later(overviews: _Overviews, commits: Sequence[str]) -> frozenset[str]:
    """These commits and their ancestors, less those that the overview's writer had."""
    writing = (f"^{commit}" for commit in _commits_that_wrote(overviews))
    ran = overviews.repo.git.run(
        ["rev-list", "--stdin"],
        stdin="\n".join([*commits, *writing]).encode(),
        timeout_s=LONG_TIMEOUT_S,
    )
    return frozenset(ran.out.decode("ascii").split())


def _commits_that_wrote(overviews: _Overviews) -> list[str]:
    """The commits that made the overview what it is; several where clones wrote the same text."""
    most = _AT_ONCE
    while True:
        # The newest that touched the section, each with those that it follows in that list.
        asked = ["rev-list", "--parents", f"--max-count={most}", "--end-of-options", overviews.head]
        ran = overviews.repo.git.run([*asked, "--", *overviews.paths], timeout_s=LONG_TIMEOUT_S)
        lines = (line.split() for line in ran.out.decode("ascii").splitlines())
        parents = {commit: before for commit, *before in lines}
        overviews.read([*parents])
        found = _walk_back(parents, overviews, is_all=len(parents) < most)
        if found is not None:
            return found
        most *= _MORE


def _walk_back(
    parents: Mapping[str, Sequence[str]], overviews: _Overviews, *, is_all: bool
) -> list[str] | None:
    """From the newest commit back while the text is the same: where it began.

    None where the list ends before that, unless it is all there is.
    """
    todo, seen, began = [*parents][:1], set[str](), list[str]()
    while todo:
        commit = todo.pop()
        if commit in seen:
            continue
        seen.add(commit)
        if not is_all and not parents.keys() >= {*parents[commit]}:
            return None
        same = [each for each in parents[commit] if each in overviews]
        todo += same
        if not same:
            began.append(commit)
    return began


def _is_written(repo: GitRepository, line: EntryLine, before: datetime | None) -> bool:
    """Whether an entry was written down before an instant."""
    if before is None:
        return True
    (blob,) = repo.read_objects([line.hash])
    written = blob and written_of(parse_message(parse_commit(line.hash, blob.content).message))
    return (written or line.at) < before


def _end_of_chain(
    repo: GitRepository, ledger: Ledger, line: EntryLine, before: datetime | None
) -> EntryLine:
    """What holds in the place of an entry that was replaced in its turn; the newest of a circle."""
    passed = {line.id}
    while later := ledger.find_successor(line.id):
        if later.id in passed or not _is_written(repo, later, before):
            break
        passed.add(later.id)
        line = later
    return line
