"""Owns what the other local branches of a notebook hold beside its own: their entries, each once.

Derived from git, and kept in the ledger's file; never counts for a section, and never writes git.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from msgspec import to_builtins

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import NotFound, Unavailable
from commonplace.core.text import opening, well_formed
from commonplace.journals.git.history import read_history
from commonplace.journals.git.run import LONG_TIMEOUT_S
from commonplace.journals.notebook.format import ref_of
from commonplace.journals.notebook.history_rows import EndRow, MoveRow, rows_of
from commonplace.journals.notebook.ledger import BRANCH_TABLES, lines_of, queries

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from commonplace.journals.git.history import Commit
    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.ledger import Ledger
    from commonplace.journals.notebook.sections import EntryLine

BRANCHES = "refs/heads/"
_TRIES = 20


def short_name(branch: str) -> str:
    """A branch as people call it."""
    return well_formed(branch.removeprefix(BRANCHES))


class OtherBranches:
    """The entries of every local branch but the one that the notebook is on.

    An entry that both hold is the notebook's own, and not here. What asks raises Unavailable or
    Denied where git or the disk refuses.
    """

    def __init__(self, repo: GitRepository, ledger: Ledger) -> None:
        self._repo = repo
        self._ledger = ledger

    def mark(self) -> str:
        """Changes with the other branches; empty for none. Reads a few small files of git's."""
        others = self._others(self._repo.head().branch)
        return sha256_hex(json.dumps(others, sort_keys=True).encode())[:16] if others else ""

    def _others(self, own: str) -> dict[str, str]:
        return {short_name(x): at for x, at in self._repo.branches().items() if x != own}

    def catch_up(self) -> bool:
        """Read what the other branches hold by now; whether they hold any entry."""
        for _ in range(_TRIES):
            head = self._repo.head()
            others = self._others(head.branch)
            at = self._ledger.catch_up()
            known = self._known()
            if others == (known or {}):
                return bool(others and self._ledger.ask("has_elsewhere"))
            if at == head.commit and self._read_what_can_be(known, others, at):
                return bool(self._ledger.ask("has_elsewhere"))
        raise Unavailable(
            "The branches of {place} kept changing while they were read.",
            hint="Try again.",
            place=self._repo.folder,
        )

    def _known(self) -> dict[str, str] | None:
        """The branches that were read, with their commits; None where none were."""
        found = self._ledger.ask("branches")
        return dict(json.loads(found[0][0])) if found else None

    def _read_what_can_be(
        self, known: Mapping[str, str] | None, others: Mapping[str, str], head: str
    ) -> bool:
        """The same as `_read`, where a branch that lacks an object hides nothing of the others.

        It is not noted as read, so each look tries it again.
        """
        try:
            return self._read(known, others, head)
        except Unavailable:
            whole: dict[str, str] = {}
            for name, at in others.items():
                with contextlib.suppress(Unavailable):
                    self._commits([at], [head] if head else [])
                    whole[name] = at
            if len(whole) == len(others):
                raise
            return whole == (known or {}) or self._read(known, whole, head)

    def _read(self, known: Mapping[str, str] | None, others: Mapping[str, str], head: str) -> bool:
        """Read what has come, or all where something is gone; False where others read meanwhile."""
        tips, own = [*dict.fromkeys(others.values())], [head] if head else []
        seen = [*dict.fromkeys((known or {}).values())]
        is_whole = known is None or self._is_lost({*seen} - {*tips}, [*tips, *own])
        come = self._commits(tips, own if is_whole else [*own, *seen])
        if not is_whole and any(isinstance(x, EndRow) for each in come for x in rows_of(each)):
            # What an entry says that had expired may be shown again.
            is_whole, come = True, self._commits(tips, own)
        with self._ledger.writing() as conn:
            sql = queries()
            found = conn.execute(sql["branches"]).fetchone()
            is_same = (None if found is None else dict(json.loads(found[0]))) == known
            if not is_same or conn.execute(sql["state"]).fetchone()[1] != head:
                return False
            for table in BRANCH_TABLES if is_whole else ():
                conn.execute(sql[f"clear_{table}"])
            self._add(conn, come)
            self._place(conn, others)
            conn.execute(sql["sweep_expired_elsewhere"], {"now": self._ledger.now()})
            conn.execute(sql["set_branches"], {"branches": json.dumps(others, sort_keys=True)})
        return True

    def _commits(self, tips: Sequence[str], without: Sequence[str]) -> list[Commit]:
        """The commits of branches that others do not hold, oldest first; a few more do no harm."""
        new = [x for x in tips if x not in without]
        return list(read_history(self._repo, new, since=without, exact=False)) if new else []

    def _is_lost(self, gone: set[str], held: Sequence[str]) -> bool:
        """Whether commits that were read are in the history of no branch any more."""
        if not gone:
            return False
        names = [x.name for x in self._repo.read_objects(sorted(gone)) if x is not None]
        if len(names) < len(gone):
            return True
        asked = ["rev-list", "--max-count=1", "--end-of-options", *names, *(f"^{x}" for x in held)]
        return bool(self._repo.git.run(asked, timeout_s=LONG_TIMEOUT_S).out.strip())

    def _add(self, conn: sqlite3.Connection, commits: Sequence[Commit]) -> None:
        sql = queries()
        for commit in commits:
            rows = list(rows_of(commit))
            move = next((x for x in rows if isinstance(x, MoveRow)), None)
            names = {"old": move.old if move else None, "new": move.new if move else None}
            parents = " ".join(commit.parents)
            values = {"hash": commit.hash, "parents": parents, **names}
            is_new = conn.execute(sql["add_branch_commit"], values).rowcount > 0
            for row in rows if is_new else ():
                if isinstance(row, EndRow):
                    conn.execute(sql["add_branch_end"], to_builtins(row))
                elif isinstance(row, dict):
                    conn.execute(sql["add_branch_entry"], row)

    def _place(self, conn: sqlite3.Connection, others: Mapping[str, str]) -> None:
        """Say of each entry where it is, and which branches hold it; one commit of it is shown."""
        sql = queries()
        commits = conn.execute(sql["branch_commits"]).fetchall()
        parents = {name: above.split() for name, above, _, _ in commits}
        names, bits = sorted(others), dict.fromkeys(parents, 0)
        for number, name in enumerate(names):
            if others[name] in bits:
                bits[others[name]] |= 1 << number
        for name in reversed(parents):
            for parent in parents[name]:
                if parent in bits:
                    bits[parent] |= bits[name]
        moves = [(_below(name, parents), old, new) for name, _, old, new in commits if old]
        rows = conn.execute(sql["branch_rows"]).fetchall()
        held: dict[tuple[str, str], int] = {}
        last: dict[tuple[str, str], int] = {}
        for seq, entry_id, named, _, name, _, _ in rows:
            held[entry_id, named] = held.get((entry_id, named), 0) | bits[name]
            last[entry_id, named] = seq
        for seq, entry_id, named, section, name, branches, is_shown in rows:
            place = named
            for below, old, new in moves:
                place = new if place == old and name in below else place
            mask = held[entry_id, named]
            holding = json.dumps([x for n, x in enumerate(names) if mask >> n & 1])
            now = (place, holding, int(last[entry_id, named] == seq))
            if now != (section, branches, is_shown):
                values = dict(zip(("section", "branches", "is_shown"), now, strict=True))
                conn.execute(sql["place_branch_entry"], {"seq": seq, **values})

    def list_all(self) -> list[tuple[EntryLine, str]]:
        """Every entry that has not expired, with the id of the one whose place it took."""
        rows = self._ledger.ask("all_elsewhere")
        lines = lines_of(row[:-1] for row in rows)
        return [(line, row[-1]) for line, row in zip(lines, rows, strict=True)]

    def count_expired(self) -> int:
        """How many have expired."""
        return int(self._ledger.ask("count_expired_elsewhere")[0][0])

    def list_ends(self) -> list[EntryLine]:
        """The entries that expire, and were not yet swept."""
        return lines_of(self._ledger.ask("set_ends_elsewhere"))

    def list_ended(self) -> list[EntryLine]:
        """The entries of which later commits say when they expire."""
        return lines_of(self._ledger.ask("ended_elsewhere"))

    def by_id(self, entry_id: str) -> list[EntryLine]:
        """The entry with an id; several lines for a commit by hand in several sections."""
        return lines_of(self._ledger.ask("by_id_elsewhere", id=entry_id))

    def by_id_start(self, start: str) -> list[EntryLine]:
        """The entries whose id begins so, at most 50."""
        return lines_of(self._ledger.ask("by_id_start_elsewhere", low=start, high=f"{start}g"))

    def by_hash(self, prefix: str) -> list[EntryLine]:
        """The entries whose commit's hash begins so, at most 50."""
        return lines_of(self._ledger.ask("by_hash_elsewhere", low=prefix, high=f"{prefix}g"))

    def find_successor(self, entry_id: str) -> EntryLine | None:
        """The entry of another branch that took the place of one there; None for none."""
        found = lines_of(self._ledger.ask("successor_elsewhere", id=entry_id))
        return next(iter(found), None)

    def has_section(self, section: str) -> bool:
        """Whether another branch has an entry of a section that has not expired."""
        return bool(self._ledger.ask("has_section_elsewhere", sections=self._names(section)))

    def newest(self, section: str, *, branch: str = "", start: int, length: int) -> list[EntryLine]:
        """The entries of a section, newest first: of all branches, or those that one holds."""
        page = {"section": section, "start": start, "length": length}
        asked = {**page, "sections": self._names(section)}
        if not branch:
            return lines_of(self._ledger.ask("newest_everywhere", **asked))
        if self.is_own(branch):
            return self._ledger.newest(section, start=start, length=length)
        without = self._not_held_by(branch)
        found = self._ledger.ask("newest_on_branch", **asked, branch=branch, without=without)
        return lines_of(found)

    def refs_not_on(self, branch: str) -> tuple[str, ...]:
        """The refs of the entries that one branch does not hold."""
        without = "[]" if self.is_own(branch) else self._not_held_by(branch)
        rows = self._ledger.ask("not_on_branch", branch=branch, without=without)
        return tuple(ref_of(section, entry_id) for section, entry_id in rows)

    def find(self, branch: str) -> str:
        """A local branch as people call it. Raises: NotFound."""
        return short_name(self.find_ref(branch)[0])

    def find_ref(self, branch: str) -> tuple[str, str]:
        """A local branch by git's full name, of any bytes, and its commit. Raises: NotFound."""
        name, there = well_formed(branch.strip()), self._repo.branches().items()
        for called in (name, name.removeprefix(BRANCHES)):
            for ref, commit in there:
                if short_name(ref) == called:
                    return ref, commit
        raise NotFound(
            f"The notebook has no branch {opening(name.removeprefix(BRANCHES), 80)!r}.",
            hint="List them: `commonplace notebook branch`.",
        )

    def is_own(self, branch: str) -> bool:
        """Whether the notebook is on a branch."""
        return branch == short_name(self._repo.head().branch)

    def _names(self, section: str) -> str:
        """What a section is called here, and was called before it was moved, as JSON."""
        return json.dumps(self._ledger.names_of(section))

    def _not_held_by(self, branch: str) -> str:
        """The commits of our own branch that another does not hold, as JSON."""
        head, other = self._repo.head().commit, self._others("")[branch]
        if not head:
            return "[]"
        asked = ["rev-list", "--end-of-options", head, f"^{other}"]
        ran = self._repo.git.run(asked, timeout_s=LONG_TIMEOUT_S)
        return json.dumps(ran.out.decode("ascii").split())


def _below(commit: str, parents: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The commits in the history of one, as far as they are known, and itself."""
    todo, seen = [commit], {commit}
    while todo:
        for parent in parents[todo.pop()]:
            if parent in parents and parent not in seen:
                seen.add(parent)
                todo.append(parent)
    return frozenset(seen)
