"""Owns the commits that bring two histories together, on refs of ours: merged, and counted.

Never moves a branch: the caller does, and lets the folder follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.journals.git.commit import commit_chains
from commonplace.journals.git.refs import list_refs
from commonplace.journals.git.trees import list_tree
from commonplace.journals.notebook.commit_drafts import maintenance_draft, move_draft
from commonplace.journals.notebook.tree_merge import MERGED, RECOUNTED, joined_draft, recount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.journals.git.commit import CommitDraft
    from commonplace.journals.notebook.format import CommitMessage
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.ledger import Ledger
    from commonplace.journals.notebook.tree_merge import MergedTree


class HistoryMerge(Struct, frozen=True, kw_only=True):
    """Makes what two histories become.

    Attributes:
        place: The refs below which what is being made stands, each in `next`.
        ledger: A copy that follows what is made: the history alone says what is to be counted.
    """

    notebook: NotebookJournal
    place: str
    ledger: Ledger

    def take(self, to: str) -> str:
        """A history as it is, with one commit more where files state wrong counts."""
        repo = self.notebook.repo
        self.ledger.catch_up(to)
        before = list_tree(repo, to)
        files = recount(repo, before, self.ledger.count)
        if files == before:
            return to
        draft = joined_draft(
            self.notebook.signature(),
            files,
            onto=before,
            count=self.ledger.count,
            message=RECOUNTED,
        )
        return self._commit("to", to, [draft])

    def put_on(
        self,
        start: str,
        joined: MergedTree,
        *,
        before: Sequence[CommitDraft] = (),
        others: Sequence[str] = (),
        message: CommitMessage = MERGED,
    ) -> str:
        """Put what was merged on one of the two; the last commit.

        Args:
            start: The commit of that one.
            joined: The merged tree.
            before: Commits between.
            others: What it merges.
            message: What the commit says.
        """
        repo, signature, ledger = self.notebook.repo, self.notebook.signature(), self.ledger
        moves = [move_draft(signature, old, new) for old, new in joined.moves]
        bare = replace(maintenance_draft(signature, message), others=others)
        # The history alone says what is to be counted: it is there before the files are.
        ledger.catch_up(self._commit("bare", start, [*before, bare, *moves]))
        draft = joined_draft(
            signature,
            recount(repo, joined.files, ledger.count),
            onto=list_tree(repo, start),
            count=ledger.count,
            others=others,
            message=message,
        )
        return self._commit("to", start, [*before, draft, *moves])

    def _commit(self, name: str, start: str, drafts: Sequence[CommitDraft]) -> str:
        ref = f"{self.place}/next/{name}"
        commit_chains(self.notebook.repo, [(ref, start, drafts)])
        return list_refs(self.notebook.repo, ref)[ref]
