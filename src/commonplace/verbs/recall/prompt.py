"""What a prompt brings to mind: the few entries that fit it, without being asked for.

Never answers with a weak match, and never with more of the private journal than a brief may hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.brief_item import OWN, BriefItem
from commonplace.core.errors import CommonplaceError
from commonplace.core.text import excerpt, query_terms, well_formed
from commonplace.core.values import FROM_REPOSITORY, Filter
from commonplace.journals.private.markdown import split_frontmatter, split_sections
from commonplace.search import policy
from commonplace.verbs.answers import replaced_since_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from commonplace.core.values import Hit
    from commonplace.verbs.recall.service import RecallService

MOST_LINES = 3
LONGEST_PROMPT = 1000
"""Characters of a prompt that are searched for: what is asked stands at its beginning."""

_POOL = 10
"""Hits that are looked at: some were shown before, or say nothing that may be given."""

_PRIVATE = "private"


class PromptService(Struct, frozen=True, kw_only=True):
    """What answers a prompt of one owner in one project.

    Attributes:
        recall: The verbs over all journals.
        journals: Where it is looked for, by name, all but the private one; each is searched whole.
        private: By each scope of the private journal, the headings that may be given, in lower
            case; None for all of an entry.
        screen: Hides secrets in a text, before it is cut.
    """

    recall: RecallService
    journals: tuple[str, ...]
    private: Mapping[str, frozenset[str] | None]
    screen: Callable[[str], str]

    def find_strong(self, prompt: str, shown: Collection[str]) -> list[BriefItem]:
        """The few entries that fit a prompt, best first; none where the match is weak.

        Args:
            prompt: What the user asked.
            shown: The refs that the session knows already.

        Raises:
            Unavailable: The index cannot be read.
        """
        text = well_formed(prompt[:LONGEST_PROMPT]).replace("\0", " ").strip()
        if not query_terms(text):
            return []
        found = []
        for within in self._filters():
            answer = self.recall.find_strong(text, within=within, limit=_POOL)
            for hit in answer.hits:
                # Not much worse than the best one, on which the label rests.
                if hit.score >= answer.hits[0].score * policy.PROMPT_SHARE:
                    items = self._items_of(hit, text)
                    found += [(answer.chance or 0.0, hit.score, x) for x in items]
        found = [each for each in found if each[2].ref not in shown]
        found.sort(key=lambda each: (-each[0], -each[1]))
        return [item for _, _, item in found[:MOST_LINES]]

    def _items_of(self, hit: Hit, prompt: str) -> Iterator[BriefItem]:
        """The hit as a line; nothing where what fits the prompt may not be given."""
        doc = hit.doc
        text = doc.own_text if doc.word == OWN else ""
        headings = self.private.get(doc.scope) if doc.journal == _PRIVATE else None
        if text and headings is not None:
            permitted = self._read_headings(doc.ref, headings)
            # Else another heading may be what fits.
            words = query_terms(permitted, limit=len(permitted))
            text = "" if {*words}.isdisjoint(query_terms(prompt)) else permitted
        if text.strip():
            since = replaced_since_lines(hit.replaced_since, self.recall.zone)
            shown = " ".join([*since, excerpt(self.screen(text), prompt)])
            yield BriefItem(doc.at.timestamp(), shown, doc.ref, doc.kind)

    def _filters(self) -> Iterator[Filter]:
        """What is searched: the private journal by itself, as only some of it may be given."""
        journals = tuple(name for name in self.journals if name in self.recall.journals)
        if journals:
            yield Filter(journals=journals)
        if self.private:
            permitted = [*self.private.values()]
            every = None in permitted
            headings = () if every else {x for each in permitted for x in each or ()}
            yield Filter(
                journals=(_PRIVATE,),
                scopes=tuple(self.private),
                headings=tuple(sorted(headings)),
                excluded_tags=(FROM_REPOSITORY,),
            )

    def _read_headings(self, ref: str, headings: frozenset[str]) -> str:
        """What a private entry says under these; the index has all of it in one text."""
        try:
            page = self.recall.open_ref(ref)
        except CommonplaceError:  # it was deleted meanwhile, or cannot be read
            return ""
        _, body = split_frontmatter(page.text)
        holds = page.word == OWN and not page.superseded_by
        sections = split_sections(body) if holds else ()
        return "\n".join(text for name, text in sections if name.lower() in headings)
