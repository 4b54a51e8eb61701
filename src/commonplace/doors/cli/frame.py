"""The frame of all commands: loading them late, and ending each with its code and its error.

Never imports what a command needs before that command is called, and never prints a traceback.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from commonplace.core.errors import CommonplaceError, Internal, Invalid, Unavailable
from commonplace.core.text import screening, shown_now
from commonplace.doors.cli.call_settings import shown_by_settings
from commonplace.doors.interrupt import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from click.shell_completion import CompletionItem


FAILURE = 1
USAGE = 2
_EXIT_CODES = {"invalid": USAGE, "not_found": 3, "conflict": 4}
_JSON_FORMS = ("json", "jsonl")
_SHOWN = 1_000
"""Characters that are shown of the beginning, and of the end, of a longer error."""
_LONGEST_SENTENCE = 200
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

ALL_COMMANDS = "commonplace.help.all"
"""Set in a context's `meta` where its help is to list every command."""


class Lazy(NamedTuple):
    """A command imported when it is called.

    Attributes:
        where: `module:attribute`.
        summary: Its line in the help.
        group: Under which the help lists it; empty for what only `help --all` lists.
        example: A call of it, as it is typed behind `commonplace`.
    """

    where: str
    summary: str
    group: str = ""
    example: str = ""

    def load(self) -> click.Command:
        """The command, imported now."""
        module, _, attribute = self.where.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


class Added(NamedTuple):
    """A command of another distribution: its entry point, the extra that brings it, its line."""

    name: str
    extra: str
    summary: str
    group: str = ""
    example: str = ""

    def load(self) -> click.Command:
        """The command, imported now; where it is not installed, one that says what to install."""
        from commonplace.core.plugins import COMMANDS, Plugin

        try:
            command = Plugin(COMMANDS, self.name, self.extra).load()
        except Unavailable as exc:
            return _missing(self, exc)
        assert isinstance(command, click.Command)
        return command


def _missing(command: Added, why: Unavailable) -> click.Command:
    """A command that says, whatever it is given, why it is not there."""

    def refuse(**_given: object) -> None:
        raise why

    return click.Command(
        command.name.rpartition(".")[2],
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        callback=refuse,
        context_settings={"ignore_unknown_options": True},
        short_help=command.summary,
        add_help_option=False,
    )


def _example(row: Lazy | Added, name: str = "") -> str:
    """The end of a command's help, a call of it; by another name where one is given."""
    if not row.example:
        return ""
    first, _, rest = row.example.partition(" ")
    return f"\b\nExample:\n  $ commonplace {name or first} {rest}".rstrip()


class Extended(click.Group):
    """The commands of a journal, some of them of another distribution.

    added: those, by name.
    """

    def __init__(self, *args: Any, added: Mapping[str, Added], **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.added = added

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        return sorted([*super().list_commands(ctx), *self.added])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; one that is added is imported now."""
        if cmd_name in self.added:
            return self.added[cmd_name].load()
        return super().get_command(ctx, cmd_name)


class Frame(click.Group):
    """The outermost command: loads a subcommand when it is called and ends each call with its code.

    table: the subcommands by name, in the order the help lists them.
    twins: what else they may be called, each with the subcommand that it stands for.
    home: the subcommand that is called where none is named; empty for none.
    """

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, Lazy | Added],
        twins: Mapping[str, str] = MappingProxyType({}),
        home: str = "",
        **attrs: Any,
    ) -> None:
        super().__init__(*args, **attrs)
        self.table = table
        self.twins = twins
        self.home = home

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it; what was saved in an editor for a command that fails is kept."""
        try:
            return super().invoke(ctx)
        finally:
            if "commonplace.doors.cli.editor" in sys.modules:  # else no draft was begun
                from commonplace.doors.cli.editor import end_draft
                from commonplace.doors.cli.output import say

                done = (BrokenPipeError, click.exceptions.Exit, type(None))
                if kept := end_draft(ctx, is_done=isinstance(sys.exception(), done)):
                    say(kept, err=True)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order."""
        return [*self.table]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now, with its example."""
        if cmd_name not in self.table:
            return None
        row = self.table[cmd_name]
        command = row.load()
        command.epilog = _example(row) or command.epilog
        for below in command.commands.values() if isinstance(command, click.Group) else ():
            # Else click cuts the sentence where a terminal is narrow, which it can wrap.
            below.short_help = below.short_help or below.get_short_help_str(_LONGEST_SENTENCE)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, and the nearest name for one that does not exist.

        A twin is the command that it stands for, which calls itself as it was typed.
        """
        typed = args[0]
        name = self.own_name(typed)
        if name in self.table or name.startswith("-") or ctx.resilient_parsing:
            found, command, rest = super().resolve_command(ctx, [name, *args[1:]])
            if command is not None and name != typed:
                command.epilog = _example(self.table[name], typed)
            return found and typed, command, rest
        raise click.UsageError(f"No such command: {name}.{self._guess(name, ctx)}", ctx)

    def own_name(self, typed: str) -> str:
        """The name of the subcommand that a twin stands for; any other word as it is."""
        return self.twins.get(typed, typed)

    def _guess(self, name: str, ctx: click.Context) -> str:
        """A command of this name below another, else the one that is spelled nearly so."""
        below = self.commands_below(name, ctx)
        if below:
            return f" Did you mean `{'` or `'.join(below)}`?"
        from commonplace.core.text import nearest

        near = nearest(name, [*self.table, *self.twins])
        return f" Did you mean {near}?" if near else ""

    def commands_below(self, name: str, ctx: click.Context) -> list[str]:
        """The commands of journals that are called so, as they are typed."""
        groups = [(each, self.get_command(ctx, each)) for each in self.table]
        return [
            f"commonplace {each} {name}"
            for each, group in groups
            if isinstance(group, click.Group) and group.get_command(ctx, name)
        ]

    def groups(self, *, is_all: bool = True) -> dict[str, list[str]]:
        """The names of the subcommands, by the group under which the help lists them."""
        groups: dict[str, list[str]] = {}
        for name, row in self.table.items():
            if row.group or is_all:
                groups.setdefault(row.group or "Others", []).append(name)
        return groups

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that the help lists, none of which is imported for it, and the options."""
        from click.shell_completion import CompletionItem

        names = [name for group in self.groups(is_all=False).values() for name in group]
        own = [
            CompletionItem(name, help=self.table[name].summary)
            for name in names
            if name.startswith(incomplete)
        ]
        return [*own, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands from the table by group, so that help imports none of them."""
        is_all = ctx.meta.get(ALL_COMMANDS, False)
        groups = {
            group: {name: self.table[name].summary for name in names}
            for group, names in self.groups(is_all=is_all).items()
        }
        if is_all:
            groups["Other names"] = {**self.twins}
        width = max(len(name) for rows in groups.values() for name in rows)
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl([(f"{name:{width}}", said) for name, said in rows.items()])
        if is_all:
            return
        with formatter.section("Examples"):
            for rows in groups.values():
                example = next((x for name in rows if (x := self.table[name].example)), "")
                formatter.write(f"  $ commonplace {example}\n" if example else "")

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT002  click's signature
        **extra: Any,
    ) -> Any:
        """Run a command line and leave with its code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        speak_utf8()
        words = list(sys.argv[1:] if args is None else args)
        if not words and self.home:
            words = [self.home]
        # click would expand `?` and `*` on Windows: a question is not a file pattern.
        extra.setdefault("windows_expand_args", False)

        def run() -> Any:
            try:
                return super(Frame, self).main(
                    words, prog_name or "commonplace", complete_var, standalone_mode=False, **extra
                )
            except click.UsageError as exc:
                exc.ctx = exc.ctx or self._context_of(words)
                raise

        own = words[: words.index("--")] if "--" in words else words
        with screening(shown_by_settings()):
            sys.exit(_exit_code(run, as_json=_asks_for_json(own)))

    def _context_of(self, words: Sequence[str]) -> click.Context:
        """That of the command which these words begin with: click's parser may leave it out."""
        ctx = click.Context(self, info_name="commonplace")
        for word in words:
            group = ctx.command
            name = self.own_name(word) if group is self else word
            command = group.get_command(ctx, name) if isinstance(group, click.Group) else None
            if command is None:
                break
            ctx = click.Context(command, info_name=word, parent=ctx)
        return ctx


def _asks_for_json(words: Sequence[str]) -> bool:
    """Whether JSON is wanted, as far as the words say so that click may not have read yet."""
    if not {f"{x}{y}" for x in ("--", "-f", "--format=") for y in _JSON_FORMS}.isdisjoint(words):
        return True
    return any(x in {"-f", "--format"} and y in _JSON_FORMS for x, y in pairwise(words))


def _exit_code(run: Callable[[], Any], *, as_json: bool) -> int:
    """Run, print what went wrong, and return the exit code."""
    try:
        ended = run()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output is gone: there is no one to say it to
        _drop_output()
        return FAILURE
    except (click.Abort, KeyboardInterrupt) as exc:
        # click makes an Abort of every EOFError; only that of its own prompts has no cause.
        if isinstance(exc.__cause__, EOFError):
            return _unexpected(exc.__cause__, as_json=as_json)
        ended = INTERRUPTED if isinstance(exc.__cause__ or exc, KeyboardInterrupt) else FAILURE
    except click.ClickException as exc:
        return _complain_usage(exc, as_json=as_json)
    except CommonplaceError as exc:
        return complain(exc, as_json=as_json)
    except Exception as exc:  # noqa: BLE001  the last line of a door: logged, shown as internal error
        return _unexpected(exc, as_json=as_json)
    return ended if type(ended) is int else 0


def _unexpected(exc: Exception, *, as_json: bool) -> int:
    """Explain what is not ours as far as that is possible; the rest is logged."""
    if refused := _refused_by_system(exc):
        return complain(refused, as_json=as_json)
    from commonplace.doors.logs import log_failure

    file = log_failure(exc)
    hint = f"Look into {file}." if file else "Set COMMONPLACE_LOG to a file to see where."
    return complain(Internal("Internal error.", hint=hint), as_json=as_json)


def complain(error: CommonplaceError, *, as_json: bool) -> int:
    """Say an error on stderr, as a last line of JSON too where asked; its exit code."""
    from commonplace.doors.cli.output import say, write_json
    from commonplace.doors.cli.terminal_width import wrapped

    error = error.screened(shown_now)  # before it is cut and wrapped
    text = str(error)
    if len(text) > 2 * _SHOWN:  # it names a value; the next step is at the end
        text = f"{text[:_SHOWN]} … {text[-_SHOWN:]}"
    say(wrapped(f"Error: {text}", sys.stderr), err=True)
    if as_json:
        write_json(sys.stderr, error.facts)
    return _EXIT_CODES.get(error.code, FAILURE)


def _complain_usage(exc: click.ClickException, *, as_json: bool) -> int:
    if type(exc).__name__ == "NoArgsIsHelpError":  # click 8.2 and later: help asked by silence
        exc.show()
        return USAGE
    if not isinstance(exc, click.UsageError):
        return complain(Unavailable(exc.format_message()), as_json=as_json)
    command = exc.ctx.command_path if exc.ctx else "commonplace"
    if (
        exc.ctx and type(exc).__name__ == "NoSuchCommand"
    ):  # of a journal; the outermost names its own
        return complain(Invalid(exc.message, hint=_names_below(exc.ctx, exc)), as_json=as_json)
    if isinstance(exc, click.BadParameter) and isinstance(exc.param, click.Argument):
        name = exc.param.metavar or (exc.param.name or "").upper()
        exc.param_hint = name.strip("[].")  # else all choices, which it names anyway
    from commonplace.doors.cli.short_refs import as_typed

    if isinstance(exc, click.NoSuchOption):
        said = f"{exc.message.rstrip('.')}.{_nearest_option(exc)}"
    else:
        said = " ".join(as_typed(exc.format_message()).split())
    said += "" if said.endswith((".", "?", "!")) else "."
    hint = _count_meant(exc, said) or f"{_nearest_choice(exc, said)}Try '{command} --help'."
    return complain(Invalid(said, hint=hint), as_json=as_json)


def _count_meant(exc: click.UsageError, said: str) -> str:
    """The option for a number that was typed where a word belongs; empty where there is none."""
    found = re.search(r"arguments? \((\d{1,3})\)|: '(\d{1,3})' is not one of", said)
    if found is None or exc.ctx is None or all("-n" not in x.opts for x in exc.ctx.command.params):
        return ""
    return f"Did you mean `{exc.ctx.command_path} -n {found[1] or found[2]}`?"


def _nearest_choice(exc: click.UsageError, said: str) -> str:
    """The choice that is spelled nearly so; of an argument that is missing, an example of all."""
    if isinstance(exc, click.MissingParameter) and exc.ctx and exc.ctx.command.epilog:
        return f"For example: `{exc.ctx.command.epilog.partition('$ ')[2]}`. "
    kind = exc.param.type if isinstance(exc, click.BadParameter) and exc.param else None
    found = re.search(r": '([^']+)' is not one of", said)
    if found is None or not isinstance(kind, click.Choice):
        return ""
    from commonplace.core.text import nearest

    near = nearest(found[1], [*kind.choices])
    return f"Did you mean {near}? " if near else ""


def _nearest_option(exc: click.NoSuchOption) -> str:
    """What may have been meant, of the options that the help lists."""
    params = exc.ctx.command.params if exc.ctx else ()
    listed = {name for x in params if not getattr(x, "hidden", False) for name in x.opts}
    near = [name for name in exc.possibilities or () if name in listed]
    return f" Did you mean {near[0]}?" if near else ""


def _names_below(ctx: click.Context, exc: click.UsageError) -> str:
    """What there is in place of a command that a journal does not have."""
    name = getattr(exc, "command_name", "")
    outermost, group = ctx.find_root().command, ctx.command
    assert isinstance(group, click.Group)
    names = group.list_commands(ctx)
    if isinstance(outermost, Frame) and name in outermost.table:
        return f"Did you mean `commonplace {name}`? Here there are: {', '.join(names)}."
    if near := getattr(exc, "possibilities", None):
        return f"Did you mean {near[0]}? Try '{ctx.command_path} --help'."
    from commonplace.verbs.answers import either

    return f"Use {either(names)}."


def _refused_by_system(exc: Exception) -> Unavailable | None:
    """The error for output, or temporary files, that no disk takes; None for anything else.

    What is refused elsewhere has a name, or was translated into one of our errors.
    """
    if not isinstance(exc, OSError) or exc.filename:
        return None
    if isinstance(exc, FileNotFoundError) and "temporary directory" in str(exc):
        return Unavailable(
            "There is no folder for temporary files that can be written to.",
            hint="Free some space, or set TMPDIR to a folder of yours.",
        )
    if exc.errno not in _NO_SPACE:
        return None
    _drop_output()
    return Unavailable(
        f"The output cannot be written: {os.strerror(exc.errno)}.",
        hint="Free some space, or write it elsewhere.",
    )


def _drop_output() -> None:
    """Send the output that is left to nowhere: Python would try to write it once more at exit."""
    with contextlib.suppress(OSError, ValueError):  # a stdout that is no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def speak_utf8() -> None:
    """Write UTF-8 whatever the locale; what UTF-8 cannot hold is shown escaped, as in JSON."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
