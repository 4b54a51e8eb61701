"""Owns how an entry leaves a notebook's history for good: every branch is built again without it.

Never changes what a person has edited and not committed, and never reaches a remote.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.errors import Conflict, NotFound
from commonplace.core.files import replace_file
from commonplace.core.text import well_formed
from commonplace.journals.git.history import parse_commit
from commonplace.journals.git.refs import (
    RefUpdate,
    find_leading,
    list_other_trees,
    list_refs,
    update_refs,
)
from commonplace.journals.git.repo import is_repository
from commonplace.journals.git.rewriting import REBUILT, drop_unreachable, rewrite_branches
from commonplace.journals.git.trees import compare_trees
from commonplace.journals.notebook.conflicts import Clashes
from commonplace.journals.notebook.format import (
    compose_message,
    parse_message,
    with_trailer,
)
from commonplace.journals.notebook.names import find_section, parse_address
from commonplace.journals.notebook.sync_checks import (
    BACKUPS,
    FORGOTTEN,
    find_followers,
    read_forgotten,
    refuse_edits,
    refuse_shallow,
)
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.notebook.journal import NotebookJournal

_MESSAGE = b"An entry was forgotten.\n\nCommonplace: forgotten\n"
_WHY = "commonplace forget"
_BRANCHES = "refs/heads/"


class NotebookHistory:
    """Rewrites the history of one notebook.

    Its verbs raise Unavailable or Denied where git or the disk refuses.
    """

    def __init__(self, notebook: NotebookJournal) -> None:
        self._notebook = notebook

    def forget(
        self,
        refs: Sequence[str],
        cut: Callable[[bytes], bytes],
        *,
        keep_until: datetime | None,
        without_context: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Build every branch again without some entries, and with other contents of files.

        Sentences on what is left to do, or was left. Killed, it can be asked again.

        Args:
            refs: Of the entries; those that are there no more, and overviews, are passed over.
            cut: Gives a file's content without what is to be forgotten.
            keep_until: Until when the former branches are kept; None for not, and then those that
                an earlier call kept go as well.
            without_context: Refs of entries that stay, and lose their work context.

        Raises: Conflict where something waits to be settled, finished or committed.
        """
        notebook = self._notebook
        refuse_shallow(notebook.repo)
        if Clashes(notebook).list_open():
            raise Conflict(
                "Overviews of the notebook wait to be settled.",
                hint="Settle them first: `commonplace notebook conflicts`.",
            )
        message_of = self._new_message(refs, cut, without_context)
        with notebook.repo.locked() as repo:
            head = repo.writable_head()
            tree = WorkTree(repo)
            tree.refresh()  # what a process left that was killed after it had moved the branch
            # Before anything is built: a branch that a person moves meanwhile is not moved back.
            former = list_refs(repo, _BRANCHES)
            made, changed = rewrite_branches(repo, cut, message_of)
            leading = find_leading(repo, changed) if changed else None
            notes: list[str] = []
            if leading is not None:
                notes += self._put_in_place(
                    repo, head, former, made, changed, leading=leading, keep_until=keep_until
                )
            notes += self._settle(repo, tree, leading)
        self._remake_ledger()
        return tuple(notes)

    def _put_in_place(
        self,
        repo: GitRepository,
        head: Head,
        former: Mapping[str, str],
        made: Mapping[str, str],
        changed: Sequence[str],
        *,
        leading: Mapping[str, str],
        keep_until: datetime | None,
    ) -> list[str]:
        """Move the branches to what was made of them, and let the folder follow."""
        self._refuse_work_trees(repo, made, changed)
        changes = compare_trees(repo, head.commit, made[head.branch])
        refuse_edits(repo, head.commit, changes, act="forget")
        moves = self._moves(former, made, leading, keep_until)
        # Before the branches move: from then on no sync may bring it back, but for what was taken
        # back since.
        tips = former.values()
        known = [x for x in read_forgotten(repo) if not any(repo.is_ancestor(x, y) for y in tips)]
        lines = "".join(f"{x}\n" for x in dict.fromkeys([*known, *changed]))
        replace_file(repo.common_dir / FORGOTTEN, lines.encode())
        with WorkTree(repo).following(head, changes, edits="refused") as notes:
            update_refs(repo, moves, why=_WHY)
        return notes

    def finish(self) -> tuple[str, ...]:
        """Go on where the branches had moved: the folder follows, and what nothing leads to goes.

        Sentences on what is left to do.
        """
        with self._notebook.repo.locked() as repo:
            tree = WorkTree(repo)
            tree.refresh()
            notes = self._settle(repo, tree)
        self._remake_ledger()
        return notes

    def list_ends(self) -> list[datetime]:
        """When the former branches go that are kept, the next first."""
        if not is_repository(self._notebook.folder):
            return []
        return sorted({_end_of(ref) for ref in list_refs(self._notebook.repo, BACKUPS)})

    def drop_expired(self, now: datetime) -> int:
        """Remove the former branches whose time is over; how many."""
        if not is_repository(self._notebook.folder):
            return 0
        over = [x for x in list_refs(self._notebook.repo, BACKUPS) if _end_of(x) <= now]
        if over:
            with self._notebook.repo.locked() as repo:
                update_refs(repo, [RefUpdate(ref, "") for ref in over], why=_WHY)
                drop_unreachable(repo)
        return len(over)

    def _new_message(
        self, refs: Sequence[str], cut: Callable[[bytes], bytes], without_context: Sequence[str]
    ) -> Callable[[str, bytes], bytes]:
        """What gives the new message of a commit for its hash and the old one.

        A commit by hand that a later one lets expire gets the id that it has, where its own would
        follow from what is cut out of its files, and the entry would be shown again. A message
        names one section: of a commit in several, the entry stays in one.
        """
        ledger = self._notebook.ledger
        formers, hashes = self._named(refs)
        bare = self._named(without_context)[0]
        ending = {x.hash: x for each in ledger.list_set_ends() for x in ledger.by_id(each)}
        ending |= {x.hash: x for x in self._notebook.branches.list_ended()}

        def message_of(name: str, message: bytes) -> bytes:
            text = message.decode("utf-8", "surrogateescape")
            said = parse_message(text)
            if name in hashes or said.entry_id in formers:
                return _MESSAGE
            line = None if said.entry_id else ending.get(name)
            if line is not None and _changes(self._notebook.repo, name, cut):
                named = replace(said, entry_id=line.id, section=line.section)
                return compose_message(named).encode("utf-8", "surrogateescape")
            if said.entry_id in bare:
                text = with_trailer(text, "Work-Context", "")
            if said.supersedes in formers:
                left = _first_left(said.supersedes, formers)
                text = with_trailer(text, "Supersedes", left)
            return text.encode("utf-8", "surrogateescape")

        return message_of

    def _named(self, refs: Sequence[str]) -> tuple[dict[str, str], set[str]]:
        """The ids of entries, each with that of the entry it superseded, and their commits."""
        formers: dict[str, str] = {}
        hashes: set[str] = set()
        for address in map(parse_address, refs):
            with contextlib.suppress(NotFound):
                if address.entry:
                    entry = self._notebook.read_kept_entry(address)
                    formers[entry.id] = entry.supersedes
                    hashes.add(entry.hash)
        return formers, hashes

    def _moves(
        self,
        former: Mapping[str, str],
        made: Mapping[str, str],
        leading: Mapping[str, str],
        keep_until: datetime | None,
    ) -> list[RefUpdate]:
        """The moves of the branches, and of other refs of ours that lead to the former history."""
        moves = [
            RefUpdate(ref, made[ref], old) for ref, old in former.items() if made.get(ref) != old
        ]
        gone = {*find_followers(leading), *list_refs(self._notebook.repo, REBUILT)}
        if keep_until is None:
            gone.update(list_refs(self._notebook.repo, BACKUPS))
        else:
            end = int(keep_until.timestamp())
            moves += [
                RefUpdate(f"{BACKUPS}/{end}/{ref.removeprefix(_BRANCHES)}", old)
                for ref, old in former.items()
            ]
        return [*moves, *(RefUpdate(ref, "") for ref in sorted(gone))]

    def _refuse_work_trees(
        self, repo: GitRepository, made: Mapping[str, str], changed: Sequence[str]
    ) -> None:
        """Refuse to move what another work tree is on: its next commit would bring all back."""
        for tree in list_other_trees(repo):
            if made.get(tree.branch, tree.commit) != tree.commit or (
                not tree.branch and any(repo.is_ancestor(x, tree.commit) for x in changed)
            ):
                shown, git = shlex.quote(well_formed(tree.path)), repo.shell_command
                raise Conflict(
                    f"The work tree {shown} is on a commit that would change.",
                    hint=f"Commit what is there, then remove it: {git} worktree remove {shown}",
                )

    def _remake_ledger(self) -> None:
        """Its file holds the first line of every entry."""
        ledger = self._notebook.ledger
        self._notebook.branches.catch_up()
        ledger.erase()
        ledger.clear_others()

    def _settle(
        self, repo: GitRepository, tree: WorkTree, leading: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Drop what nothing leads to once the branches have moved; what only a person can do.

        leading: the refs that led to the former history before; None where they are not known.
        """
        tree.forget_last_move()  # to take it back is a reset
        still = find_leading(repo, read_forgotten(repo))
        drop_unreachable(repo)
        remotes = repo.git.run(["remote"]).out.decode("utf-8", "surrogateescape").split()
        notes = [note for x in remotes if (note := self._remote_note(repo, x, leading))]
        theirs = [x for x in still if not x.startswith((_BRANCHES, "refs/commonplace/"))]
        if theirs:
            notes.append(
                "These lead to the former history too, and are yours to remove:"
                f" {', '.join(theirs)}."
            )
        return tuple(notes)

    def _remote_note(
        self, repo: GitRepository, remote: str, leading: Mapping[str, str] | None
    ) -> str:
        """How one remote is given the new history; empty where it never had the former one."""
        git, name = repo.shell_command, shlex.quote(remote)
        head = repo.head().branch.removeprefix(_BRANCHES)
        had, has = {head}, "may still have it"
        if leading is not None:
            # What a remote had is remembered as `refs/remotes/<name>/<branch>`, and by a sync as
            # `refs/commonplace/synced/<name>@<place>/<branch>`.
            called = re.escape(remote)
            place = rf"refs/(?:remotes/{called}|commonplace/synced/{called}@[^/]*)/"
            had = {re.sub(place, "", ref) for ref in leading if re.match(place, ref)}
            if had:
                has = "still has it"
            elif any(re.match(place, ref) for ref in list_refs(repo, "refs/")):
                return ""  # else an earlier forgetting may have left none of those refs
        here = {ref.removeprefix(_BRANCHES) for ref in list_refs(repo, _BRANCHES)}
        pushed = " ".join(shlex.quote(x) for x in sorted((had & here) or {head}))
        others = ", ".join(sorted(had - here))
        return (
            f"The remote {remote} {has}: {git} push --force {name} {pushed}; then"
            " `commonplace notebook sync --accept-loss` in every other clone."
            + (f" Remove the branches there that are not here: {others}." if others else "")
        )


def _changes(repo: GitRepository, name: str, cut: Callable[[bytes], bytes]) -> bool:
    """Whether a cut changes what a commit made of its sections, and so the id of one by hand."""
    (found,) = repo.read_objects([name])
    parents = parse_commit(name, found.content).parents if found else ()
    for path, change in compare_trees(repo, next(iter(parents), ""), name).items():
        names = [x.blob for x in (change.before, change.after) if x and find_section(path)]
        olds = [x.content for x in repo.read_objects(names) if x]
        news = [cut(x) for x in olds]
        if (change.after and news[-1:] != olds[-1:]) or len({*news}) < len({*olds}):
            return True
    return False


def _first_left(entry_id: str, formers: Mapping[str, str]) -> str:
    """The entry that those which go, one after another, had superseded; empty for none."""
    seen = set[str]()
    while entry_id in formers and entry_id not in seen:
        seen.add(entry_id)
        entry_id = formers[entry_id]
    return "" if entry_id in seen else entry_id


def _end_of(ref: str) -> datetime:
    """When a former branch goes; at once where its name does not say."""
    end = ref.removeprefix(f"{BACKUPS}/").partition("/")[0]
    return datetime.fromtimestamp(int(end) if end.isdigit() else 0, UTC)
