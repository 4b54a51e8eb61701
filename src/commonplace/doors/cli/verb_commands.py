"""Commands and options that derive from a verb: what its signature says is said nowhere else.

Holds how the command line spells an argument, and what only people have; never knows a journal.
"""

from __future__ import annotations

import json
from functools import partial
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
)

import click
from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.text import json_kind
from commonplace.doors.cli.calls import call_tool, opened
from commonplace.doors.cli.options import (
    COMPLETES,
    Respelled,
    all_option,
    common_options,
    list_options,
    supersedes_option,
    time_argument,
)
from commonplace.doors.cli.output import show, show_list
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry
from commonplace.verbs.toolset import annotated, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.app import App
    from commonplace.core.values import Answer, Filter
    from commonplace.verbs.toolset import Arg

_SPELLED = {
    "limit": ("-n", "--limit"),
    "length": ("-n", "--limit"),
    "top_k": ("-n", "--limit"),
    "tags": ("-t", "--tag"),
    "depth": ("-d", "--depth"),
    "journals": ("-j", "--journal"),
    "kinds": ("-k", "--kind"),
    "sections": ("--section",),
    "entry_type": ("-k", "--kind"),
    "entry_types": ("-k", "--kind"),
    "budget_tokens": ("--budget",),
    "project": ("-p", "--in"),  # --project says which project the command is called in
    "is_draft": ("--draft/--final",),
    "done": ("--done/--not-done",),
}
"""What an argument is called on the command line, where that is not `--` and its name."""

_FORMER = {
    "length": ("--length",),
    "top_k": ("--top-k",),
    "work_context": ("-c",),
    "entry_type": ("--type",),
    "entry_types": ("--type",),
}
"""What it was called there before, which is still taken."""

_FORMER_TIMES = {"days", "since", "until"}
"""Arguments that `when` can say as well: beside it they are taken, and not shown."""

_METAVARS = {
    "project": "FOLDER",
    **dict.fromkeys(("when", "since", "until", "as_of", "at", "start", "end"), "TIME"),
}


class VerbArgument(NamedTuple):
    """An argument of a verb: its type, what it means, and its default; `empty` if it has none."""

    kind: Any
    arg: Arg
    default: Any


def arguments_of(verb: Callable[..., Answer]) -> Mapping[str, VerbArgument]:
    """The arguments of a verb by name, in the order of its signature."""
    return {
        name: VerbArgument(*annotated(each.annotation), each.default)
        for name, each in signature_of(verb).items()
        if get_origin(each.annotation) is Annotated
    }


def verb_option(
    verb: Callable[..., Answer], name: str, *, people: object = None
) -> Callable[[Any], Any]:
    """The option for an argument of a verb: its type, default, bounds and help are the verb's.

    people: Their own default, where it is another than a model's.
    """
    arguments = arguments_of(verb)
    kind, arg, default = arguments[name]
    default = people or default
    spelled = _SPELLED.get(name, (f"--{name.replace('_', '-')}",))
    bounds = "" if arg.least is None else f" ({arg.least} to {arg.most})"
    again = " May be given again." if get_origin(kind) is list else ""
    attrs: dict[str, Any] = {"help": f"{arg.text}{bounds}{again}"}
    attrs["hidden"] = name in _FORMER_TIMES and "when" in arguments
    attrs["shell_complete"] = COMPLETES.get(name)
    if name in _FORMER:
        attrs |= {"cls": Respelled, "former": _FORMER[name]}
    if kind is bool:
        attrs |= {"default": default} if "/" in spelled[-1] else {"is_flag": True}
        return click.option(*spelled, name, **attrs)
    attrs |= {"default": default or None, "show_default": bool(default)}
    origin = get_origin(kind)
    if kind in (int, float):
        attrs["type"] = kind
    elif origin is Literal:
        attrs["type"] = click.Choice(get_args(kind))
    elif origin is dict:
        attrs |= {"metavar": "JSON", "callback": _read_object}
    else:
        word = spelled[-1].rpartition("-")[2].upper()
        attrs |= {"metavar": _METAVARS.get(name, word), "multiple": origin is list}
    return click.option(*spelled, name, **attrs)


def verb_options(
    verb: Callable[..., Answer],
    *,
    without: Sequence[str] = (),
    defaults: Mapping[str, object] = MappingProxyType({}),
) -> Callable[[Any], Any]:
    """The options for all arguments of a verb but some, in their order.

    defaults: Those of people, where they are other than a model's.
    """

    def add(command: Any) -> Any:
        for name in reversed([*arguments_of(verb)]):
            if name == "supersedes":
                command = supersedes_option(command)
            elif name not in without:
                command = verb_option(verb, name, people=defaults.get(name))(command)
        return command

    return add


class VerbCommand(Struct, frozen=True):
    """A command that asks one verb and shows its answer; its options are the verb's arguments.

    Attributes:
        toolset: Whose verb it is.
        verb: The tool's function.
        name: Of the command.
        help: What it says of itself.
        short_help: Its line in the help of its group; None for the first sentence.
        argument: What is typed without an option, named as the verb names it.
        takes_time: Whether the words of a time are typed so, its `when`.
        defaults: Those of people, where they are other than a model's.
        files: What files changes before something is looked for; None where nothing is asked.
        files_blank: Whether that is done without words too.
        within: The entries that the argument can mean, where it is a ref.
        journal: Whose ids the answer has, where it has ids in place of refs.
        is_list: Whether the answer is a list, shown in the form that is asked for.
        hidden: Whether another command does what it does, so that help leaves it out.
    """

    toolset: str
    verb: Callable[..., Answer]
    name: str
    help: str
    short_help: str | None = None
    argument: click.Argument | None = None
    takes_time: bool = False
    defaults: Mapping[str, object] = {}
    files: Callable[[App], None] | None = None
    files_blank: bool = False
    within: Filter | None = None
    journal: str = ""
    is_list: bool = True
    hidden: bool = False

    def command(self) -> click.Command:
        """The command as click has it."""
        arguments = [] if self.argument is None else [self.argument]
        without = ["when"] if self.takes_time else [str(each.name) for each in arguments]
        options = verb_options(self.verb, without=without, defaults=self.defaults)
        made = click.command(
            name=self.name,
            cls=click.Command if self.within is None else ShortRefCommand,
            help=self.help,
            short_help=self.short_help,
            hidden=self.hidden,
        )(options((list_options if self.is_list else common_options)(partial(self._run))))
        made.params[:0] = arguments
        if self.takes_time:
            made = time_argument(made)
        ranks = self.files and self.is_list and "limit" in arguments_of(self.verb)
        return all_option(made) if ranks else made

    def add_to(self, group: click.Group) -> None:
        """Add it to the commands of a journal."""
        group.add_command(self.command())

    def _run(self, *, as_json: bool, **given: Any) -> None:
        arguments = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
        }
        asked = ""
        if self.argument is not None:
            name = str(self.argument.name)
            typed = given[name]
            asked = arguments[name] = " ".join(typed) if isinstance(typed, tuple) else typed
        answer = self._answer(asked, arguments)
        if not self.is_list:
            show(answer, as_json, journal=self.journal)
            return
        show_list(
            answer,
            as_json,
            about=answer.facts.get("about", asked) if self.files else "",
            journal=self.journal,
            explain=given.get("explain", False),
            whole=self.within is not None,
        )

    def _answer(self, asked: str, arguments: dict[str, Any]) -> Answer:
        tool = self.verb.__name__
        if self.within is None:
            after = self.files if asked.strip() or self.files_blank else None
            return call_tool(self.toolset, tool, arguments, after=after)
        assert self.argument is not None
        name = str(self.argument.name)
        with opened() as app:
            call = app.toolset(self.toolset).tool(tool).call
            return find_entry(
                app, asked, lambda ref: call({**arguments, name: ref}), within=self.within
            )


def _read_object(
    _ctx: click.Context, param: click.Parameter, text: str | None
) -> dict[str, Any] | None:
    """The JSON object of an option; None where it was not given, or is blank. Raises: Invalid."""
    if text is None or not text.strip():
        return None
    hint = 'Use {"key": …}.'
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise Invalid(f"Invalid {param.opts[-1]}: it is not JSON.", hint=hint) from exc
    if not isinstance(found, dict):
        raise Invalid(
            f"Invalid {param.opts[-1]}: expected a JSON object, got {json_kind(found)}.", hint=hint
        )
    return found
