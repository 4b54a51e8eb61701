"""The options that commands share, and what was given for them.

Reads no setting and opens nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_EXPIRES, _FORM, _NO_UNDO, _YES = (f"commonplace.{x}" for x in ("expires", "form", "undo", "yes"))
_FLAGS = "commonplace.flags"

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


def _noted(key: str, *, name: str = "") -> dict[str, Any]:
    """What an option takes whose value the command need not see: its functions ask `_given` for it.

    name: What is noted in place of the value of a flag.
    """

    def note(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
        if value not in (None, False):
            ctx.meta[key] = name or value

    return {"expose_value": False, "callback": note}


def _given(key: str) -> Any:
    return click.get_current_context().meta.get(key)


yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")

no_undo_option = click.option(
    "--no-undo",
    is_flag=True,
    **_noted(_NO_UNDO),
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


expires_option = click.option(
    "--expires",
    metavar="TIME",
    **_noted(_EXPIRES),
    help="When to forget it: 'in 30 days', 'tomorrow', '2027-01-01'.",
)


def expires_at() -> str | None:
    """The value of `--expires`; None where it was not given, or the command has no such option."""
    found: str | None = _given(_EXPIRES)
    return found


def supersedes_option(command: _Command) -> _Command:
    """`--supersedes`, and the `--yes` to an entry that is older than the last list."""
    yes = click.option(
        "--yes",
        is_flag=True,
        **_noted(_YES),
        help="With --supersedes: do not ask, however old the entry of that number is.",
    )
    supersedes = click.option(
        "--supersedes",
        metavar="REF",
        help="What it replaces: a ref, its beginning, a number in the last list, or -1 for the"
        " newest.",
    )
    decorated: _Command = supersedes(yes(command))
    return decorated


def says_yes() -> bool:
    """Whether that --yes was given."""
    return bool(_given(_YES))


def keeps_former() -> bool:
    """Whether the texts that edits replace are kept: not with --no-undo."""
    return not _given(_NO_UNDO)


def common_options(command: _Command) -> _Command:
    """The options of every command that reads or writes journals: --project and --json."""
    decorated: _Command = project_option(json_option(command))
    return decorated


def list_options(command: _Command) -> _Command:
    """The options of every command that lists or finds entries, those of `common_options` too."""
    return common_options(form_options(command))


def form_options(command: _Command) -> _Command:
    """The options that say in which form a list is shown: --oneline, --full, --plain and others."""
    for name, text in (
        ("model", "Output what a model is given."),
        ("jsonl", "Output a line of JSON for each entry."),
        ("plain", "Output one line per entry, with whole refs, as when piped."),
        ("full", "Show each text whole, with its ref."),
        ("oneline", "Show one line per entry."),
    ):
        noted = _noted(_FORM, name=name)
        command = click.option(f"--{name}", is_flag=True, **noted, help=text)(command)
    return command


def list_form() -> str:
    """The form of a list that was asked for, by the name of its option; empty for the usual one."""
    return _given(_FORM) or ""


def given_flags() -> dict[str, object]:
    """The flags of this call, by the keys of settings. Call it inside a command."""
    return dict(_given(_FLAGS) or {})
