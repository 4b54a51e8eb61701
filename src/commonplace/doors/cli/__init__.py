"""The command line: `commonplace` and the table of its commands.

Never imports a command, a setting or a journal before it is called for: `--help` is quick.
"""

from __future__ import annotations

import click

from commonplace.doors.cli.frame import Added, Frame, Lazy
from commonplace.doors.installed import installed_version
from commonplace.journals.table import JOURNALS

COMMANDS = {
    "recall": Lazy(
        "commonplace.doors.cli.recall:recall", "Ask all journals one question, in words and time."
    ),
    "search": Lazy("commonplace.doors.cli.recall:search", "The same as recall."),
    "list": Lazy(
        "commonplace.doors.cli.entries:list_entries", "List the newest entries of all journals."
    ),
    "last": Lazy("commonplace.doors.cli.entries:last", "Show the newest entry whole."),
    "open": Lazy(
        "commonplace.doors.cli.recall:open_ref",
        "Show any entry whole, with what came before and after it.",
    ),
    "edit": Lazy("commonplace.doors.cli.entries:edit", "Replace the text of any entry."),
    "delete": Lazy("commonplace.doors.cli.entries:delete", "Delete any entry for good."),
    "undo": Lazy("commonplace.doors.cli.undoing:undo", "Take back what you wrote last."),
    "forget": Lazy(
        "commonplace.doors.cli.forgetting:forget", "Delete entries and every copy of their text."
    ),
    "expire": Lazy(
        "commonplace.doors.cli.expiring:expire", "Set when an entry is forgotten by itself."
    ),
    **{row.name: Lazy(row.command, row.help) for row in JOURNALS},
    "import": Lazy(
        "commonplace.doors.cli.importing:import_sessions",
        "Import an export, sessions, or other programs' entries.",
    ),
    "export": Lazy(
        "commonplace.doors.cli.exporting:export",
        "Write all journals as Markdown and JSON lines.",
    ),
    "backup": Lazy(
        "commonplace.doors.cli.backup:backup",
        "Copy all journals into one new FILE, while other programs write.",
    ),
    "restore": Lazy(
        "commonplace.doors.cli.backup:restore",
        "Restore everything that `commonplace backup` put into FILE.",
    ),
    "recover": Lazy(
        "commonplace.doors.cli.project:recover", "Bring back notes of this project that are gone."
    ),
    "rollup": Lazy(
        "commonplace.doors.cli.rollup:rollup",
        "Roll the timeline up: what is due, or a period again.",
    ),
    "log": Lazy("commonplace.doors.cli.log:log", "Log what you just did, or show the log."),
    "trust": Lazy(
        "commonplace.doors.cli.trust:trust",
        "Allow a repository a project log, or take its notes for yours.",
    ),
    "when": Lazy(
        "commonplace.doors.cli.chronicle:when", "Find when you last, first or ever did something."
    ),
    "project": Lazy(
        "commonplace.doors.cli.project:project", "Show which project this folder belongs to."
    ),
    "status": Lazy("commonplace.doors.cli.recall:status", "Show what each journal holds."),
    "brief": Lazy(
        "commonplace.doors.cli.brief:brief",
        "Show what a session of this project is given at its start.",
    ),
    "web": Lazy("commonplace.doors.cli.web:web", "Look at everything in your browser."),
    "mcp": Lazy("commonplace.doors.cli.mcp:mcp", "Serve an MCP client over stdin and stdout."),
    "serve": Added("serve", "server", "Serve MCP clients over HTTP, many users at once."),
    "tokens": Added("tokens", "server", "Let users connect over HTTP, each with a token."),
    "hook": Lazy(
        "commonplace.doors.cli.hook:hook",
        "Serve a hook of a client, whose JSON is read from stdin.",
    ),
    "setup": Lazy("commonplace.doors.cli.setup:setup", "Add Commonplace to an MCP client."),
    "reindex": Lazy(
        "commonplace.doors.cli.reindex:reindex", "Rebuild the index from the journals."
    ),
    "doctor": Lazy(
        "commonplace.doors.cli.doctor:doctor", "Check for problems; fix them with --repair."
    ),
    "model": Lazy("commonplace.doors.cli.model:model", "Show, fetch or choose the encoder."),
    "config": Lazy("commonplace.doors.cli.config:config", "Show or change settings."),
    "completion": Lazy(
        "commonplace.doors.cli.about:completion", "Print a shell's completion script."
    ),
    "help": Lazy("commonplace.doors.cli.about:help_on", "Show this help, or that of a command."),
    "version": Lazy("commonplace.doors.cli.about:version", "Show the version."),
}
"""All commands by name, in the order in which `--help` lists them."""


def _print_version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"commonplace {installed_version()}")
        ctx.exit()


@click.group(
    cls=Frame,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """One memory for AI assistants: journals in files you own, found by meaning and by words."""
