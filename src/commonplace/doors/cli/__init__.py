"""The command line: `commonplace` and the table of its commands.

Never imports a command, a setting or a journal before it is called for: `--help` is quick.
"""

from __future__ import annotations

import click

from commonplace.doors.cli.frame import Added, Frame, Lazy
from commonplace.doors.installed import installed_version
from commonplace.journals.table import JOURNALS

_EVERYDAY, _JOURNALS, _DATA, _SETUP = "Everyday", "Journals", "Your data", "Setup"
_HERE = "commonplace.doors.cli"

COMMANDS: dict[str, Lazy | Added] = {
    "log": Lazy(
        f"{_HERE}.log:log",
        "Log what you just did, or show the log.",
        _EVERYDAY,
        'log "fixed the build: a cache was stale" -t ci',
    ),
    "remember": Lazy(
        f"{_HERE}.remember:remember",
        "Tell every later session something.",
        _EVERYDAY,
        'remember "we deploy on Fridays"',
    ),
    "recall": Lazy(
        f"{_HERE}.recall:recall",
        "Ask all journals one question, in words and time.",
        _EVERYDAY,
        "recall why did we leave Postgres last spring",
    ),
    "when": Lazy(
        f"{_HERE}.chronicle:when",
        "Find when you last, first or ever did something.",
        _EVERYDAY,
        "when did I last deploy",
    ),
    "list": Lazy(
        f"{_HERE}.entries:list_entries",
        "List the newest entries of all journals.",
        _EVERYDAY,
        "list last week -j private",
    ),
    "open": Lazy(
        f"{_HERE}.recall:open_ref",
        "Show any entry whole, with what came before and after it.",
        _EVERYDAY,
        "open 3",
    ),
    "edit": Lazy(
        f"{_HERE}.entries:edit",
        "Replace the text of any entry.",
        _EVERYDAY,
        'edit -1 "fixed the build: the cache of CI was stale"',
    ),
    "forget": Lazy(
        f"{_HERE}.forgetting:forget",
        "Delete entries and every copy of their text.",
        _EVERYDAY,
        'forget --query "the old password" --dry-run',
    ),
    "undo": Lazy(f"{_HERE}.undoing:undo", "Take back what you wrote last.", _EVERYDAY, "undo"),
    "expire": Lazy(
        f"{_HERE}.expiring:expire",
        "Set when an entry is forgotten by itself.",
        _EVERYDAY,
        "expire -1 in 30 days",
    ),
    "todo": Lazy(
        f"{_HERE}.memory:todo",
        "Keep, tick or list what is to be done.",
        _EVERYDAY,
        "todo paint the pier",
    ),
    "today": Lazy(
        f"{_HERE}.today:today",
        "Show what is open, what was last, what waits and what is next.",
        _EVERYDAY,
        "today",
    ),
    **{row.name: Lazy(row.command, row.help, _JOURNALS, row.example) for row in JOURNALS},
    "import": Lazy(
        f"{_HERE}.importing:import_sessions",
        "Import an export, sessions, or other programs' entries.",
        _DATA,
        "import claude-code --dry-run",
    ),
    "export": Lazy(
        f"{_HERE}.exporting:export",
        "Write all journals as Markdown and JSON lines.",
        _DATA,
        'export memory.zip --when "this year"',
    ),
    "backup": Lazy(
        f"{_HERE}.backup:backup",
        "Copy all journals into one new FILE, at any time.",
        _DATA,
        "backup memory-backup.zip",
    ),
    "restore": Lazy(
        f"{_HERE}.backup:restore",
        "Restore everything that `commonplace backup` put into FILE.",
        _DATA,
        "restore memory-backup.zip",
    ),
    "setup": Lazy(
        f"{_HERE}.setup:setup", "Add Commonplace to an MCP client.", _SETUP, "setup claude-code"
    ),
    "web": Lazy(f"{_HERE}.web:web", "Look at everything in your browser.", _SETUP, "web"),
    "doctor": Lazy(
        f"{_HERE}.doctor:doctor",
        "Check for problems; fix them with --repair.",
        _SETUP,
        "doctor --repair",
    ),
    "status": Lazy(f"{_HERE}.recall:status", "Show what each journal holds.", _SETUP, "status"),
    "config": Lazy(
        f"{_HERE}.config:config", "Show or change settings.", _SETUP, "config set timezone UTC"
    ),
    "model": Lazy(
        f"{_HERE}.model:model", "Show, fetch or choose the encoder.", _SETUP, "model fetch"
    ),
    "last": Lazy(f"{_HERE}.entries:last", "Show the newest entry whole."),
    "delete": Lazy(f"{_HERE}.entries:delete", "Delete any entry for good."),
    "recover": Lazy(f"{_HERE}.project:recover", "Bring back notes of this project that are gone."),
    "project": Lazy(f"{_HERE}.project:project", "Show which project this folder belongs to."),
    "trust": Lazy(
        f"{_HERE}.trust:trust", "Allow a repository a project log, or take its notes for yours."
    ),
    "brief": Lazy(
        f"{_HERE}.brief:brief", "Show what a session of this project is given at its start."
    ),
    "rollup": Lazy(
        f"{_HERE}.rollup:rollup", "Roll the timeline up: what is due, or a period again."
    ),
    "reindex": Lazy(f"{_HERE}.reindex:reindex", "Rebuild the index from the journals."),
    "mcp": Lazy(f"{_HERE}.mcp:mcp", "Serve an MCP client over stdin and stdout."),
    "serve": Added("serve", "server", "Serve MCP clients over HTTP, many users at once."),
    "tokens": Added("tokens", "server", "Let users connect over HTTP, each with a token."),
    "hook": Lazy(f"{_HERE}.hook:hook", "Serve a hook of a client, whose JSON is read from stdin."),
    "completion": Lazy(f"{_HERE}.about:completion", "Print a shell's completion script."),
    "help": Lazy(f"{_HERE}.about:help_on", "Show this help, or that of a command."),
    "version": Lazy(f"{_HERE}.about:version", "Show the version."),
}
"""All commands by name, in the order in which the help lists them."""

TWINS = {
    "search": "recall",
    "find": "recall",
    "show": "open",
    "rm": "delete",
    "note": "log",
    "add": "log",
}
"""Names that commands have in other programs, and the command that each stands for."""


def _print_version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"commonplace {installed_version()}")
        ctx.exit()


@click.group(
    cls=Frame,
    table=COMMANDS,
    twins=TWINS,
    home="today",
    subcommand_metavar="COMMAND …",
    epilog="`commonplace COMMAND --help` describes a command; `commonplace help --all` lists all.",
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
