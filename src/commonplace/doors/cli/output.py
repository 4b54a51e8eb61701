"""What a command shows: an answer as text or JSON, a list for people, a page, a line.

Never prints a stored text that is not screened, and never decides what an answer holds.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from commonplace.core.text import shown_now
from commonplace.doors.cli.call_settings import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.core.values import Answer

_T = TypeVar("_T")


def show(answer: Answer, as_json: bool, *, journal: str = "", items: str = "") -> None:
    """Print an answer on stdout: its text, or its facts as JSON.

    Args:
        answer: Of a tool or a verb.
        as_json: Whether --json was given.
        journal: Whose ids the answer has, where it has ids in place of refs.
        items: Which of its facts is its list, where that goes by a name of its own.
    """
    if as_json:
        from commonplace.doors.cli.json_output import shaped

        write_json(sys.stdout, shaped(answer.facts, journal=journal, items=items), indent=2)
        return
    text = answer.text.removesuffix("\n")
    if sys.stdout.isatty():
        from commonplace.doors.cli.terminal_width import wrapped

        text = wrapped(text, sys.stdout)
    say(text)


def show_model(answer: Answer) -> None:
    """Print what a model is given of an answer, fences and all."""
    from commonplace.verbs.answers import text_for_model

    say(text_for_model(answer).removesuffix("\n"))


def show_written(answer: Answer, as_json: bool, *, journal: str = "") -> None:
    """Print what a write answers, on a terminal with short refs."""
    if sys.stdout.isatty() and not as_json:
        from commonplace.core.values import Answer
        from commonplace.doors.cli.short_refs import shortened

        answer = Answer(text=shortened(answer.text), facts=answer.facts)
    show(answer, as_json, journal=journal)


def show_list(
    answer: Answer,
    as_json: bool,
    *,
    about: str = "",
    journal: str = "",
    explain: bool = False,
    whole: bool = False,
) -> None:
    """Print a list in the form that was asked for; see `list_options` and `show`.

    about: The question, whose words are marked on a terminal.
    explain: Whether --explain was given: off a terminal the tool says it best.
    whole: Whether the text of each entry is shown whole, unless another form was asked for.
    """
    from commonplace.doors.cli.json_output import VERSION, shaped
    from commonplace.doors.cli.options import folds, list_form
    from commonplace.doors.cli.short_refs import keep_list

    if as_json:
        show(answer, as_json, journal=journal)
        return
    form = list_form()
    facts = shaped(answer.facts, journal=journal)
    if form == "jsonl":
        for item in facts["items"]:
            write_json(sys.stdout, {"schema_version": VERSION, **item})
        return
    on_terminal = form not in {"plain", "model"} and sys.stdout.isatty()
    facts = _folded(facts) if on_terminal and folds() else facts
    keep_list((item["ref"] for item in facts["items"] if "ref" in item), settings())
    if form == "model":
        show_model(answer)
        return
    if (explain and not on_terminal) or not facts["items"]:  # the tool says it best
        show(answer, as_json)
        return
    lines = {"line": 1, "full": None}.get(form, None if whole and on_terminal else 2)
    head = answer.text.partition("\n")[0]
    _show_items(facts, head, about=about, lines=lines, on_terminal=on_terminal)


def _folded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A list less what fits far less than the best, and how much that is."""
    shown = [item for item in facts["items"] if not item.get("less_likely")]
    return {**facts, "items": shown, "folded": len(facts["items"]) - len(shown)}


def _show_items(
    facts: Mapping[str, Any], head: str, *, about: str, lines: int | None, on_terminal: bool
) -> None:
    """Print a list for people; its facts are screened, since they are cut and coloured here."""
    from commonplace.doors.cli.people import ListLook, print_list, render_list
    from commonplace.doors.cli.terminal_width import terminal_size

    look = ListLook(
        zone=settings().timezone,
        about=about,
        time_line=head if head.startswith("Time: ") else "",
        width=terminal_size().columns if on_terminal else None,
        lines=lines,
    )
    text = render_list(_shown_values(facts), look)
    (print_list if on_terminal else say)(text)


def show_page(answer: Answer, as_json: bool) -> None:
    """Print an entry whole: as it was written on a terminal, else as a model is given it."""
    from commonplace.doors.cli.options import list_form

    if list_form() == "model" and not as_json:
        show_model(answer)
        return
    if as_json or list_form() == "plain" or not sys.stdout.isatty():
        show(answer, as_json)
        return
    from commonplace.doors.cli.json_output import shaped
    from commonplace.doors.cli.people import ListLook, print_list, render_page
    from commonplace.doors.cli.terminal_width import terminal_size

    look = ListLook(zone=settings().timezone, width=terminal_size().columns)
    print_list(render_page(_shown_values(shaped(answer.facts)), look))


def say(line: str, *, err: bool = False) -> None:
    """Print a line, without secrets, on stdout or stderr: every word of a command goes by this."""
    _write(sys.stderr if err else sys.stdout, shown_now(line))


def write_json(stream: TextIO, facts: Any, indent: int | None = None) -> None:
    """Print JSON whose texts have no secrets; it is screened first, since quotes may part one."""
    _write(stream, json.dumps(_shown_values(facts), ensure_ascii=False, indent=indent))


def _shown_values(facts: _T) -> _T:
    from commonplace.core.redact import mapped_texts

    shown: _T = mapped_texts(facts, shown_now)
    return shown


def _write(stream: TextIO, line: str) -> None:
    """Write a line; on a terminal what hides or steers is written out, elsewhere it goes as it is.

    (click.echo would drop escape sequences from what goes into a file.)
    """
    if stream.isatty():
        from commonplace.core.fence import visible

        line = visible(line)
    stream.write(line + "\n")
