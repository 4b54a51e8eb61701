"""The ports of forgetting: what it needs of an owner's texts, their copies and the notebook.

Never opens anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from commonplace.core.ports import Source
    from commonplace.core.values import Doc
    from commonplace.journals.git.repo import GitRepository
    from commonplace.verbs.forgetting.copies import TextCopy
    from commonplace.verbs.forgetting.shingles import Shingle


class OwnerTexts(Protocol):
    """All that one owner wrote, wherever it is; nothing is opened before it is asked for."""

    def sources(self) -> Sequence[Source]:
        """Everything that lies on this machine, to find entries that say the same."""
        ...

    def elsewhere(self) -> Sequence[Source]:
        """What lies in a database, which may not answer; nothing without one."""
        ...

    def former_elsewhere(self) -> Iterable[str]:
        """The texts that edits replaced, of those that lie in a database. Raises: Unavailable."""
        ...

    def docs_with(self, shingles: Sequence[Shingle]) -> Iterable[Doc]:
        """All docs on this machine that hold a shingle, and what the index does not know yet.

        Some may come twice. Raises: Unavailable where a journal cannot be read.
        """
        ...

    def docs_elsewhere_with(self, shingles: Sequence[Shingle]) -> Iterable[Doc]:
        """All docs in a database that hold a shingle, and some others. Raises: Unavailable."""
        ...

    def folders(self) -> Mapping[str, Callable[[str], str]]:
        """For each journal whose scopes are folders, the folder that a scope stands for."""
        ...

    def unreached(self) -> Sequence[str]:
        """What cannot be reached from here, each as a sentence."""
        ...


class TextCopies(Protocol):
    """Every place where a text of one owner is written."""

    def each(self) -> Iterable[tuple[Path, str]]:
        """The places, each with the journal whose entries alone it holds; empty for any."""
        ...

    def find(self, refs: Sequence[str], shingles: Sequence[Shingle]) -> Iterable[TextCopy]:
        """The copies of a text that no journal and no filing erases."""
        ...

    def find_all(self, refs: Sequence[str], shingles: Sequence[Shingle]) -> Iterable[TextCopy]:
        """Those, and the copies that deleting the entry erases or names."""
        ...


class OwnerNotebook(Protocol):
    """The notebook, whose history holds what was forgotten until it is rewritten."""

    @property
    def keeps_history(self) -> bool:
        """Whether git keeps it; a database deletes entries, and what overviews were before."""
        ...

    def erase_versions(
        self, sections: Sequence[str], cut: Callable[[str], str], *, current: bool
    ) -> object:
        """Erase a text from what a database keeps of overviews.

        Args:
            sections: Those whose overviews go, with all that they were before.
            cut: Takes the text out of what every other overview was before.
            current: Whether out of what it is now, too.
        """
        ...

    def repository(self) -> GitRepository | None:
        """Its repository; None where there is none."""
        ...

    def history(self) -> RewritesHistory:
        """What rewrites it; only where there is a repository."""
        ...

    def unfile_commits(self, refs: Sequence[str]) -> object:
        """Take refs of commits that are gone out of the index."""
        ...


class RewritesHistory(Protocol):
    """A notebook whose commits can be built again without what is forgotten."""

    def forget(
        self,
        refs: Sequence[str],
        cut: Callable[[bytes], bytes],
        *,
        keep_until: datetime | None,
        without_context: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Build every branch again; see `journals.notebook.forget`."""
        ...

    def finish(self) -> Sequence[str]:
        """Remove what a killed process left; what is left to do. Raises: Unavailable."""
        ...

    def drop_expired(self, now: datetime) -> int:
        """Remove the former branches that have expired; returns how many. Raises: Unavailable."""
        ...

    def list_ends(self) -> Sequence[datetime]:
        """When the former branches expire that are kept, the next first."""
        ...
