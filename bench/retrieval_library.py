"""Archives filed and asked through the product's own path: filing, index, finder, policy.

Never ranks, filters or repairs anything itself; a hit counts as the finder gives it.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack, closing
from datetime import UTC
from typing import TYPE_CHECKING, Self

from bench.retrieval_figures import BUDGETS, UNSEEN, Outcome
from commonplace.core.owner_folders import owner_folder
from commonplace.core.text import TOKEN_BYTES, text_hash
from commonplace.core.values import Filter, Here, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.search import policy as numbers
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace.search.folding import fitting
from commonplace.verbs.renderer import AnswerFrame, Renderer
from commonplace_testing import ReadySlot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from bench.retrieval_data import Archive, Asked
    from commonplace.core.ports import Encoder
    from commonplace.core.values import Change, Found, Hit, Since
    from commonplace.search.policy import Policy

LIMIT = 20
"""Hits that are ranked: as many as the deepest measure looks at."""

_WORD = re.compile(r"\w+")

FLOOR = numbers.RECALL_FLOOR
"""The least similarity of a hit by meaning alone, as the tools ask for unless told otherwise."""


class BenchJournal:
    """A journal of one archive, read-only, as a `core.ports.Source`."""

    cheap_mark = True
    exact_mark = True

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._mark = text_hash("\n".join(doc.stamp for doc in archive.docs))

    @property
    def name(self) -> str:
        """`bench:<archive>`."""
        return f"bench:{self._archive.name}"

    def mark(self) -> str:
        """The hash of every stamp: the archive never changes."""
        return self._mark

    def scan(self, since: Since) -> Iterator[Change]:
        """The entries whose stamp is not filed yet."""
        known = since.stamps(f"{self.name}/")
        return (Put(doc) for doc in self._archive.docs if known.get(doc.ref) != doc.stamp)


class Library:
    """Archives, each filed for an owner of its own under a folder; a context manager.

    encoder: None measures words alone, as on a machine without a model.
    """

    def __init__(
        self, archives: Sequence[Archive], *, folder: Path, encoder: Encoder | None
    ) -> None:
        self._open = ExitStack()
        self._finders: list[tuple[Archive, Finder]] = []
        index = self._open.enter_context(
            closing(SqliteIndex(lambda owner: folder / owner_folder(owner)))
        )
        slot = ReadySlot(encoder)
        for archive in archives:
            owned = index.of_owner(archive.name)
            filing = Filing(
                index=owned, sources=[BenchJournal(archive)], encoder=slot, holder="bench"
            )
            self._open.enter_context(closing(filing))
            filing.catch_up()
            self._finders.append((archive, Finder(index=owned, encoder=slot, filing=filing)))

    def __enter__(self) -> Self:
        """Itself, filed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop filing and let go of the index."""
        self._open.close()

    def chances(self, policy: Policy, asked: Mapping[str, Sequence[Asked]]) -> list[float]:
        """How likely hits are about each question, by the archives they are asked of."""
        found = (
            _found(finder, one, policy).chance
            for archive, finder in self._finders
            for one in asked[archive.name]
        )
        return [chance for chance in found if chance is not None]

    def ask(self, policy: Policy) -> list[Outcome]:
        """Every question of every archive, asked of its owner; may be called many times."""
        outcomes = []
        for archive, one, found in self.answers(policy):
            texts = {doc.ref: doc.text for doc in archive.docs if doc.ref in one.gold}
            fits = fitting(found.hits, one.text, found.chance).hits
            shown = [shown_share(texts, _shown(one, fits, each)) for each in BUDGETS]
            outcomes.append(judged(one, found.hits[:LIMIT], archive, shown))
        return outcomes

    def answers(
        self, policy: Policy, abilities: Sequence[str] = ()
    ) -> Iterator[tuple[Archive, Asked, Found]]:
        """Each question of each archive, and what is found for it.

        abilities: Of the questions that count; none for all.
        """
        for archive, finder in self._finders:
            for one in archive.asked:
                if not abilities or one.ability in abilities:
                    yield archive, one, _found(finder, one, policy)


def _found(finder: Finder, one: Asked, policy: Policy) -> Found:
    """As many as fill the largest answer, as recall gives them where no limit is asked for."""
    question = SearchQuestion(
        text=one.text,
        where=Filter(),
        limit=numbers.RECALL_MOST,
        floor=FLOOR,
        policy=policy,
        here=Here(one.project.__eq__, str) if one.project else None,
        room=max(BUDGETS) * TOKEN_BYTES,
    )
    return finder.find(question)


def _shown(one: Asked, hits: Sequence[Hit], tokens: int) -> Mapping[str, str]:
    """What an answer of recall shows of each hit within so many tokens, by every ref of the hit."""
    renderer = Renderer(zone=UTC, place_of=lambda _journal, scope: scope)
    frame = AnswerFrame(head=(), facts=dict)
    answer = renderer.hits(frame, hits, about=one.text, budget_tokens=tokens)
    return {
        ref: result["excerpt"]
        for result in answer.facts["results"]
        for ref in (result["ref"], *result["also"])
    }


def shown_share(texts: Mapping[str, str], shown: Mapping[str, str]) -> float:
    """The mean share of the words of these texts that is shown.

    Args:
        texts: by ref.
        shown: what is shown of each, by ref; nothing of those that are not in it.
    """
    shares = []
    for ref, text in texts.items():
        words, seen = (Counter(_WORD.findall(x.lower())) for x in (text, shown.get(ref, "")))
        shares.append((words & seen).total() / max(words.total(), 1))
    return sum(shares) / len(shares)


def judged(
    one: Asked, hits: Sequence[Hit], archive: Archive, shown: Sequence[float] = UNSEEN
) -> Outcome:
    """What the hits are worth; a near-duplicate folded into a hit is found where that hit is."""
    return judged_refs(one, [(hit.doc.ref, *hit.also) for hit in hits], archive, shown)


def judged_refs(
    one: Asked,
    hits: Sequence[Sequence[str]],
    archive: Archive,
    shown: Sequence[float] = UNSEEN,
) -> Outcome:
    """The same of hits given as their refs, each with those that were folded into it."""
    ranks: dict[str, int] = {}
    for rank, refs in enumerate(hits, start=1):
        for ref in refs:
            ranks.setdefault(ref, rank)
    return Outcome.of(
        archive=archive.name,
        kind=one.kind,
        gold=[ranks.get(ref) for ref in sorted(one.gold)],
        sessions=_session_share(one, ranks, archive),
        shown=shown,
        folded=sum(len(refs) - 1 for refs in hits),
    )


def _session_share(one: Asked, ranks: dict[str, int], archive: Archive) -> float:
    """The share of the evidence's sessions that an entry among the first ten lies in."""
    wanted = {archive.sessions[ref] for ref in one.gold}
    seen = {archive.sessions[ref] for ref, rank in ranks.items() if rank <= 10}  # noqa: PLR2004  session recall@10
    return len(wanted & seen) / len(wanted)
