"""`commonplace recall`, `open` and `status`: all journals at once, from a terminal.

Never decides anything about ranking or journals: each command calls one tool and shows its answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.calls import call_tool, load_encoder, opened
from commonplace.doors.cli.frame import common_options, show

if TYPE_CHECKING:
    from commonplace.app import App

call = partial(call_tool, lambda app: app.recall.tools.toolset)

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
@click.option("--journal", "journals", multiple=True, metavar="NAME", help="Only this journal.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only entries of this kind.")
@click.option("-n", "--limit", type=int, help="How many entries at the most, 10 if not given.")
@click.option(
    "--budget",
    "budget_tokens",
    type=int,
    metavar="TOKENS",
    help="How long an answer, 1500 if not given; 4 bytes of UTF-8 are a token.",
)
@click.option("--explain", is_flag=True, help="Show what gave each entry its score.")
@common_options
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
    }
    answer = call("recall", arguments, after=file_quickly)
    show(_explained(answer) if explain else answer, as_json)


def _explained(answer: Answer) -> Answer:
    lines = [_sum(number, hit) for number, hit in enumerate(answer.facts["results"], 1)]
    chance = answer.facts["chance"]
    if chance is not None:
        lines.append(f"Chance that these are about the question: {chance:.3f}")
    if not lines:
        return answer
    return Answer(text="\n".join([answer.text, "", *lines]), facts=answer.facts)


def _sum(number: int, hit: dict[str, Any]) -> str:
    """How a score came about: the share of each leg, unless the newest were asked for."""
    if not hit["legs"]:
        return f"{number}. By its time alone."
    legs = " + ".join(f"{share:.3f} {name}" for name, share in hit["legs"].items())
    cosine = "none" if hit["similarity"] is None else f"{hit['similarity']:.3f}"
    return f"{number}. {hit['score']:.3f} = {legs} (similarity {cosine})"


@click.command(name="open")
@click.argument("ref")
@common_options
def open_ref(ref: str, as_json: bool) -> None:
    """Show any entry whole, with what came before and after it.

    REF is as recall, searches and lists show it: `chronicle:<id>`, `private:user/<day>/<time>`.
    """
    show(call("open_ref", {"ref": ref}), as_json)


@click.command()
@common_options
def status(as_json: bool) -> None:
    """Show what each journal holds."""
    with opened() as app:
        app.filing.sweep()
        show(app.recall.tools.status(), as_json)
