"""`commonplace notebook`: what is understood, and how it came about, from a terminal.

Never decides anything about the notebook: each command parses, calls one verb and shows its answer.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from commonplace.core.errors import Invalid, NotFound
from commonplace.core.values import Answer, Filter
from commonplace.doors.cli.acts import noting_import
from commonplace.doors.cli.asking import file_text, text_input
from commonplace.doors.cli.call_settings import home_folder, settings, working_folder
from commonplace.doors.cli.calls import file_everything, opened, written
from commonplace.doors.cli.editor import text_from_editor
from commonplace.doors.cli.options import common_options, expires_option, flag_of
from commonplace.doors.cli.output import show, show_written
from commonplace.doors.cli.progress import show_counting
from commonplace.doors.cli.verb_commands import VerbCommand, verb_options
from commonplace.journals.notebook.format import ENTRY
from commonplace.verbs.answers import replaced_since_lines
from commonplace.verbs.notebook.service import NotebookService

if TYPE_CHECKING:
    from commonplace.app import App

_ENTRIES = Filter(journals=("notebook",), kinds=(ENTRY,))

LINE = "<!-- Above: the overview. Below: your entry, what was done or learned. -->"
_OVERVIEW_ALONE = "Edit the overview."
LEGEND = "<!-- A was written here, B is there now: settle it, take the marks out. -->"


@click.group()
def notebook() -> None:
    """Keep what is understood, and how it came about."""


@notebook.command(short_help="Make the notebook, or take a repository that is there.")
@click.argument("path", required=False, callback=flag_of("notebook.path"))
@common_options
def init(path: str | None, as_json: bool) -> None:
    """Make the notebook, or take the repository that is there as it is.

    With a PATH that folder is your notebook from now on: it is written into your settings file.
    """
    with opened() as app:
        answer = app.notebook.service().init()
    if path is not None:
        answer = _kept(path, answer)
    show(answer, as_json)


def _kept(path: str, answer: Answer) -> Answer:
    """The answer, after the folder was written into the user's settings."""
    from commonplace.config.settings import user_file, write_setting

    left = _left(answer.facts["folder"])
    write_setting("notebook.path", path, user_file(), cwd=working_folder(), home=home_folder())
    notes = [f"Set notebook.path in {user_file()}."]
    if os.environ.get("COMMONPLACE_NOTEBOOK"):
        notes.append("COMMONPLACE_NOTEBOOK is set, and goes before it.")
    if left:
        notes.append(f"The notebook in {left} stays as it is; its entries are not in this one.")
    return Answer(text="\n".join([answer.text, *notes]), facts={**answer.facts, "notes": notes})


def _left(folder: str) -> str:
    """The notebook that was in use until now, where it is another one; empty where none was."""
    from commonplace.app import App
    from commonplace.config.settings import read_settings

    before = App(read_settings(cwd=working_folder(), home=home_folder()), user_home=home_folder())
    try:
        past = before.notebook.repository
        return str(past.folder) if past.exists and str(past.folder) != folder else ""
    finally:
        before.close()


@notebook.command(short_help="Add an entry; without one, edit the overview too.")
@click.argument("section")
@click.argument("entry", nargs=-1)
@verb_options(NotebookService.journal_write, without=("path", "entry"))
@expires_option
@common_options
def write(section: str, entry: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Add an entry to SECTION.

    ENTRY is its words; `-`, or a pipe, reads them from stdin. On a terminal without an ENTRY your
    editor opens with the overview, and room for the entry below it.
    """
    arguments = {**given, "path": section}
    with opened(defers_filing=True) as app:
        tool = app.notebook.toolset().tool("journal_write")
        if entry or not sys.stdin.isatty():
            arguments["entry"] = text_input(" ".join(entry) if entry else None)
        else:
            overview, version, since = _overview(app, section)
            arguments |= _parted(_edited(overview, since), overview, version)
        show_written(written(app, tool, arguments, within=_ENTRIES), as_json, journal="notebook")


def _overview(app: App, section: str) -> tuple[str, str, str]:
    """The overview, its version, and what was replaced since; empty where there is none."""
    service = app.notebook.service()
    try:
        facts = app.notebook.toolset().tool("journal_read").call({"id": section}).facts
    except NotFound:
        return "", "", ""
    replaced = service.notebook.list_replaced_since(facts["id"])
    since = " ".join(replaced_since_lines(replaced, service.zone))
    return facts["overview"], facts["version"], since


def _edited(overview: str, since: str) -> str:
    """What the editor was left with. Raises: Invalid where nothing was written.

    since: Stands above the line as a comment, which is taken out again.
    """
    start = f"{overview}\n\n" if overview else "\n"
    comment = f"<!-- {since} -->\n" if since else ""
    text = text_from_editor(f"{start}{comment}{LINE}\n", lambda: settings().home)
    if text is None:
        raise Invalid("Nothing was written.", hint="Save the text before you leave the editor.")
    text = text.replace(comment.strip(), "", 1)
    # An emptied text gives up, as in an editor that git opens.
    if not text.strip() or text.strip() == f"{start}{LINE}".strip():
        raise Invalid("Nothing was written.", hint="Write an entry below the line.")
    return text


def _parted(text: str, overview: str, version: str) -> dict[str, str]:
    """What was edited as arguments: the entry, and the overview if it is another."""
    above, line, below = text.partition(LINE)
    # Without the line the two cannot be told apart: all of it is the overview, as it was shown.
    changed = above.strip("\n") != overview.strip("\n")
    entry = below if line and below.strip() else _OVERVIEW_ALONE
    arguments = {"entry": entry.strip("\n")}
    if not changed:
        return arguments
    if not above.strip():
        raise Invalid("The overview was emptied.", hint="Leave it, or say what is understood now.")
    return arguments | {"overview": above.strip("\n"), "base_version": version}


VerbCommand(
    "notebook",
    NotebookService.journal_read,
    "read",
    """Show a section's overview, or one entry whole.

    ID is a section, one of its entries as `log` and `search` show it (SECTION#ID), the
    beginning of a ref, a number in the last list, or -1 for the newest.
    """,
    argument=click.Argument(["id"]),
    within=Filter(journals=("notebook",)),
    journal="notebook",
    is_list=False,
).add_to(notebook)
VerbCommand(
    "notebook",
    NotebookService.journal_list_entries,
    "log",
    "List the entries of SECTION, newest first.",
    argument=click.Argument(["path"], metavar="SECTION"),
    journal="notebook",
).add_to(notebook)
VerbCommand(
    "notebook",
    NotebookService.journal_toc,
    "toc",
    "List the sections below SECTION, or all at the top.",
    argument=click.Argument(["id"], default="", metavar="[SECTION]"),
    is_list=False,
).add_to(notebook)
VerbCommand(
    "notebook",
    NotebookService.journal_search,
    "search",
    "Find entries and overviews by what they say, by the work they came from, or by both.",
    short_help="Find entries and overviews, best first.",
    argument=click.Argument(["content"], nargs=-1),
    files=file_everything,
    files_blank=True,
    journal="notebook",
).add_to(notebook)


@notebook.command(short_help="Give a section, or a folder of them, another name.")
@click.argument("old")
@click.argument("new")
@click.option("--all", "below", is_flag=True, help="Move the sections below it as well.")
@common_options
def move(old: str, new: str, below: bool, as_json: bool) -> None:
    """Give the section OLD the name NEW, its entries with it.

    Sections below it stay, unless you say --all. A folder that is not a section itself goes with
    all that lies below it.
    """
    with opened() as app:
        old = app.names_behind(old)
        show(app.notebook.service().move(old=old, new=new, below=below), as_json)


@notebook.command(short_help="Bring the notebook and a remote to hold the same.")
@click.option("--remote", default="origin", show_default=True, help="Name of the remote.")
@click.option("--accept-loss", is_flag=True, help="Accept the remote even if it lost entries.")
@common_options
def sync(remote: str, accept_loss: bool, as_json: bool) -> None:
    """Fetch what others wrote, put what was written here on top of it, and push.

    Every entry of either side is kept once. An overview that both sides changed in one place waits
    for `resolve`; everything else goes on. A sync that fails leaves all as it was.
    """
    with opened() as app:
        show(app.notebook.service().sync(remote=remote, accept_loss=accept_loss), as_json)


@notebook.command(short_help="List the branches, or make one.")
@click.argument("name", required=False)
@click.argument("start", required=False)
@common_options
def branch(name: str | None, start: str | None, as_json: bool) -> None:
    """List the git branches of the notebook, its own with a star; with NAME make that branch.

    It begins at START, a branch or a commit; else where the notebook is. The notebook stays on its
    own branch: `switch` goes to another.
    """
    with opened() as app:
        service = app.notebook.service()
        if name is None:
            show(service.list_branches(), as_json, items="branches")
        else:
            show(service.create_branch(name=name, start=start or ""), as_json)


@notebook.command(short_help="Go to another branch.")
@click.argument("name")
@click.option("-c", "--create", is_flag=True, help="Make it first.")
@common_options
def switch(name: str, create: bool, as_json: bool) -> None:
    """Switch the notebook to the branch NAME, which is read and written from then on.

    Where that would change a file that you edited and did not commit, nothing is done.
    """
    with opened() as app:
        show(app.notebook.service().switch_branch(name=name, create=create), as_json)


@notebook.command(short_help="Bring what another branch holds into this one.")
@click.argument("name")
@common_options
def merge(name: str, as_json: bool) -> None:
    """Bring what the branch NAME holds into the one that the notebook is on.

    Overviews are merged as by `sync`: one that both changed in one place waits for `resolve`.
    """
    with opened() as app:
        show(app.notebook.service().merge_branch(name=name), as_json)


@notebook.command(short_help="List the overviews that a sync could not merge.")
@common_options
def conflicts(as_json: bool) -> None:
    """List the overviews that both sides changed in one place, with both texts."""
    with opened() as app:
        show(app.notebook.service().conflicts(), as_json, items="conflicts")


@notebook.command(short_help="Settle an overview that a sync could not merge.")
@click.argument("section")
@click.option("--ours", "take", flag_value="ours", help="Take the overview written here.")
@click.option("--theirs", "take", flag_value="theirs", help="Leave the overview that is there now.")
@click.option("--file", "source", metavar="FILE", help="Take the text in FILE; `-` for stdin.")
@common_options
def resolve(section: str, take: str | None, source: str | None, as_json: bool) -> None:
    """Settle the conflict in the overview of SECTION.

    Without an option your editor opens with both texts as one, what differs between marks: A was
    written here, B is there now.
    """
    if take and source:
        raise Invalid("Two texts are named.", hint=f"Leave out --file, or --{take}.")
    with opened() as app:
        service = app.notebook.service()
        clash = service.clashes().find(section)
        if take:
            text = clash.ours if take == "ours" else None
        elif source:
            text = file_text(source)
        else:
            text = _settled_by_hand(clash.marked)
        show(service.resolve(clash, text), as_json)


def _settled_by_hand(marked: str) -> str:
    """What the editor leaves of both texts."""
    if not sys.stdin.isatty():
        raise Invalid("There is no terminal to edit on.", hint="Use --ours, --theirs or --file.")
    edited = text_from_editor(f"{LEGEND}\n\n{marked}\n", lambda: settings().home)
    text = (edited or "").replace(LEGEND, "").strip("\n")
    if not text.strip():
        raise Invalid("Nothing was settled.", hint="Save the text before you leave the editor.")
    return text


@notebook.command(name="import-json", short_help="Add what the JSON journal server wrote.")
@click.argument("source", metavar="FILE")
@common_options
def import_json(source: str, as_json: bool) -> None:
    """Add the entries and overviews of the JSON journal server's file, each once.

    FILE is that file, or `-` for stdin. An overview that is there stays.
    """
    text = file_text(source)
    with opened() as app:
        app.encoder.start()
        with (
            show_counting("Importing entries") as on_progress,
            noting_import(app, "notebook") as record,
        ):
            record.begin("journal-json")
            answer = app.notebook.service().import_json(
                text=text,
                name="stdin" if source == "-" else source,
                noting=record.into("notebook"),
                on_progress=on_progress,
            )
        file_everything(app)
        show(answer, as_json)
