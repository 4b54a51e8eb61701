"""The options that commands share, and what was given for them.

Reads no setting and opens nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from click.shell_completion import CompletionItem

_ALL, _EXPIRES, _FORM, _NO_UNDO, _WHEN, _YES = (
    f"commonplace.option.{x}" for x in ("all", "expires", "form", "undo", "when", "yes")
)
_FLAGS = "commonplace.flags"

COUNT = re.compile(r"(?:(?:the )?(?:last|latest|newest) )?([0-9]{1,3})")
"""How many entries are wanted, in words that name no time."""

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


class Respelled(click.Option):
    """An option that had other spellings before, which neither help nor completion names.

    former: those, which scripts and people go on using.
    """

    def __init__(self, *args: Any, former: Sequence[str] = (), **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.former = former

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """As click does it, with the former spellings too."""
        shown = self.opts
        self.opts = [*shown, *self.former]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


def complete_journals(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of journals that begin so."""
    from commonplace.journals.table import JOURNAL_NAMES

    return [name for name in JOURNAL_NAMES if name.startswith(incomplete)]


def complete_folders(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """What lets a shell complete the name of a folder."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def journals_option(**attrs: Any) -> Callable[[Any], Any]:
    """`--journal`, which may be given again. attrs: Those of `click.option`, above all `help`."""
    names = ("-j", "--journal", "journals")
    return click.option(
        *names, multiple=True, metavar="NAME", shell_complete=complete_journals, **attrs
    )


COMPLETES = {"journals": complete_journals, "project": complete_folders}
"""What completes the values of options, by the name of the argument."""


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


def _read_time(ctx: click.Context, _param: click.Parameter, words: Sequence[str]) -> str:
    """The time of a list, typed as words or by --when. Raises: Invalid where it is both."""
    phrase: str = ctx.meta.get(_WHEN, "")
    if words and phrase:
        raise Invalid("The time is given twice.", hint="Leave out --when or the words.")
    if words:
        _refuse_other(ctx, words)
    return phrase or " ".join(words)


def _refuse_other(ctx: click.Context, words: Sequence[str]) -> None:
    """Refuse words of a list that are no time but have an option: a journal's name, a number.

    Raises: Invalid, with the command that is meant.
    """
    from commonplace.journals.table import JOURNAL_NAMES

    named = [word for word in words if word in JOURNAL_NAMES]
    rest = [word for word in words if word not in named]
    number = COUNT.fullmatch(" ".join(rest))
    if not named and number is None:
        return
    takes = {spelled for each in ctx.command.params for spelled in each.opts}
    command = ctx.command_path if "-j" in takes or not named else "commonplace list"
    meant = [command, *(f"-j {name}" for name in named)]
    meant += rest if number is None else [f"-n {number[1]}"]
    what = f"{named[0]!r} is a journal" if named else f"{number and number[1]!r} is a number"
    raise Invalid(f"{what}, not a time.", hint=f"Did you mean `{' '.join(meant)}`?")


def time_argument(command: _Command) -> _Command:
    """WHEN, the words of the time of a list, and hidden `--when`, as searches take it."""
    option = click.option("--when", "phrase", hidden=True, is_eager=True, **_noted(_WHEN))
    words = click.argument("when", nargs=-1, callback=_read_time)
    decorated: _Command = words(option(command))
    return decorated


def beginning_options(command: _Command) -> _Command:
    """`--when` of what is taken from a time on, and hidden `--since`; `start_of` reads both."""
    former = click.option("--since", hidden=True)
    option = click.option(
        "--when", metavar="TIME", help="Leave out what is older: 'since 2026', 'this month'."
    )
    decorated: _Command = option(former(command))
    return decorated


yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")

no_undo_option = click.option(
    "--no-undo",
    is_flag=True,
    **_noted(_NO_UNDO),
    help="Keep nothing of what was there, nor of what earlier edits replaced.",
)

_FORMS = {
    "json": ("json", "as JSON"),
    "jsonl": ("jsonl", "a line of JSON for each entry"),
    "line": ("oneline", "one line per entry"),
    "full": ("full", "each text whole, with its ref"),
    "plain": ("plain", "as when piped, with whole refs"),
    "model": ("model", "what a model is given"),
}
"""Each form of output: the switch that asked for it before `--format`, and what it is."""


def _is_json(ctx: click.Context, _param: click.Parameter, given: bool) -> bool:
    if given:
        ctx.meta[_FORM] = "json"
    return ctx.meta.get(_FORM) == "json"


json_switch = click.option("--json", "as_json", is_flag=True, hidden=True, callback=_is_json)
"""The former switch, where a command gives `--format` a meaning of its own."""


def format_option(*forms: str) -> Callable[[_Command], _Command]:
    """`--format`, and hidden the switch that once asked for each form, such as `--oneline`.

    The command is handed `as_json`; what shows its answer asks `list_form` for any other form.
    """

    def add(command: _Command) -> _Command:
        for form in forms:
            if form != "json":
                noted = _noted(_FORM, name=form)
                switch = f"--{_FORMS[form][0]}"
                command = click.option(switch, is_flag=True, hidden=True, **noted)(command)
        said = "".join(f"; {_FORMS[form][1]} ({form})" for form in forms if form != "json")
        decorated: _Command = click.option(
            "-f",
            "--format",
            type=click.Choice(forms),
            metavar="FORM" if said else None,
            is_eager=True,  # what it says is known when `--json` is looked at
            **_noted(_FORM),
            help=f"Output as JSON{said}.",
        )(json_switch(command))
        return decorated

    return add


json_option = format_option("json")


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
    "project",
    metavar="FOLDER",
    shell_complete=complete_folders,
    help="The project's folder (default: the current one).",
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


all_option = click.option("--all", is_flag=True, **_noted(_ALL), help="Show what fits less, too.")


def folds() -> bool:
    """Whether a list for people leaves out what fits less: not with --all, nor with a limit."""
    source = click.get_current_context().get_parameter_source
    limited = {source("limit"), source("top_k")} & {ParameterSource.COMMANDLINE}
    return not (_given(_ALL) or limited)


def says_yes() -> bool:
    """Whether that --yes was given."""
    return bool(_given(_YES))


def keeps_former() -> bool:
    """Whether the texts that edits replace are kept: not with --no-undo."""
    return not _given(_NO_UNDO)


def common_options(command: _Command) -> _Command:
    """The options of every command that reads or writes journals: --project and --format."""
    decorated: _Command = project_option(json_option(command))
    return decorated


def list_options(command: _Command) -> _Command:
    """The options of every command that lists or finds entries: --project and all of --format."""
    decorated: _Command = project_option(form_options(command))
    return decorated


form_options = format_option(*_FORMS)
"""`--format` of what lists or finds entries, in every form."""

page_options = format_option("json", "plain", "model")
"""`--format` of what shows an entry whole."""


def list_form() -> str:
    """The form that was asked for, one of those of `--format`; empty for the usual one."""
    return _given(_FORM) or ""


def given_flags() -> dict[str, object]:
    """The flags of this call, by the keys of settings. Call it inside a command."""
    return dict(_given(_FLAGS) or {})
