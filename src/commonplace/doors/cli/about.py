"""`commonplace help` and `version`, for those who type them as words.

Never says anything of its own: it shows what `--help` and `--version` show.
"""

from __future__ import annotations

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.frame import show
from commonplace.doors.cli.options import json_option


@click.command(name="help", short_help="Show this help, or that of a command.")
@click.argument("command", nargs=-1)
@click.pass_context
def help_on(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of COMMAND, or of all commands."""
    at = ctx.find_root()
    for word in command:
        if not isinstance(at.command, click.Group):
            raise click.UsageError(f"{at.command_path} has no command {word}.", at)
        name, found, _ = at.command.resolve_command(at, [word])
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
