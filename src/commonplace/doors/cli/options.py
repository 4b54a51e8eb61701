"""The options that commands share, and what was given for them.

Reads no setting and opens nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_EXPIRES = "commonplace.expires"
_FLAGS = "commonplace.flags"
_FORM = "commonplace.form"
_NO_UNDO = "commonplace.no_undo"
_YES = "commonplace.yes"

_Command = TypeVar("_Command", bound="Callable[..., Any]")


class NumberBetween(click.IntRange):
    """A whole number between two bounds, which are said in words."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises: BadParameter, which says what may be given."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value}. Use {self._describe_range()}", param, ctx)

    def _describe_range(self) -> str:
        return f"{self.min} to {self.max}"


yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")

no_undo_option = click.option(
    "--no-undo",
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, _param, value: ctx.meta.update({_NO_UNDO: value}),
    help="Keep nothing of what was there, nor of what earlier edits replaced.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Output as JSON.")


def setting_option(key: str, **attrs: Any) -> Callable[[Any], Any]:
    """An option that is the flag of a setting: `settings()` sees it, the command need not.

    Args:
        key: As in `config.table.SETTINGS`; `read_only` becomes `--read-only`.
        **attrs: Those of `click.option`, above all `help`.
    """
    name = key.replace("_", "-").replace(".", "-")
    # A verb may have an argument of the same name: each has its own.
    names = (f"--{name}", f"setting_{name.replace('-', '_')}")
    return click.option(*names, callback=flag_of(key), expose_value=False, default=None, **attrs)


def flag_of(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback of an option or argument that is the flag of a setting; hands its value on."""

    def remember(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if value is not None:
            ctx.meta.setdefault(_FLAGS, {})[key] = value
        return value

    return remember


project_option = setting_option(
    "project", metavar="FOLDER", help="The project's folder (default: the current one)."
)


def _keep_expires(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[_EXPIRES] = value


expires_option = click.option(
    "--expires",
    metavar="TIME",
    callback=_keep_expires,
    expose_value=False,
    help="When to forget it: 'in 30 days', 'tomorrow', '2027-01-01'.",
)


def expires_at() -> str | None:
    """The value of `--expires`; None where it was not given, or the command has no such option."""
    found: str | None = click.get_current_context().meta.get(_EXPIRES)
    return found


def keep_yes(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Note --yes of a command that takes it for one of its options alone; see `says_yes`."""
    ctx.meta[_YES] = value


def says_yes() -> bool:
    """Whether such a --yes was given."""
    return bool(click.get_current_context().meta.get(_YES))


def keeps_former() -> bool:
    """Whether the texts that edits replace are kept: not with --no-undo."""
    return not click.get_current_context().meta.get(_NO_UNDO)


def common_options(command: _Command) -> _Command:
    """The options of every command that reads or writes journals: --project and --json."""
    decorated: _Command = project_option(json_option(command))
    return decorated


def list_options(command: _Command) -> _Command:
    """The options of every command that lists or finds entries, those of `common_options` too."""
    return common_options(form_options(command))


def form_options(command: _Command) -> _Command:
    """The options that say in which form a list is shown: --oneline, --full, --plain and others."""

    def remember(ctx: click.Context, param: click.Parameter, given: bool) -> None:
        if given:
            ctx.meta[_FORM] = param.name

    for name, text in (
        ("model", "Output what a model is given."),
        ("jsonl", "Output a line of JSON for each entry."),
        ("plain", "Output one line per entry, with whole refs, as when piped."),
        ("full", "Show each text whole, with its ref."),
        ("oneline", "Show one line per entry."),
    ):
        command = click.option(
            f"--{name}", is_flag=True, expose_value=False, callback=remember, help=text
        )(command)
    return command


def list_form() -> str:
    """The form of a list that was asked for, by the name of its option; empty for the usual one."""
    form: str = click.get_current_context().meta.get(_FORM, "")
    return form


def given_flags() -> dict[str, object]:
    """The flags of this call, by the keys of settings. Call it inside a command."""
    return dict(click.get_current_context().meta.get(_FLAGS, {}))
