"""Owns how an entry leaves a notebook's history for good: every branch is made anew without it.

Never changes what a person has edited and not committed, and never reaches a remote.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.core.errors import Conflict, NotFound
from commonplace.core.files import replace_file
from commonplace.journals.git.refs import RefUpdate, list_refs, update_refs
from commonplace.journals.git.repo import is_repository
from commonplace.journals.git.rewriting import MADE, drop_unreachable, rewrite_branches
from commonplace.journals.git.trees import compare_trees
from commonplace.journals.notebook.conflicts import Clashes
from commonplace.journals.notebook.format import parse_message
from commonplace.journals.notebook.names import parse_address
from commonplace.journals.notebook.sync_checks import FORGOTTEN, read_forgotten, refuse_shallow
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.journal import Notebook

BACKUPS = "refs/commonplace/before-forgetting"
"""Below it the former branches are kept, each under the second since 1970 when it goes."""

_MESSAGE = b"An entry was forgotten.\n\nCommonplace: forgotten\n"
_WHY = "commonplace forget"


class NotebookHistory:
    """Rewrites the history of one notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook

    def forget(
        self, refs: Sequence[str], cut: Callable[[bytes], bytes], *, keep_until: datetime | None
    ) -> tuple[str, ...]:
        """Make every branch anew without some entries, and with other contents of files.

        Killed at any moment, it is asked again: the branches move in one step.

        Args:
            refs: Of the entries; those that are there no more, and overviews, are passed over.
            cut: Gives a file's content without what is to be forgotten.
            keep_until: Until when the former branches are kept, to take it back; None for not.

        Returns:
            Sentences on what is left to do, and on what was left as it was.

        Raises:
            Conflict: Something of the notebook waits to be settled, finished or committed.
            Unavailable, Denied.
        """
        notebook = self._notebook
        refuse_shallow(notebook.repo)
        if Clashes(notebook).list_open():
            raise Conflict(
                "Overviews of the notebook wait to be settled.",
                hint="Settle them first: `commonplace notebook conflicts`.",
            )
        ids, hashes = self._named(refs)

        def message_of(name: str, message: bytes) -> bytes:
            said = parse_message(message.decode("utf-8", "replace"))
            if name in hashes or said.entry_id in ids:
                gone.add(name)
                return _MESSAGE
            return message

        gone: set[str] = set()
        with notebook.repo.locked() as repo:
            head = repo.writable_head()
            former = list_refs(repo, "refs/heads/")
            made = rewrite_branches(repo, cut, message_of)
            moves = [RefUpdate(ref, made[ref], old) for ref, old in former.items()]
            moves += self._backups(former, keep_until)
            # What else leads to the former history: where remotes were, and what a sync kept.
            for place in (MADE, "refs/remotes", "refs/commonplace/synced", "refs/commonplace/sync"):
                moves += [RefUpdate(ref, "") for ref in list_refs(repo, place)]
            changes = compare_trees(repo, head.commit, made[head.branch])
            # Before the branches move: from then on nobody may bring it back.
            self._note_forgotten(repo, gone)
            tree = WorkTree(repo)
            with tree.following(head, changes, edits="refused") as notes:
                update_refs(repo, moves, why=_WHY)
            tree.forget_last_move()  # to take it back is a reset
            drop_unreachable(repo)
        self._remake_ledger()
        return (*notes, *self._left(former))

    def finish(self) -> None:
        """Go on where the branches had moved: the folder follows, and what nothing leads to goes.

        Raises: Unavailable, Denied.
        """
        with self._notebook.repo.locked() as repo:
            tree = WorkTree(repo)
            tree.refresh()
            tree.forget_last_move()
            drop_unreachable(repo)
        self._remake_ledger()

    def list_ends(self) -> list[datetime]:
        """When the former branches go that are kept, the next first."""
        if not is_repository(self._notebook.folder):
            return []
        return sorted({_end_of(ref) for ref in list_refs(self._notebook.repo, BACKUPS)})

    def drop_expired(self, now: datetime) -> int:
        """Remove the former branches whose time is over; how many. Raises: Unavailable."""
        if not is_repository(self._notebook.folder):
            return 0
        over = [x for x in list_refs(self._notebook.repo, BACKUPS) if _end_of(x) <= now]
        if over:
            with self._notebook.repo.locked() as repo:
                update_refs(repo, [RefUpdate(ref, "") for ref in over], why=_WHY)
                drop_unreachable(repo)
        return len(over)

    def _named(self, refs: Sequence[str]) -> tuple[set[str], set[str]]:
        """The ids of entries, and the hashes of commits by hand."""
        ids, hashes = set(), set()
        for address in map(parse_address, refs):
            with contextlib.suppress(NotFound):
                if address.entry:
                    line = self._notebook.find_line(address)
                    ids.add(line.id)
                    hashes.add(line.hash)
        return ids, hashes

    def _backups(self, former: dict[str, str], keep_until: datetime | None) -> list[RefUpdate]:
        if keep_until is None:
            return []
        end = int(keep_until.timestamp())
        return [
            RefUpdate(f"{BACKUPS}/{end}/{ref.removeprefix('refs/heads/')}", old)
            for ref, old in former.items()
        ]

    def _note_forgotten(self, repo: GitRepository, gone: set[str]) -> None:
        known = dict.fromkeys([*read_forgotten(repo), *sorted(gone)])
        replace_file(repo.common_dir / FORGOTTEN, "".join(f"{x}\n" for x in known).encode())

    def _remake_ledger(self) -> None:
        """Its file holds the first line of every entry."""
        ledger = self._notebook.ledger
        ledger.catch_up()
        ledger.erase()
        ledger.clear_others()

    def _left(self, former: dict[str, str]) -> list[str]:
        """What only a person can do."""
        repo = self._notebook.repo
        git, said = repo.shell_command, []
        for remote in repo.git.run(["remote"]).out.decode("utf-8", "replace").split():
            branches = " ".join(ref.removeprefix("refs/heads/") for ref in former)
            said.append(
                f"The remote {remote} still has it: {git} push --force {remote} {branches}; then"
                " `commonplace notebook sync --accept-loss` in every other clone."
            )
        others = [
            ref
            for ref in list_refs(repo, "refs/")
            if not ref.startswith(("refs/heads/", "refs/commonplace/"))
        ]
        if others:
            said.append(f"What else leads to the former history is yours: {', '.join(others)}.")
        return said


def _end_of(ref: str) -> datetime:
    """When a former branch goes; at once where its name does not say."""
    end = ref.removeprefix(f"{BACKUPS}/").partition("/")[0]
    return datetime.fromtimestamp(int(end) if end.isdigit() else 0, UTC)
