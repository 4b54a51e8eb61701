"""`commonplace today`: what is open, what was written last, what waits, and what to do next.

Never decides what Today consists of: `verbs/today` does, for the page as well.
"""

from __future__ import annotations

import shlex
import sys
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from commonplace.core.clock import day_of
from commonplace.core.errors import Invalid
from commonplace.core.text import counted, first_words, shown_now
from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.entries import facts_of
from commonplace.doors.cli.options import common_options
from commonplace.doors.cli.output import show
from commonplace.doors.cli.people import bold, coloured, mark_of, print_list, replaced_mark
from commonplace.doors.cli.short_refs import keep_list
from commonplace.doors.cli.terminal_width import cells, fitting, terminal_size, wrapped_prose
from commonplace.journals.memory.entry import DONE
from commonplace.verbs.answers import ago, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime, tzinfo

    from commonplace.app import App
    from commonplace.verbs.today.service import NewOfProject, OpenThing, WaitingThing

_LAST = 8
"""Entries that are shown of all projects."""

_OPEN = 7
_STEPS = 3
_LONGEST = 100
"""Characters of an entry off a terminal."""

_NAME_COLUMNS = 11
"""Columns of a journal's name."""


class NextStep(NamedTuple):
    """What may be done next: a command as it is typed, and why."""

    command: str
    why: str


class _Parts(NamedTuple):
    """What Today shows, how much more is open, and what of it is new since the owner looked."""

    open: Sequence[OpenThing]
    projects: Sequence[NewOfProject]
    waiting: Sequence[WaitingThing]
    steps: Sequence[NextStep]
    open_count: int
    new: Collection[str]
    new_count: int


@click.command(
    short_help="Show what is open, what was last, what waits and what is next.",
    context_settings={"allow_extra_args": True},
)
@click.option("--seen", is_flag=True, help="Mark all that is new as seen.")
@common_options
@click.pass_context
def today(ctx: click.Context, /, *, seen: bool, as_json: bool) -> None:
    """Show what is open, what was written last by project, what waits, and what to do next.

    `commonplace` alone does the same. On a terminal `open`, `edit` and others take the numbers.
    `[new]` marks what others wrote since you last looked; --seen ends that.
    """
    if ctx.args:
        words = shlex.join(ctx.args)
        raise Invalid(
            f"Today takes no words: {words}.", hint=f"Another time: `commonplace list {words}`."
        )
    with opened(names_gone=False) as app:
        if seen:
            app.seen_marks.keep_until(app.clock() + timedelta(microseconds=1), app.clock())
        parts = _parts(app)
        if not as_json:
            last = [hit.doc.ref for each in parts.projects for hit in each.hits]
            keep_list([each.ref for each in parts.open] + last, settings())
        on_terminal = sys.stdout.isatty()
        columns = terminal_size().columns if on_terminal else 0
        text = "\n".join(_lines(parts, _Look(app.clock(), app.settings.timezone, columns)))
        if on_terminal and not as_json:
            print_list(text)
            return
        show(Answer(text=text, facts=_facts(parts)), as_json)


def _parts(app: App) -> _Parts:
    service = app.today()
    open_things = service.open_things(service.briefs())
    shown = open_things[:_OPEN]
    projects = service.latest(_LAST, without=[each.ref for each in shown])
    waiting = service.waiting()
    news = service.news()
    new = {hit.doc.ref for each in news.projects for hit in each.hits}
    listed = {hit.doc.ref for each in projects for hit in each.hits}
    usual = _usual_steps(
        has_todo=any(each.is_todo for each in shown),
        new=news.count,
        is_new_shown=len(new & listed) == news.count,
        has_any=bool(projects or shown),
    )
    steps = [*_repairs(waiting), *usual][:_STEPS]
    return _Parts(shown, projects, waiting, steps, len(open_things), new, news.count)


def _repairs(waiting: Sequence[WaitingThing]) -> Iterator[NextStep]:
    """What repairs each kind of thing that waits, once."""
    steps = {
        "journal": NextStep("doctor", "see what is wrong"),
        "gone": NextStep("recover", "bring notes back"),
        "sessions": NextStep("import --all", "keep sessions"),
        "encoder": NextStep("model fetch", "search by meaning too"),
        "pending": NextStep("reindex", "search all by meaning"),
        "filing": NextStep("status", "read what is new"),
    }
    for each in waiting:
        if each.kind == "clash":
            name = shlex.quote(each.name)
            yield NextStep(f"notebook resolve {name}", "choose what holds")
        elif (step := steps.pop(each.kind, None)) is not None:
            yield step


def _usual_steps(
    *, has_todo: bool, new: int, is_new_shown: bool, has_any: bool
) -> Iterator[NextStep]:
    """What is done on most days, the likeliest first.

    is_new_shown: Whether all that is new stands above, so that it needs no page.
    """
    if not has_any:
        yield NextStep('log "what you just did"', "write the first entry")
        yield NextStep("setup --list", "let assistants write here")
        yield NextStep("import", "bring in what is here")
        return
    if has_todo:
        yield NextStep("todo --done 1", "tick the first to-do")
    if new:
        things = counted(new, "new thing", "new things")
        step = NextStep("today --seen", f"{things}, read above")
        yield step if is_new_shown else NextStep("web", f"look through {things}")
    yield NextStep('log "what you just did"', "write down what was done")
    yield NextStep('recall "a question"', "ask all of it")
    yield NextStep("list yesterday", "see what yesterday held")


class _Look(NamedTuple):
    """How Today is shown. columns: Of the terminal; 0 off one, where refs stand for numbers."""

    now: datetime
    zone: tzinfo
    columns: int

    def head(self, text: str) -> str:
        return bold(one_line(text)) if self.columns else text

    def row(
        self,
        number: int,
        ref: str,
        at: datetime | None,
        text: str,
        *,
        mark: str = "",
        tags: Sequence[str] = (),
    ) -> str:
        """An entry on a line, with how old it is, its text cut to the terminal.

        mark: What stands before the text, whole.
        tags: What stands behind it, where there is room.
        """
        age = ago(at, self.now, self.zone) if at else ""
        said = shown_now(one_line(text))
        named = "".join(f" #{shown_now(one_line(tag))}" for tag in tags)
        done = f" #{DONE}" if DONE in tags and ref.startswith("memory:todo/") else ""
        if not self.columns:
            return f"  {ref}  {age}  {mark}{first_words(said, _LONGEST)}{named}"
        journal = ref.partition(":")[0]
        lead = f"{number:>3}  {age:15}  "
        rest = max(self.columns - len(lead) - _NAME_COLUMNS - 1, _LONGEST // 4)
        room = rest - cells(mark)
        if cells(said + named) <= room:
            first = said + named
        else:  # words before tags, less that it is done
            first = fitting(said, room - cells(done) - len("..."))
            first += done if first == said else f"...{done}"
        return f"{lead}{coloured(f'{journal:{_NAME_COLUMNS}}', journal)}{mark}{first}"


def _lines(parts: _Parts, look: _Look) -> Iterator[str]:
    """Today as text: on a terminal with numbers, elsewhere with refs."""
    numbers = count(1)
    yield look.head(f"{day_of(look.now, look.zone):%A, %d %B %Y}")
    if parts.open:
        yield from ("", look.head("Open"))
        for each in parts.open:
            where = f"{each.name}: " if each.name else ""
            yield look.row(next(numbers), each.ref, each.at, f"{where}{each.text}")
        if (more := parts.open_count - len(parts.open)) > 0:
            yield f"     and {more} more: `commonplace recall what is left to do`"
    for project in parts.projects:
        yield from ("", look.head(f"Last in {project.name}" if project.name else "Last"))
        for hit in project.hits:
            doc = hit.doc
            mark = "[new] " if doc.ref in parts.new else ""
            mark += mark_of(doc.word) + replaced_mark(facts_of(hit), look.zone)
            yield look.row(
                next(numbers), doc.ref, doc.at, doc.own_text, mark=mark, tags=doc.own_tags
            )
    if parts.waiting:
        yield from ("", look.head("Waiting"))
        for waiting in parts.waiting:
            line = f"  {shown_now(one_line(waiting.text))}"
            yield wrapped_prose(line, look.columns) if look.columns else line
    yield from ("", look.head("Next"))
    width = max(len(each.command) for each in parts.steps)
    for step in parts.steps:
        line = f"  $ commonplace {shown_now(step.command):{width}}  {step.why}"
        fits = not look.columns or cells(line) <= look.columns
        yield line if fits else f"  $ commonplace {shown_now(step.command)}"


def _facts(parts: _Parts) -> dict[str, Any]:
    return {
        "entries": [
            {**facts_of(hit), "project": project.project, "new": hit.doc.ref in parts.new}
            for project in parts.projects
            for hit in project.hits
        ],
        "open": [
            {
                "ref": each.ref,
                "at": each.at.isoformat() if each.at else None,
                "text": each.text,
                "project": each.project,
            }
            for each in parts.open
        ],
        "open_count": parts.open_count,
        "new_count": parts.new_count,
        "notes": [],
        "waiting": [{"kind": each.kind, "text": each.text} for each in parts.waiting],
        "next": [
            {"command": f"commonplace {each.command}", "why": each.why} for each in parts.steps
        ],
    }
