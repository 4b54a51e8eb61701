"""What all commands share: loading them late, common options, showing answers, ending with a code.

Never imports what a command needs before that command is called, and never prints a traceback.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

import click

from commonplace.core.errors import CommonplaceError, Internal, Invalid, Unavailable
from commonplace.doors.interrupt import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.config.table import Settings
    from commonplace.core.values import Answer

FAILURE = 1
USAGE = 2
_EXIT_CODES = {"invalid": USAGE, "not_found": 3, "conflict": 4}
_FLAGS = "commonplace.flags"
_SETTINGS = "commonplace.settings"
# Signs that could steer a terminal; line breaks and tabs are text.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_Command = TypeVar("_Command", bound="Callable[..., Any]")


class Lazy(NamedTuple):
    """A command imported when it is called: `module:attribute`, and its line in the help."""

    where: str
    summary: str


class Frame(click.Group):
    """The outermost command: loads a subcommand when it is called and ends each call with its code.

    table: the subcommands by name, in the order the help lists them.
    """

    def __init__(self, *args: Any, table: Mapping[str, Lazy], **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """The names in the table's order."""
        return [*self.table]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """The subcommand, imported now."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name].where.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with the nearest name for one that does not exist."""
        if args[0] in self.table or args[0].startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from commonplace.core.text import nearest

        near = nearest(args[0], [*self.table])
        hint = f" Did you mean {near}?" if near else ""
        raise click.UsageError(f"No such command: {args[0]}.{hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """List the subcommands from the table, so that help imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in self.table.items()])

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
        # click would expand `?` and `*` on Windows: a question is not a file pattern.
        extra.setdefault("windows_expand_args", False)

        def run() -> Any:
            return super(Frame, self).main(
                words, prog_name or "commonplace", complete_var, standalone_mode=False, **extra
            )

        own = words[: words.index("--")] if "--" in words else words
        sys.exit(_exit_code(run, as_json="--json" in own))


def _exit_code(run: Callable[[], Any], *, as_json: bool) -> int:
    """Run, say what went wrong, and tell the exit code."""
    try:
        ended = run()
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_left()
    except (click.Abort, KeyboardInterrupt) as exc:
        ended = INTERRUPTED if isinstance(exc.__cause__ or exc, KeyboardInterrupt) else FAILURE
    except click.ClickException as exc:
        return _complain_usage(exc, as_json=as_json)
    except CommonplaceError as exc:
        return complain(exc, as_json=as_json)
    except Exception as exc:  # noqa: BLE001  the last line of a door: logged, shown as internal error
        from commonplace.doors.logs import log_failure

        file = log_failure(exc)
        hint = f"Look into {file}." if file else "Set COMMONPLACE_LOG to a file to see where."
        return complain(Internal("Internal error.", hint=hint), as_json=as_json)
    return ended if type(ended) is int else 0


def complain(error: CommonplaceError, *, as_json: bool) -> int:
    """Say an error on stderr, as a last line of JSON too where asked; its exit code."""
    _write(sys.stderr, f"Error: {error}")
    if as_json:
        _write(sys.stderr, json.dumps(error.facts, ensure_ascii=False))
    return _EXIT_CODES.get(error.code, FAILURE)


def _complain_usage(exc: click.ClickException, *, as_json: bool) -> int:
    if type(exc).__name__ == "NoArgsIsHelpError":  # click 8.2 and later: help asked by silence
        exc.show()
        return USAGE
    if not isinstance(exc, click.UsageError):
        return complain(Unavailable(exc.format_message()), as_json=as_json)
    command = exc.ctx.command_path if exc.ctx else "commonplace"
    error = Invalid(exc.format_message(), hint=f"Try '{command} --help'.")
    return complain(error, as_json=as_json)


def _reader_left() -> int:
    """Whoever read our output went away: nothing more to say, not even at exit."""
    with contextlib.suppress(OSError, ValueError):  # a stdout that is no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILURE


def show(answer: Answer, as_json: bool) -> None:
    """Print an answer on stdout: its text, or its facts as JSON."""
    if as_json:
        _write(sys.stdout, json.dumps(dict(answer.facts), ensure_ascii=False, indent=2))
        return
    _write(sys.stdout, answer.text.removesuffix("\n"))


def _write(stream: TextIO, line: str) -> None:
    """Write a line; stored text must not steer a terminal, and goes as it is anywhere else.

    (click.echo would drop escape sequences from what goes into a file.)
    """
    stream.write((_STEERING.sub("\ufffd", line) if stream.isatty() else line) + "\n")


def text_input(argument: str | None) -> str:
    """The text a command is about: its argument; stdin for `-` or in a pipe; else from $EDITOR.

    Raises Invalid where stdin is not UTF-8, or nothing was saved in the editor.
    """
    if argument is not None and argument != "-":
        return argument
    if argument is None and sys.stdin.isatty():
        written: str | None = click.edit("", extension=".md")
        if written is None:
            raise Invalid("Nothing was written.", hint="Save the text before you leave the editor.")
        return written
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Invalid("The text on stdin is not UTF-8.", hint="Convert it first.") from exc


def file_text(source: str, *, hint: str = "Name another file, or convert it.") -> str:
    """The text of a file, or of stdin for `-`. Raises: NotFound, Invalid where it is not UTF-8."""
    if source == "-":
        return text_input("-")
    from commonplace.core.files import translated

    with translated(source):
        content = Path(source).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Invalid(f"{source} is not UTF-8.", hint=hint) from exc


def speak_utf8() -> None:
    """Write UTF-8 whatever the locale; what UTF-8 cannot hold is shown escaped, as in JSON."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


json_option = click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")


def setting_option(key: str, **attrs: Any) -> Callable[[Any], Any]:
    """An option that is the flag of a setting: `settings()` sees it, the command need not.

    key: as in config_table.SETTINGS; `read_only` becomes `--read-only`. attrs: click's, above all
    help.
    """
    name = f"--{key.replace('_', '-').replace('.', '-')}"
    return click.option(name, callback=flag_of(key), expose_value=False, default=None, **attrs)


def flag_of(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback of an option or argument that is the flag of a setting; hands its value on."""

    def remember(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if value is not None:
            ctx.meta.setdefault(_FLAGS, {})[key] = value
        return value

    return remember


project_option = setting_option(
    "project", metavar="FOLDER", help="The project's folder; else where you are."
)


def common_options(command: _Command) -> _Command:
    """The options of every command that reads or writes journals: --project and --json."""
    decorated: _Command = project_option(json_option(command))
    return decorated


def settings() -> Settings:
    """The settings of this call, read once, with its flags; from here on a log is written, if set.

    Call it inside a command. Raises Invalid for a setting that cannot be meant.
    """
    ctx = click.get_current_context()
    if _SETTINGS not in ctx.meta:
        from commonplace.config.settings import read_settings
        from commonplace.doors.logs import set_up_logging

        read = read_settings(flags=ctx.meta.get(_FLAGS), cwd=working_folder(), home=home_folder())
        set_up_logging(read)
        ctx.meta[_SETTINGS] = read
    found: Settings = ctx.meta[_SETTINGS]
    return found


def given_flags() -> dict[str, object]:
    """The flags of this call, by the keys of settings. Call it inside a command."""
    return dict(click.get_current_context().meta.get(_FLAGS, {}))


def working_folder() -> Path:
    """Where the command was called. Raises Unavailable where that folder is gone."""
    try:
        return Path.cwd()
    except OSError as exc:
        raise Unavailable(
            "The working directory is gone.", hint="Change to another folder, then try again."
        ) from exc


def home_folder() -> Path | None:
    """The user's home folder; None where there is none. Raises: Invalid where HOME is none."""
    from commonplace.config.settings import user_home

    return user_home()
