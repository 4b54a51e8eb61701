"""`commonplace help`, `version` and `completion`: what the command line says of itself.

Never runs a shell and never touches its files: it prints.
"""

from __future__ import annotations

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.frame import ALL_COMMANDS, Frame
from commonplace.doors.cli.options import json_option
from commonplace.doors.cli.output import say, show


@click.command(name="help", short_help="Show this help, or that of a command.")
@click.argument("command", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="List every command, and other words for them.")
@click.pass_context
def help_on(ctx: click.Context, command: tuple[str, ...], *, is_all: bool) -> None:
    """Show the help of COMMAND, or of all commands."""
    at = ctx.find_root()
    root = at.command
    assert isinstance(root, Frame)
    at.meta[ALL_COMMANDS] = is_all
    words = [*command]
    while words:
        if not isinstance(at.command, click.Group):
            raise click.UsageError(f"{at.command_path} has no command {words[0]}.", at)
        name, found, words = at.command.resolve_command(at, words)
        assert found is not None
        at = click.Context(found, info_name=name, parent=at)
    click.echo(at.command.get_help(at))


@click.command()
@json_option
def version(as_json: bool) -> None:
    """Show the version."""
    from commonplace.doors.installed import installed_version

    number = installed_version()
    show(Answer(text=f"commonplace {number}", facts={"number": number}), as_json)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion(shell: str, as_json: bool) -> None:
    """Print a shell's completion script.

    For bash, put this into ~/.bashrc: eval "$(commonplace completion bash)"
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(click.Command("commonplace"), {}, "commonplace", "_COMMONPLACE_COMPLETE")
    # The class's own source() of bash would start a bash to ask for its version.
    text = ShellComplete.source(script)
    if as_json:
        show(Answer(text=text, facts={"shell": shell, "script": text}), as_json)
        return
    say(text.removesuffix("\n"))  # for a shell, so in no line wrapped
