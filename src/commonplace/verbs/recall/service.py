"""Recall's verbs over all journals, values in and values out: one question, a time, any ref.

Never makes a text for a model, and never knows a journal but by its port.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import bounds_us
from commonplace.core.errors import Denied, NotFound, Unavailable
from commonplace.core.ports import (
    AsksTogether,
    CountsJournals,
    ListsScopes,
    OpensPaths,
    SumsUpEntries,
)
from commonplace.core.refs import look_up
from commonplace.core.text import opening
from commonplace.core.values import Filter, Interval
from commonplace.core.when.phrases import parse_when
from commonplace.search import policy
from commonplace.verbs.times import naming

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.ports import OpensRefs, Searched
    from commonplace.core.values import (
        Candidates,
        Doc,
        EncoderState,
        Found,
        Here,
        Hit,
        Page,
        Replacement,
    )
    from commonplace.core.when.dates_in_text import WrittenDate
    from commonplace.search.filing.filing import Filing
    from commonplace.search.finder import Finder
    from commonplace.search.folding import Fitting


class _Most(NamedTuple):
    """How many hits are wanted at the most, and the characters that they may fill; 0 for any."""

    limit: int
    room: int = 0


class RecallQuestion(Struct, frozen=True, kw_only=True):
    """A question as understood: what is searched, what is left of it without its time, the time.

    Attributes:
        about: What is searched.
        rest: The question without its time.
        phrase: The words that its time was read from.
        interval: Its time; None where it names none.
        cuts: Whether only entries of that time are wanted. A time that stands in a question only
            leans: people write about other days than the one they write on. So does a vague one.
    """

    about: str
    rest: str
    phrase: str = ""
    interval: Interval | None = None
    cuts: bool = False

    @property
    def is_all(self) -> bool:
        """Whether it asks for whatever there is, of its time or of any: the newest of that."""
        from commonplace.search.query_features import asks_for_all, asks_for_news

        return asks_for_news(self.rest) if self.interval is None else asks_for_all(self.rest)

    def in_time(self, within: Filter) -> Filter:
        """A filter kept to the time of the question, if it names one."""
        return replace(within, interval=self.interval or Interval())


class EntriesRecalled(Struct, frozen=True, kw_only=True):
    """What answers a question to all journals.

    Attributes:
        question: As it was understood.
        found: The hits, best first, or newest first where whatever there is was asked for.
        has_todos: Whether the open to-dos that were asked for stand first.
        less: What fits less than these; a search with a limit has it.
        turns: What else was said in sessions of which enough is shown; likewise.
        outside_time: Whether nothing lies in the time of the question, so that hits are of others.
        is_weak: Whether the hits may not be about what was asked.
        missing: The journals of which not everything was searched.
        order: Of the hits: by worth, by time, or what names a date of the question first.
        asks_all: Whether a question that nothing fits well was taken to ask for whatever there is.
    """

    question: RecallQuestion
    found: Found
    has_todos: bool
    outside_time: bool
    is_weak: bool
    missing: Sequence[str]
    less: Sequence[Hit] = ()
    turns: Sequence[Hit] = ()
    order: Literal["worth", "time", "date"] = "worth"
    asks_all: bool = False

    def folded(self, hits: Sequence[Hit]) -> Fitting:
        """What is shown of its hits where no number of them was asked for, and what is folded."""
        # Its patterns are compiled at the first question: `status` asks none and must be quick.
        from commonplace.search.folding import few_of_a_session, fitting

        if self.order == "worth":
            return fitting(hits, self.question.about, self.found.chance)
        return few_of_a_session(hits, self.question.about)

    def less_likely(self) -> frozenset[str]:
        """The refs of those among the hits that fit far less than the best."""
        if self.has_todos:
            return frozenset()
        return self.folded(self.found.hits).folded_refs


class EntriesOfTime(Struct, frozen=True, kw_only=True):
    """What was written in a time, newest first; interval: None for any time.

    Attributes:
        has_more: Whether there are older ones.
        notes: What a reader must know of the search.
        is_whole: Whether all was looked through.
    """

    interval: Interval | None
    hits: Sequence[Hit]
    has_more: bool
    notes: Sequence[str]
    is_whole: bool


class PartOfTime(Struct, frozen=True, kw_only=True):
    """How many entries lie in a part of a time, and the first of them; None where it has none."""

    count: int
    first: Doc | None


class ListedTime(Struct, frozen=True, kw_only=True, eq=False):
    """What lies in a time, as it was listed once: counted by its parts as often as one likes.

    Parts lie one behind the other, each with both ends.
    """

    found: Candidates

    def counts(self, parts: Sequence[Interval]) -> list[int]:
        """How many entries lie in each part."""
        return [end - start for start, end in self._rows(parts)]

    def parts(self, parts: Sequence[Interval]) -> list[PartOfTime]:
        """How many entries lie in each part, and the first of each.

        What was said in a session comes after what was written down.
        """
        rows = self._rows(parts)
        firsts = [_first_written(self.found, start, end) for start, end in rows]
        docs = self.found.docs_at([row for row in firsts if row is not None])
        return [
            PartOfTime(count=end - start, first=None if row is None else docs.get(row))
            for (start, end), row in zip(rows, firsts, strict=True)
        ]

    def _rows(self, parts: Sequence[Interval]) -> list[tuple[int, int]]:
        """The first row of each part, and the one after its last."""
        starts, ends = zip(*map(bounds_us, parts), strict=True)
        at_us = self.found.at_us
        firsts, lasts = at_us.searchsorted(starts), at_us.searchsorted(ends)
        return [*zip(firsts.tolist(), lasts.tolist(), strict=True)]


class RecallService(Struct, frozen=True, kw_only=True, dict=True):
    """All journals of one owner, with the index over them.

    Attributes:
        journals: What opens the refs of each journal, by its name.
        lost: The journals that cannot even be opened, and why.
        shows_paths: Whether the caller can use a path of this machine.
        here: Gives the project that is asked from; None for none.
        find_end: Gives when an entry expires; None for never.
    """

    finder: Finder
    filing: Filing
    index: Searched
    journals: Mapping[str, OpensRefs]
    lost: Mapping[str, str]
    encoder: Callable[[], EncoderState]
    clock: Clock
    zone: tzinfo
    shows_paths: bool = True
    here: Callable[[], Here | None] = lambda: None
    find_end: Callable[[str], datetime | None] = lambda _: None

    def recall(
        self, query: str, *, when: str, within: Filter, limit: int | None, room: int = 0
    ) -> EntriesRecalled:
        """Search all journals for what a question is about, with the time that it names.

        Open to-dos stand first where they are asked for. A day or a month of the question in which
        nothing was written is searched for as words, where a text has it. Where else nothing lies
        in a time that is kept to, other times are searched.

        Args:
            query: The question, in words.
            when: A phrase for the only time that is wanted; blank to read one from the question.
            within: The entries that may be found, of any time.
            limit: How many hits at the most; None for as many as fill the answer.
            room: Characters of the answer, which bounds the hits where no limit does.

        Raises: Invalid, which names the argument; Unavailable.
        """
        most = _Most(policy.RECALL_MOST, room) if limit is None else _Most(limit)
        # One transaction for several questions, unless they wait for a model in between.
        if isinstance(self.index, AsksTogether) and self.finder.is_ready:
            with self.index.together():
                return self._recalled(query, when, within, most)
        return self._recalled(query, when, within, most)

    def _recalled(self, query: str, when: str, within: Filter, most: _Most) -> EntriesRecalled:
        limit = most.limit
        from commonplace.search.query_features import read_todos

        question = self._understand(query, when)
        wanted = read_todos(question.rest)
        todos = self._open_todos(question, within, limit) if wanted == "" else ()
        may_be_words = wanted is None and not when.strip()
        named = self._naming(question, within, limit) if may_be_words else None
        asks_all = False
        order: Literal["worth", "time", "date"] = "worth"
        if named:
            question = replace(question, phrase="", interval=None, cuts=False)
            found, outside, order = named, False, "date"
        elif question.is_all and wanted is None:
            found, outside = self._newest(question, within, limit)
            order = "time"
            if may_be_words and question.cuts and not outside:
                found = self._with_naming(found, question, within, limit)
        else:
            found, outside = self._fitting(query, question, within, most, has_todos=bool(todos))
            may_be_all = question.interval is None and not todos
            if may_be_all and (everything := self._everything(found, within, limit)):
                found, order, asks_all = everything, "time", True
        behind = [each.journal for each in self.filing.behind()]
        done = EntriesRecalled(
            question=question,
            found=found,
            has_todos=bool(todos),
            outside_time=outside,
            is_weak=not todos and policy.is_weak(found.chance),
            missing=tuple(dict.fromkeys([*self.lost, *behind])),
            order=order,
            asks_all=asks_all,
        )
        if most.room:
            shown = done.folded(found.hits)
            done = replace(done, less=shown.less, turns=shown.turns)
            found = replace(found, hits=shown.hits)
        hits = found.hits if wanted is None else _todos_first(todos, found.hits)[:limit]
        return replace(done, found=replace(found, hits=self._with_replaced(hits, within)))

    def _fitting(
        self, query: str, question: RecallQuestion, within: Filter, most: _Most, *, has_todos: bool
    ) -> tuple[Found, bool]:
        """What fits a question; True if nothing of its time does, and this is of other times."""
        if not question.cuts:
            # The words of a time stand in entries too: "the meeting of 3 May".
            return self._search(query, within, most, preferred_time=question.interval), False
        found = self._search(question.about, question.in_time(within), most)
        if found.hits or has_todos:
            return found, False
        found = self._search(question.about, within, most)
        return found, bool(found.hits)

    def find_strong(self, query: str, *, within: Filter, limit: int) -> Found:
        """What fits a text that is not a question to us; no hits where the match is weak.

        Unlike `recall` it never lists the newest entries or open to-dos, for which no one asked.

        Args:
            query: The text.
            within: The entries that may be found, of any time.
            limit: How many hits at the most.

        Raises:
            Invalid: A blank or too long text.
            Unavailable: The index cannot be read.
        """
        question = self._understand(query, "")
        found = self._search(query, within, _Most(limit), preferred_time=question.interval)
        is_strong = found.chance is not None and found.chance >= policy.STRONG_CHANCE
        return replace(found, hits=self._with_replaced(found.hits, within) if is_strong else ())

    def list_by_time(
        self, when: str, *, within: Filter, limit: int, start: int = 0
    ) -> EntriesOfTime:
        """List what was written in a time in all journals, newest first.

        Args:
            when: A phrase; blank for any time.
            within: The entries that may be listed, of any time.
            limit: How many at the most.
            start: How many of the newest are left out.

        Raises:
            Invalid: An unknown phrase.
            Unavailable: The index cannot be read.
        """
        interval = None
        if when.strip():
            with naming("when"):
                interval = parse_when(when, now=self.clock(), zone=self.zone)
        return self.list_in(interval, within=within, limit=limit, start=start)

    def list_in(
        self, interval: Interval | None, *, within: Filter, limit: int, start: int = 0
    ) -> EntriesOfTime:
        """As `list_by_time`, in a time that is read already; None for any. Raises: Unavailable."""
        # One more than is shown says whether there are more.
        found = self.finder.newest(
            replace(within, interval=interval or Interval()), start + limit + 1
        )
        return EntriesOfTime(
            interval=interval,
            hits=self._with_replaced(found.hits[start : start + limit], within),
            has_more=len(found.hits) > start + limit,
            notes=found.notes,
            is_whole=found.is_whole,
        )

    def written(self, within: Filter) -> Filter:
        """A filter that keeps to what was written here: no summary of it, and no client's own note.

        A summary bears the end of its period, so it would stand before all that it repeats.
        """
        from commonplace.journals.timeline.entry import ROLLUP_TYPES
        from commonplace.journals.transcripts.message import NOTE

        others = {*ROLLUP_TYPES.values(), NOTE}
        kinds = within.kinds or [x for each in self.journals.values() for x in each.kinds]
        return replace(within, kinds=tuple(x for x in kinds if x not in others))

    def listed_in(self, interval: Interval, *, within: Filter) -> ListedTime:
        """What lies in a time with both ends, to be counted by its parts. Raises: Unavailable.

        within: The entries that count, of any time.
        """
        return ListedTime(found=self.finder.listed(replace(within, interval=interval)))

    def count_by_journal(self) -> Mapping[str, int]:
        """How much is filed of each journal; empty where an index cannot say. Raises: Unavailable.

        Nothing is filed first: what was just written may not count yet.
        """
        return self.index.count_by_journal() if isinstance(self.index, CountsJournals) else {}

    def open_ref(self, ref: str) -> Page:
        """The entry under a ref of any journal, or under a path, with what stands beside it.

        Raises: Invalid, Denied, NotFound, Unavailable.
        """
        try:
            page = look_up(ref, self._open)
            gone = {} if page.superseded_by else self.finder.gone_links([page.ref])
            replaced = gone[page.ref].at if gone else None
            return replace(page, replaced=replaced, expires=self.find_end(page.ref))
        except NotFound as exc:
            forms = [each.ref_form for each in self.journals.values()]
            raise exc.extended("", hint=f"Refs look like {' or '.join(forms)}.") from exc

    def ref_of_path(self, path: str) -> str:
        """The ref of the entry under an absolute path. Raises: as `open_ref`."""
        return self._read_path(path).ref

    def _open(self, ref: str) -> Page:
        if PurePath(ref).is_absolute():
            return self._read_path(ref)
        name = ref.partition(":")[0]
        if name in self.lost:
            raise Unavailable(f"{name} cannot be used: {self.lost[name]}")
        if name not in self.journals:
            raise NotFound(f"No entry {opening(ref, 100)!r}.")
        return self.journals[name].read_ref(ref)

    def _read_path(self, path: str) -> Page:
        if not self.shows_paths:
            # Whatever it leads to: else the answer would reveal whether it was guessed.
            raise Denied(
                "Here entries go by their refs, and by no path of the machine that keeps them.",
                hint="Use a ref that a search or a list has shown.",
            )
        failed: Denied | NotFound | None = None
        for journal in self.journals.values():
            if isinstance(journal, OpensPaths):
                try:
                    return journal.read_path(path)
                except Denied as exc:  # it lies elsewhere, perhaps in the next journal
                    failed = failed or exc
                except NotFound as exc:
                    failed = exc
        raise failed or NotFound(f"No entry {opening(path, 100)!r}.")

    def _understand(self, query: str, when: str) -> RecallQuestion:
        from commonplace.core.when.inside import find_when
        from commonplace.search.query_features import asks_for_all, read_todos, refuse_long

        refuse_long(query)
        now = self.clock()
        if when.strip():
            with naming("when"):
                interval = parse_when(when, now=now, zone=self.zone)
            return RecallQuestion(
                about=query, rest=query, phrase=when.strip(), interval=interval, cuts=True
            )
        found = find_when(query, now=now, zone=self.zone)
        return RecallQuestion(
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

    def _search(
        self, about: str, within: Filter, most: _Most, *, preferred_time: Interval | None = None
    ) -> Found:
        from commonplace.search.finder import SearchQuestion

        question = SearchQuestion(
            text=about,
            where=within,
            limit=most.limit,
            room=most.room,
            floor=policy.RECALL_FLOOR,
            policy=policy.RECALL,
            preferred_time=preferred_time,
            here=self.here(),
        )
        return self.finder.find(question)

    def _with_replaced(self, hits: Sequence[Hit], within: Filter) -> tuple[Hit, ...]:
        """The hits; those that sum up entries, with those of these replaced since."""
        shown: list[Hit] = []
        for hit in hits:
            found: Sequence[Replacement] = ()
            if (journal := self._summing.get(hit.doc.journal)) is not None:
                found = journal.replaced_since(hit.doc.ref, before=within.written_before)
            shown.append(replace(hit, replaced_since=tuple(found)) if found else hit)
        return tuple(shown)

    @cached_property
    def _summing(self) -> Mapping[str, SumsUpEntries]:
        """The journals that sum up entries of their own."""
        return {x.journal: x for x in self.journals.values() if isinstance(x, SumsUpEntries)}

    def _newest(self, question: RecallQuestion, within: Filter, limit: int) -> tuple[Found, bool]:
        """The newest of the time that is asked for; after them the newest of any, if it is vague.

        Where nothing lies in it the newest of any, and True.
        """
        found = self.finder.newest(question.in_time(within), limit)
        if found.hits and (question.cuts or question.interval is None):
            return found, False
        others = self.finder.newest(within, limit)
        hits = {hit.doc.ref: hit for hit in (*found.hits, *others.hits)}
        is_outside = bool(others.hits) and not found.hits
        return replace(found, hits=tuple(hits.values())[:limit]), is_outside

    def _everything(self, found: Found, within: Filter, limit: int) -> Found | None:
        """What was written of the asker's project and of none, newest first; then what fits.

        Of every project where it is asked from none. None where the question of what was found
        asks for something.
        """
        if not self.finder.asks_all(found):
            return None
        kinds = tuple(x for x in self.written(within).kinds if x != policy.TURN)
        here = self.here()
        scopes = self._scopes_of(here) if here else ()
        if not kinds or (here and not scopes):
            return None
        newest = self.finder.newest(replace(within, kinds=kinds, scopes=scopes), limit)
        hits = {hit.doc.ref: hit for hit in (*newest.hits, *found.hits)}
        return replace(found, hits=tuple(hits.values())[:limit], chance=None)

    def _scopes_of(self, here: Here) -> tuple[str, ...]:
        """The scopes of entries that belong to the asker's project, or to none."""
        listed = self.index.scopes() if isinstance(self.index, ListsScopes) else []
        places = {scope: here.place_of(scope) for _, scope in listed}
        return tuple(x for x, at in places.items() if not os.path.isabs(at) or here.holds(at))

    def _naming(self, question: RecallQuestion, within: Filter, limit: int) -> Found | None:
        """What a search for a day or a month as words finds, where only texts have it.

        None where something was written in it, or no text names it.
        """
        from commonplace.core.when.dates_in_text import find_written
        from commonplace.search.query_features import asks_for_all

        written = find_written(question.interval, self.zone) if question.interval else None
        if written is None or self.finder.newest(question.in_time(within), 1).hits:
            return None
        found, naming = self._search_written(written, question, within, limit)
        if not naming:
            return None
        first = naming if asks_for_all(question.rest) else []
        hits = {hit.doc.ref: hit for hit in (*first, *found.hits)}
        note = f"Nothing was written in the time of {question.phrase!r}: searched for as words."
        return replace(found, hits=tuple(hits.values())[:limit], notes=(*found.notes, note))

    def _with_naming(
        self, found: Found, question: RecallQuestion, within: Filter, limit: int
    ) -> Found:
        """What was written in a day or a month, and last a few of other times whose texts name it.

        Only where it is named with its year: nobody writes out the date of yesterday.
        """
        from commonplace.core.when.dates_in_text import YEAR, find_written

        written = find_written(question.interval, self.zone) if question.interval else None
        if written is None or not YEAR.search(question.phrase):
            return found
        known = {hit.doc.ref for hit in found.hits}
        _, naming = self._search_written(written, question, within, limit)
        # They take no more than half of the places that the time itself has entries for.
        most = min(policy.NAMING_SHOWN, max(limit - len(found.hits), limit // 2))
        others = [hit for hit in naming if hit.doc.ref not in known][:most]
        if not others:
            return found
        hits = (*found.hits[: limit - len(others)], *others)
        note = f"Entries of other times that name {question.phrase!r} come last."
        return replace(found, hits=hits, notes=(*found.notes, note))

    def _search_written(
        self, written: WrittenDate, question: RecallQuestion, within: Filter, limit: int
    ) -> tuple[Found, list[Hit]]:
        """What is found for a date as words, and those of it whose texts name it."""
        about = f"{question.rest} {written.words}"
        found = self._search(about, within, _Most(max(limit, policy.DATES_READ)))
        return found, [hit for hit in found.hits if written.is_in(hit.doc.text)]

    def _open_todos(self, question: RecallQuestion, within: Filter, limit: int) -> Sequence[Hit]:
        """The open to-dos of the memory, newest first."""
        from commonplace.journals.memory.entry import open_todos
        from commonplace.journals.memory.records import JOURNAL

        is_out = (within.journals and JOURNAL not in within.journals) or (
            within.kinds and "todo" not in within.kinds
        )
        if JOURNAL not in self.journals or is_out:
            return ()
        where = question.in_time(within) if question.cuts else within
        return self.finder.newest(open_todos(where), limit).hits


def _first_written(found: Candidates, start: int, end: int) -> int | None:
    """The first of some rows that is no turn of a session, else the first; None of none."""
    if start == end:
        return None
    turns = [place for place, kind in enumerate(found.kinds) if kind == policy.TURN]
    written = found.kind[start:end] != (turns[0] if turns else -1)
    return start + int(written.argmax())  # 0 where all are turns


def _todos_first(todos: Sequence[Hit], hits: Sequence[Hit]) -> tuple[Hit, ...]:
    from commonplace.journals.memory.entry import open_first

    known = {hit.doc.ref for hit in todos}
    return (*todos, *open_first([hit for hit in hits if hit.doc.ref not in known]))
