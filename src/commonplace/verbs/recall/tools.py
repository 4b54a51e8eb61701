"""Recall in words for a model: one question to all journals, and any ref opened whole.

Decides nothing: it checks names, asks the service, and words what that found.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec.structs import replace

from commonplace.core.clock import render_interval
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import TOKEN_BYTES, opening
from commonplace.core.values import Answer, Filter
from commonplace.journals.table import JOURNAL_NAMES, JOURNALS
from commonplace.verbs.amend import SHORT_VERSION
from commonplace.verbs.amend_answers import amendment_answer
from commonplace.verbs.answers import (
    as_of_facts,
    as_of_lines,
    either,
    interval_facts,
    rounded,
    shown_name,
    time_lines,
    unknown_name,
)
from commonplace.verbs.recall.views import PERIOD, SEARCH, view_resources
from commonplace.verbs.renderer import AnswerFrame, Renderer
from commonplace.verbs.times import read_as_of
from commonplace.verbs.toolset import Arg, Effects, Resource, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import tzinfo

    from commonplace.verbs.amend import AmendService
    from commonplace.verbs.recall.service import EntriesRecalled, RecallService
    from commonplace.verbs.recall.status import RecallStatus

NOTHING = "No entries found."

_GUIDE = """\
Everything ever written is one memory: ask it with recall before you answer from what you do not \
know, whenever an earlier decision, event or preference may matter. Open what it finds with \
open_ref, and list what a time held with list_by_time."""

_ABOUT = ", ".join(row.title or row.name for row in JOURNALS).capitalize()

_SHOWN_QUERY = 120
_LIST_TOKENS = 2000
_CHANCE = "Chance that these are about the question: {:.3f}."
_ALL = "Taken for a question for everything: what was written last, then what may fit."
_TODOS = "First the open to-dos, newest first; then what else may fit."


class RecallTools:
    """What asks all journals, opens their refs, and corrects what is under one.

    Args:
        service: The verbs over all journals.
        amend: What corrects an entry by its ref.
    """

    def __init__(self, service: RecallService, amend: AmendService) -> None:
        self._service = service
        self._amend = amend

    @classmethod
    def toolset(cls, opens: Callable[[], Self], status: Callable[[], RecallStatus]) -> Toolset:
        """Its tools, methods of what `opens` gives at each call; listing them opens nothing.

        status: Reads the state of all journals, for a page.
        """
        return Toolset(
            name="recall",
            guide=_GUIDE,
            tools=(
                Tool(
                    run=cls.recall,
                    title="Recall from memory",
                    about=_ABOUT,
                    view=SEARCH,
                    is_short=True,
                ),
                Tool(run=cls.list_by_time, title="Remember a time", view=PERIOD),
                Tool(run=cls.open_ref, title="Open a memory"),
                Tool(
                    run=cls.amend,
                    title="Correct a memory",
                    effects=Effects(writes=True, destroys=True),
                ),
            ),
            resources=(
                Resource(
                    uri="commonplace://status",
                    title="Status",
                    description="Each journal's entries, what is pending, the index, the encoder.",
                    media_type="application/json",
                    read=lambda: json.dumps(status().facts(), ensure_ascii=False, indent=2),
                ),
                *view_resources(),
            ),
        ).of(opens)

    def recall(
        self,
        *,
        query: Annotated[str, Arg("A question; entries of its time come first.")],
        when: Annotated[str, Arg("Only this time: 'March 2024'.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        journals: Annotated[list[str], Arg("Only these: 'private', 'chronicle'.")] = [],
        kinds: Annotated[list[str], Arg("Only these: 'entry', 'event'.")] = [],
        limit: Annotated[int | None, Arg("At most.", 1, 100)] = None,
        budget_tokens: Annotated[int, Arg("Most tokens.", 200, 100_000)] = 1000,
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Search your memory, in any project.

        Use it at the start of a session or a task, and before you answer from what you do not know:
        what was decided, done, learned or felt, and why. Returns refs with excerpts, best first.
        """
        service = self._service
        before = read_as_of(service, as_of)
        within = replace(_filter(service, journals, kinds), written_before=before)
        room = budget_tokens * TOKEN_BYTES if limit is None else 0
        done = service.recall(query, when=when, within=within, limit=limit, room=room)
        frame = AnswerFrame(
            head=(*as_of_lines(before, service.zone), *_head(done, service.zone, explain=explain)),
            facts=lambda: {
                "query": opening(query, _SHOWN_QUERY),
                **_facts(done, explain=explain),
                **as_of_facts(before),
            },
            notes=_notes(service, done.found.notes),
            explains=explain,
            less=done.less,
            turns=done.turns,
            less_likely=done.less_likely if limit else frozenset,
        )
        return _renderer(service).hits(
            frame, done.found.hits, about=done.question.about, budget_tokens=budget_tokens
        )

    def list_by_time(
        self,
        *,
        when: Annotated[str, Arg("'yesterday', 'last week'; else any.")] = "",
        as_of: Annotated[str, Arg("As in recall.")] = "",
        journals: Annotated[list[str], Arg("As in recall.")] = [],
        limit: Annotated[int, Arg("At most.", 1, 100)] = 20,
        start: Annotated[int, Arg("Newest to skip.", 0, 10_000)] = 0,
    ) -> Answer:
        """All journals: list what was written in a time, newest first.

        Use it for 'what did I do yesterday' and 'where did I leave off'; for a subject, use recall.
        """
        service = self._service
        before = read_as_of(service, as_of)
        within = replace(_filter(service, journals, ()), written_before=before)
        listed = service.list_by_time(when, within=within, limit=limit, start=start)
        beyond = f"No more entries after the newest {start:,}." if start else NOTHING
        frame = AnswerFrame(
            head=(
                *as_of_lines(before, service.zone),
                *time_lines(listed.interval, service.zone, when.strip()),
                *([beyond] if not listed.hits and listed.is_whole else []),
            ),
            facts=lambda: {
                "interval": interval_facts(listed.interval),
                "start": start,
                **as_of_facts(before),
            },
            notes=_notes(service, listed.notes),
            is_list=True,
            start=start,
            has_more=listed.has_more,
        )
        return _renderer(service).hits(frame, listed.hits, about="", budget_tokens=_LIST_TOKENS)

    def open_ref(
        self,
        *,
        ref: Annotated[str, Arg("Such as 'chronicle:<id>'.")],
    ) -> Answer:
        """Any journal: open one entry whole, with its neighbours.

        Use it on a ref or a path shown.
        """
        version = ""  # where nothing corrects it
        with suppress(CommonplaceError):  # before the text: never of a newer one
            version = self._amend.read_text(ref).version[:SHORT_VERSION]
        return _renderer(self._service).page(self._service.open_ref(ref), version)

    def amend(
        self,
        *,
        ref: Annotated[str, Arg("The entry's ref.")],
        text: Annotated[str, Arg("Whole new text.")] = "",
        supersede: Annotated[bool, Arg("Keep the old too.")] = False,
        delete: Annotated[bool, Arg("For good.")] = False,
        undo: Annotated[bool, Arg("Undo the last edit.")] = False,
        version: Annotated[str, Arg("From open_ref.")] = "",
    ) -> Answer:
        """Any journal: correct an entry by its ref.

        Use it for what is wrong (text), held once (text, supersede), or must go (delete: only if
        the user asks). Not for news.
        """
        acts = {"text": bool(text.strip()), "delete": delete, "undo": undo}
        given = [name for name, is_given in acts.items() if is_given]
        if len(given) != 1:
            together = f"{' and '.join(given)} were given together"
            what = together if given else "none of text, delete and undo was given"
            raise Invalid(
                f"Invalid call of amend: {what}.",
                hint="Give the new text, delete=true or undo=true.",
            )
        if supersede and not acts["text"]:
            raise Invalid(
                f"Invalid call of amend: supersede and {given[0]} were given together.",
                hint="To supersede, give the text that holds now.",
            )
        if undo:
            return amendment_answer(self._amend.undo(ref, expected=version))
        if delete:
            return amendment_answer(self._amend.delete(ref, expected=version))
        correct = self._amend.supersede if supersede else self._amend.edit
        return amendment_answer(correct(ref, text, expected=version))


def _filter(service: RecallService, journals: Sequence[str], kinds: Sequence[str]) -> Filter:
    if not journals and not kinds:
        return Filter()
    from commonplace.journals.timeline.entry import indexed_kinds

    of_kind = list(dict.fromkeys(x for each in service.journals.values() for x in each.kinds))
    known = [*service.journals, *service.lost]
    for name in (each.strip().lower() for each in journals):
        if name in JOURNAL_NAMES and name not in known:
            raise Invalid(f"Nothing is kept in {name} yet.", hint=f"Use {either(known)}.")
    return Filter(
        journals=_checked("journals", journals, known),
        kinds=indexed_kinds(_checked("kinds", kinds, of_kind)),
    )


def _facts(done: EntriesRecalled, *, explain: bool) -> dict[str, Any]:
    interval = interval_facts(done.question.interval)
    read_from = {"read_from": opening(done.question.phrase, _SHOWN_QUERY)}
    return {
        "interval": interval and {**interval, **read_from},
        "outside_time": done.outside_time,
        "folded": len(done.less),
        "weak": done.is_weak,
        "asks_all": done.asks_all,
        "chance": rounded(done.found.chance) if done.is_weak or explain else None,
        "missing": list(done.missing),
    }


def _head(done: EntriesRecalled, zone: tzinfo, *, explain: bool) -> Iterator[str]:
    question, found = done.question, done.found
    if question.interval is not None:
        span = render_interval(question.interval, zone)
        does = (
            "only entries of that time" if question.cuts else "entries of that time count for more"
        )
        if question.is_all:
            does = f"{does}, newest first" if question.cuts else f"the newest {does}"
        yield f"Time: {span}, read from {opening(question.phrase, 60)!r}: {does}."
    if done.outside_time:
        best = "newest" if question.is_all else "best"
        yield f"Nothing lies in that time. The {best} of other times:"
    if done.is_weak:
        yield f"Weak match, chance {found.chance:.3f}: this may not be about what was asked."
    if done.asks_all and found.hits:
        yield _ALL
    if not found.hits and found.is_whole:  # else the notes say what is not known
        yield NOTHING
    if done.has_todos:
        yield _TODOS
    if explain and not done.is_weak and found.hits and found.chance is not None:
        yield _CHANCE.format(found.chance)


def _notes(service: RecallService, notes: Sequence[str]) -> tuple[str, ...]:
    lost = (f"{name} cannot be used: {why}" for name, why in service.lost.items())
    return tuple(dict.fromkeys((*lost, *notes)))


def _renderer(service: RecallService) -> Renderer:
    @cache
    def place_of(journal: str, scope: str) -> str:
        opener = service.journals.get(journal) if scope else None
        place = scope if opener is None else opener.place_of(scope)
        return place if service.shows_paths or not place else shown_name(scope)

    return Renderer(zone=service.zone, place_of=place_of)


def _checked(argument: str, names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The names as they are known, in lower case and once each. Raises Invalid for another."""
    asked = tuple(dict.fromkeys(name.strip().lower() for name in names if name.strip()))
    for name in asked:
        if name not in known:
            raise unknown_name(f"Invalid {argument}: {opening(name, 60)!r}.", name, known)
    return asked
