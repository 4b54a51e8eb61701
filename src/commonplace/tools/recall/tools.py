"""Recall in words for a model: one question to all journals, and any ref opened whole.

Decides nothing about ranking or storage: it reads the time, asks the finder, and renders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

from commonplace.core.clock import render_interval
from commonplace.core.errors import NotFound, Unavailable
from commonplace.core.text import opening
from commonplace.core.values import Answer, Filter, Interval
from commonplace.search import policy
from commonplace.search.cues import asks_for_all, asks_for_news, read_todos
from commonplace.services.times import naming
from commonplace.tools.answers import interval_facts, unknown_name
from commonplace.tools.renderer import AnswerFrame, Renderer
from commonplace.tools.toolset import Arg, Resource, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from commonplace.core.ports import OpensRefs
    from commonplace.core.values import Found, Hit
    from commonplace.services.recall.service import RecallService

NOTHING = "No entries found."

_GUIDE = """\
Everything ever written is one memory: ask it with recall before you answer from what you do not \
know, whenever an earlier decision, event or preference may matter. Open what it finds with \
open_ref."""

_SHOWN_QUERY = 120
_TODOS = "First the open to-dos, newest first; then what else may fit."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A question as understood: what is searched, what is left of it without its time, the time.

    cuts: whether only entries of that time are wanted. A time that stands in a question only leans:
    people write about other days than the one they write on. A vague one leans in any case.
    """

    about: str
    rest: str
    phrase: str = ""
    interval: Interval | None = None
    cuts: bool = False

    @property
    def is_all(self) -> bool:
        """Whether it asks for whatever there is, of its time or of any: the newest of that."""
        return asks_for_news(self.rest) if self.interval is None else asks_for_all(self.rest)


class RecallTools:
    """One search over all journals, and what opens its refs; `toolset` is what doors offer.

    service: made at the first call of a tool, so that listing the tools opens nothing.
    """

    def __init__(self, service: Callable[[], RecallService]) -> None:
        self._service = service

    @property
    def toolset(self) -> Toolset:
        """The two tools, and a page on what there is."""
        return Toolset(
            name="recall",
            guide=_GUIDE,
            tools=(
                Tool(run=self.recall, title="Recall from all journals"),
                Tool(run=self.open_ref, title="Open an entry of any journal"),
            ),
            resources=(
                Resource(
                    uri="commonplace://status",
                    title="Status",
                    description="Each journal's entries, what is pending, the index, the encoder.",
                    media_type="application/json",
                    read=self._status_page,
                ),
            ),
        )

    def recall(
        self,
        *,
        query: Annotated[str, Arg("A question; a time in it ranks first: 'last spring'.")],
        when: Annotated[str, Arg("Only this time: 'March 2024'.")] = "",
        journals: Annotated[list[str], Arg("Only these: private, chronicle.")] = [],  # noqa: B006  never changed; the schema shows it
        kinds: Annotated[list[str], Arg("Only these: entry, event.")] = [],  # noqa: B006  as above
        limit: Annotated[int, Arg("How many at the most.", 1, 100)] = 10,
        budget_tokens: Annotated[int, Arg("Longest answer; 4 bytes a token.", 200, 100_000)] = 1500,
    ) -> Answer:
        """Private journal, chronicle: one search of all that was ever written, in any project.

        Use it first, for what was decided, done, learned or felt, and why. Returns the best
        entries with ref, time, place, score and excerpt; a time with nothing in it is named, and
        the best of other times shown.
        """
        service = self._service()
        read = self._read(query, when)
        everywhere = self._filter(journals, kinds)
        about = read_todos(read.rest)
        todos = self._open_todos(read, everywhere, limit) if about == "" else ()
        outside = False
        if read.is_all and about is None:
            found, outside = self._newest(read, everywhere, limit)
        elif read.cuts:
            found = self._find(
                read.about, replace(everywhere, within=read.interval or Interval()), limit
            )
            if not found.hits and not todos:
                found = self._find(read.about, everywhere, limit)
                outside = bool(found.hits)
        else:
            found = self._find(read.about, everywhere, limit, leaning=read.interval)
        if about is not None:
            found = _todos_first(todos, found, limit)
        weak = not todos and found.chance is not None and found.chance < policy.WEAK_CHANCE
        frame = AnswerFrame(
            head=(
                *self._head(read, found, outside=outside, weak=weak),
                *([_TODOS] if todos else []),
            ),
            facts={
                "query": opening(query, _SHOWN_QUERY),
                "interval": _interval_facts(read),
                "outside_time": outside,
                "weak": weak,
                "chance": None if found.chance is None else round(found.chance, 3),
                "missing": self._missing(),
            },
            notes=self._notes(found),
        )
        renderer = self._renderer(service)
        return renderer.hits(frame, found.hits, about=read.about, budget_tokens=budget_tokens)

    def open_ref(
        self, *, ref: Annotated[str, Arg("As shown: 'chronicle:<id>', 'private:user/…'.")]
    ) -> Answer:
        """Private journal, chronicle: open the entry under a ref whole, with its neighbours.

        Use it on a ref that recall, a search or a list has shown.
        """
        service = self._service()
        journal = self._journal_of(ref.strip())
        try:
            page = journal.read_ref(ref.strip())
        except NotFound as exc:
            raise NotFound(exc.message, hint=f"{exc.hint} {self._forms()}".strip()) from exc
        return self._renderer(service).page(page)

    def _read(self, query: str, when: str) -> _Read:
        from commonplace.core.when.inside import find_when
        from commonplace.core.when.phrases import parse_when

        service = self._service()
        now = service.clock()
        if when.strip():
            with naming("when"):
                interval = parse_when(when, now=now, zone=service.zone)
            return _Read(about=query, rest=query, phrase=when.strip(), interval=interval, cuts=True)
        found = find_when(query, now=now, zone=service.zone)
        return _Read(
            about=f"{found.text} {found.feast}".strip() or query,
            rest=found.text,
            phrase=found.phrase,
            interval=found.interval,
            # By when a thing is to be done is not known: a time hides no to-do.
            cuts=found.interval is not None
            and not found.vague
            and asks_for_all(found.text)
            and read_todos(found.text) is None,
        )

    def _filter(self, journals: Sequence[str], kinds: Sequence[str]) -> Filter:
        service = self._service()
        known = [*service.journals, *service.lost]
        of_kind = list(dict.fromkeys(x for each in service.journals.values() for x in each.kinds))
        return Filter(
            journals=_checked("journals", journals, known),
            kinds=_checked("kinds", kinds, of_kind),
        )

    def _find(
        self, about: str, within: Filter, limit: int, *, leaning: Interval | None = None
    ) -> Found:
        from commonplace.search.finder import Question

        question = Question(
            text=about,
            within=within,
            limit=limit,
            floor=policy.RECALL_FLOOR,
            policy=policy.RECALL,
            leaning=leaning,
        )
        with naming("query"):
            return self._service().finder.find(question)

    def _newest(self, read: _Read, everywhere: Filter, limit: int) -> tuple[Found, bool]:
        """The newest of the time that is asked for; after them the newest of any, if it is vague.

        Where nothing lies in it the newest of any, and True.
        """
        finder = self._service().finder
        found = finder.newest(replace(everywhere, within=read.interval or Interval()), limit)
        if found.hits and (read.cuts or read.interval is None):
            return found, False
        others = finder.newest(everywhere, limit)
        hits = {hit.doc.ref: hit for hit in (*found.hits, *others.hits)}
        is_outside = bool(others.hits) and not found.hits
        return replace(found, hits=tuple(hits.values())[:limit]), is_outside

    def _open_todos(self, read: _Read, within: Filter, limit: int) -> Sequence[Hit]:
        """The open to-dos of the memory, newest first."""
        from commonplace.journals.memory.entry import (
            JOURNAL,
            open_todos,
        )

        service = self._service()
        is_out = (within.journals and JOURNAL not in within.journals) or (
            within.kinds and "todo" not in within.kinds
        )
        if JOURNAL not in service.journals or is_out:
            return ()
        span = read.interval if read.cuts else None
        return service.finder.newest(
            open_todos(replace(within, within=span or Interval())), limit
        ).hits

    def _head(self, read: _Read, found: Found, *, outside: bool, weak: bool) -> Iterator[str]:
        if read.interval is not None:
            span = render_interval(read.interval, self._service().zone)
            does = "only entries of that time" if read.cuts else "entries of that time first"
            if read.is_all:
                does = f"{does}, newest first" if read.cuts else f"the newest {does}"
            yield f"Time: {span}, read from {opening(read.phrase, 60)!r}: {does}."
        if outside:
            best = "newest" if read.is_all else "best"
            yield f"Nothing lies in that time. The {best} of other times:"
        if weak:
            yield f"Weak match, chance {found.chance:.3f}: this may not be about what was asked."
        if not found.hits:
            yield NOTHING

    def _notes(self, found: Found) -> tuple[str, ...]:
        lost = (f"{name} cannot be used: {why}" for name, why in self._service().lost.items())
        return (*lost, *found.notes)

    def _missing(self) -> list[str]:
        service = self._service()
        return list(
            dict.fromkeys([*service.lost, *(each.journal for each in service.filing.behind())])
        )

    def _renderer(self, service: RecallService) -> Renderer:
        def place_of(journal: str, scope: str) -> str:
            opener = service.journals.get(journal)
            place = scope if opener is None else opener.place_of(scope)
            return place if service.shows_paths or not place else PurePath(scope).name

        return Renderer(zone=service.zone, place_of=place_of)

    def _journal_of(self, ref: str) -> OpensRefs:
        service = self._service()
        name = ref.partition(":")[0]
        if name in service.journals:
            return service.journals[name]
        if name in service.lost:
            raise Unavailable(f"{name} cannot be used: {service.lost[name]}")
        raise NotFound(f"No entry {opening(ref, 100)!r}.", hint=self._forms())

    def _forms(self) -> str:
        forms = [each.ref_form for each in self._service().journals.values()]
        return f"Refs look like {' or '.join(forms)}."

    def _status_page(self) -> str:
        from commonplace.tools.recall.status import status_page

        return status_page(self._service())

    def status(self) -> Answer:
        """What each journal holds and what is pending; for people, no model is offered this."""
        from commonplace.tools.recall.status import status_answer

        return status_answer(self._service())


def _todos_first(todos: Sequence[Hit], found: Found, limit: int) -> Found:
    """The to-dos that were asked for, then what else was found, in which open ones come first."""
    from commonplace.journals.memory.entry import open_first

    known = {hit.doc.ref for hit in todos}
    rest = [hit for hit in found.hits if hit.doc.ref not in known]
    return replace(found, hits=(*todos, *open_first(rest))[:limit])


def _interval_facts(read: _Read) -> dict[str, str | None] | None:
    facts = interval_facts(read.interval)
    return facts and {**facts, "read_from": opening(read.phrase, _SHOWN_QUERY)}


def _checked(argument: str, names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The names as they are known, in lower case and once each. Raises Invalid for another."""
    asked = tuple(dict.fromkeys(name.strip().lower() for name in names if name.strip()))
    for name in asked:
        if name not in known:
            raise unknown_name(f"Invalid {argument}: {opening(name, 60)!r}.", name, known)
    return asked
