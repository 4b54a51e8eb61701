"""`commonplace recall`, `open` and `status`: all journals at once, from a terminal.

Never decides anything about ranking or journals: each command calls one tool and shows its answer.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from commonplace.doors.cli.calls import call_tool, load_encoder, opened
from commonplace.doors.cli.frame import show, show_list, show_page
from commonplace.doors.cli.options import common_options, explain_option, list_options
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry

if TYPE_CHECKING:
    from commonplace.app import App

call = partial(call_tool, "recall")

SWEPT = 20_000
"""Up to so many entries a question looks at each first, for edits in place (0.3 s for them all); of
more it files what came and went, and a server or `commonplace status` finds the edits."""


def file_quickly(app: App) -> None:
    """Wait for the encoder, and file what changed, as far as a question may wait for it."""
    load_encoder(app)
    if app.index.counts("").docs <= SWEPT:
        app.filing.sweep()


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--when", metavar="TIME", help="Only this time: 'last spring', '2026-11'.")
@click.option("--as-of", metavar="TIME", help="As it was known then: '3 May', '2026-04'.")
@click.option("--journal", "journals", multiple=True, metavar="NAME", help="Only this journal.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only entries of this kind.")
@click.option(
    "-n", "--limit", type=int, default=10, help="Maximum number of entries (default: 10)."
)
@click.option(
    "--budget",
    "budget_tokens",
    type=int,
    metavar="TOKENS",
    help="Maximum length of the answer (default: 1500); a token is 4 bytes of UTF-8.",
)
@explain_option
@list_options
def recall(question: tuple[str, ...], explain: bool, as_json: bool, **given: Any) -> None:
    """Ask all journals one question, in words and time.

    A time in the QUESTION is read out of it: `why did we leave Postgres last spring`. The answer
    shows the interval it was read as. --journal and --kind may be given several times.
    """
    arguments = {
        **given,
        "query": " ".join(question),
        "journals": list(given["journals"]),
        "kinds": list(given["kinds"]),
        "explain": explain,
    }
    answer = call("recall", arguments, after=file_quickly)
    show_list(answer, as_json, about=" ".join(question), explain=explain)


search = copy.copy(recall)
search.name = "search"
search.short_help = "The same as recall."


@click.command(name="open", cls=ShortRefCommand)
@click.argument("ref")
@click.option("--model", "for_model", is_flag=True, help="Output what a model is given.")
@common_options
def open_ref(ref: str, for_model: bool, as_json: bool) -> None:
    """Show any entry whole, with what came before and after it.

    REF is as searches and lists show it, or its beginning; `3` is the third entry of the last list,
    -1 the newest entry.
    """
    with opened() as app:
        tool = app.toolset("recall").tool("open_ref")
        answer = find_entry(app, ref, lambda each: tool.call({"ref": each}))
    if for_model:
        show(answer, as_json)
        return
    show_page(answer, as_json)


@click.command()
@common_options
def status(as_json: bool) -> None:
    """Show what each journal holds."""
    with opened(names_gone=False) as app:
        show(app.recall.status().answer, as_json)
