"""What commands share that call a tool: the app of a call, and the tool called as a model would.

Never knows a journal: a command hands over the toolset it means.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_type_hints

import click

from commonplace.app import App
from commonplace.doors.cli.frame import home_folder, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.core.values import Answer
    from commonplace.tools.toolset import Arg, Toolset

ENCODER_WAIT_S = 10.0
"""A command waits this long for the encoder, since it ends before a background could help."""

VECTORS_WAIT_S = 10.0
"""How long a command lets vectors be made that it asked for, before it ends."""


@contextmanager
def opened() -> Iterator[App]:
    """The app of this call's settings, closed at the end."""
    app = App(settings(), user_home=home_folder())
    try:
        yield app
        # There is no background once a command has ended.
        app.settle(VECTORS_WAIT_S)
    finally:
        app.close()


def call_tool(
    toolset: Callable[[App], Toolset],
    name: str,
    arguments: dict[str, Any],
    *,
    after: Callable[[App], None] | None = None,
) -> Answer:
    """Call a tool as a model would, after what a server has done by then."""
    with opened() as app:
        if after is not None:
            after(app)
        return toolset(app).tool(name).call(arguments)


def load_encoder(app: App) -> None:
    """Wait for the encoder as long as a command may."""
    app.encoder.start()
    app.encoder.get(ENCODER_WAIT_S)


def file_everything(app: App) -> None:
    """Wait for the encoder, and file every change, edits in place included.

    Vectors that are missing, of what was filed without an encoder, are made meanwhile.
    """
    load_encoder(app)
    app.filing.sweep()
    app.filing.wake()


def args_of(verb: Any) -> dict[str, Arg]:
    """What a tool tells a model of each of its arguments."""
    hints = get_type_hints(verb, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if name != "return"}


def tool_option(verb: Any, argument: str, *names: str, **attrs: Any) -> Callable[[Any], Any]:
    """An option for a tool's argument; help, bounds and default are those of its signature."""
    arg = args_of(verb)[argument]
    default = inspect.signature(verb).parameters[argument].default or None
    bounds = "" if arg.least is None else f" ({arg.least} to {arg.most})"
    return click.option(
        *names,
        default=default,
        show_default=default is not None,
        help=f"{arg.text}{bounds}",
        **attrs,
    )
