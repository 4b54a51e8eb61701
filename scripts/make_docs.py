"""Writes what comes from the code: parts of the docs, manual pages, plugins, lists of tools.

`--check` only compares, and ends with 1 where a page or a plugin says something else than the code.
A link from a page to a file that is not there ends with 1 either way.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from check_designs import counts_table, design_table, differences_table
from click.testing import CliRunner
from command_reference import MAN, commands_text, manual_pages
from msgspec.structs import replace
from pages import PAGES
from plugin_files import ProjectFacts, render_plugins

from commonplace.app import App
from commonplace.app.wiring.text_places import PLACES
from commonplace.config.settings import read_settings
from commonplace.config.table import SETTINGS
from commonplace.doors.cli import main as cli
from commonplace.doors.mcp_offer import McpOffer
from commonplace.doors.setup.clients import CLIENTS, Machine
from commonplace.doors.setup.files import list_files
from commonplace.doors.setup.hooks import HOOKS
from commonplace.doors.shown_settings import text_of, value_of
from commonplace.doors.stdio.built_lists import FILE, build
from commonplace.journals.table import JOURNALS, TOOLSETS
from commonplace.verbs.export.manifest import ENTRIES, VERSION, ExportManifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.verbs.toolset import Tool

ROOT = Path(__file__).parent.parent
LINKING = tuple(
    page
    for folder in ("docs", "server", "chroma", "testing")
    for page in sorted((ROOT / folder).rglob("*.md"))
) + tuple(sorted(ROOT.glob("*.md")))
EXPORT_SCHEMA = ROOT / "docs" / "export.schema.json"
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")
BLOCK = re.compile(r"(<!-- begin (\w+)( [\w -]+)? -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Rewrite or check every page, the schema, and every file of the plugins."""
    stale = []
    for page in PAGES:
        text = page.read_text("utf-8")
        made = BLOCK.sub(lambda m: f"{m[1]}{render(m[2], (m[3] or '').split())}{m[4]}", text)
        if made != text:
            stale.append(page)
            if "--check" not in sys.argv:
                page.write_text(made, "utf-8")
    known = plugins()
    manual = {ROOT / path: text for path, text in manual_pages(project()["version"]).items()}
    made_files = {**known, **manual, EXPORT_SCHEMA: export_schema(), Path(FILE): built_lists()}
    for file, text in made_files.items():
        if not file.is_file() or file.read_text("utf-8") != text:
            stale.append(file)
            if "--check" not in sys.argv:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
    for page in stale:
        print(f"{page.relative_to(ROOT)} differs from the code; `make docs` writes it.")
    lost = [f"{page.relative_to(ROOT)}: {link}" for page in LINKING for link in lost_links(page)]
    for line in lost:
        print(f"{line} is not there.")
    there = [*(ROOT / "plugins").rglob("*"), *(ROOT / MAN).iterdir()]
    unknown = [x for x in there if x.is_file() and x not in made_files]
    for file in unknown:
        print(f"{file.relative_to(ROOT)} comes from nowhere: remove it.")
    return 1 if lost or unknown or (stale and "--check" in sys.argv) else 0


def render(kind: str, words: list[str]) -> str:
    """The text of one block, such as `help private write`, `tools private` or `settings`."""
    makers: dict[str, Callable[[], str]] = {
        "client": lambda: client_text(words[0]),
        "clients": clients_table,
        "commands": commands_text,
        "design": lambda: design_table(words[0]),
        "designs": counts_table,
        "differences": lambda: differences_table(words[0]),
        "help": lambda: help_text(words),
        "hooks": hooks_table,
        "journals": journals_table,
        "places": places_table,
        "settings": settings_table,
        "reference": tools_reference,
        "toolsets": toolsets_table,
        "tools": lambda: "".join(tool_text(tool) for tool in app().toolset(words[0]).tools),
    }
    if kind not in makers:
        raise SystemExit(f"Unknown block in the docs: {kind!r}. Use one of {', '.join(makers)}.")
    return makers[kind]()


def lost_links(page: Path) -> list[str]:
    """The links of a page that lead to no file of the repository, or to no heading of a page."""
    lost = []
    for link in LINK.findall(page.read_text("utf-8")):
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (heading and heading not in anchors(target)):
            lost.append(link)
    return lost


def anchors(page: Path) -> set[str]:
    """What a link to a heading of this page may end in, as GitHub names it."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def built_lists() -> str:
    """What a session over stdio begins with, toolset by toolset."""
    toolsets = {name: app().toolset(name) for name in TOOLSETS}
    offers = {name: (each, McpOffer([each]).lists) for name, each in toolsets.items()}
    return json.dumps(build(offers), indent=1, ensure_ascii=False) + "\n"


def journals_table() -> str:
    """A row for each journal, as the README shows them."""
    rows = "".join(
        f"| [{row.name}](docs/{row.name}.md) | {row.purpose} | `commonplace {row.name}` |\n"
        for row in JOURNALS
    )
    return f"| journal | what it keeps | command |\n|---|---|---|\n{rows}"


def places_table() -> str:
    """A row for each place where a text is written."""
    rows = "".join(
        f"| {row.name} | {row.where} | {row.holds} | {row.erased} |"
        f" {'yes' if row.backup else ''} | {'yes' if row.export else ''} |\n"
        for row in PLACES
    )
    head = (
        "| place | where | what it holds | what erases a text there | in a backup | in an export |"
    )
    return f"{head}\n|---|---|---|---|---|---|\n{rows}"


def project() -> dict[str, Any]:
    """What `pyproject.toml` says of the distribution."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def plugins() -> dict[Path, str]:
    """Every file of the plugins, with the version that `pyproject.toml` has."""
    found = project()
    facts = ProjectFacts(
        version=found["version"],
        description=found["description"],
        license=found["license"],
        keywords=found["keywords"],
    )
    return {ROOT / path: text for path, text in render_plugins(facts).items()}


def export_schema() -> str:
    """The schema of an export's manifest, and of a line of each journal's entries."""
    types = {row.name: item_type(row.name) for row in JOURNALS}
    found, components = msgspec.json.schema_components(
        [ExportManifest, *types.values()], ref_template="#/$defs/{name}"
    )
    for each in components.values():
        each["description"] = cleandoc(each["description"])
    manifest, *lines = found
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"An export of Commonplace, version {VERSION}",
        "description": f"A line of `<journal>/{ENTRIES}` is as `lines` says for the journal.",
        "manifest": manifest,
        "lines": dict(zip(types, lines, strict=True)),
        "$defs": components,
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def item_type(journal: str) -> Any:
    """What a line of a journal's entries is decoded as."""
    module = import_module(f"commonplace.journals.{journal}.portable")
    return next(x.item_type for x in vars(module).values() if hasattr(x, "item_type"))


def clients_table() -> str:
    """What each MCP client gets, and how, in a line."""
    rows = "".join(
        f"| {client.title} | `commonplace setup {name}` | {', '.join(gets(name))} "
        f"| {'`--allow`' if client.rules_file else 'asks'} | {client.afterwards} |\n"
        for name, client in CLIENTS.items()
    )
    head = "| client | set up by | gets | without asking | then |\n|---|---|---|---|---|\n"
    return f"{head}{rows}"


def hooks_table() -> str:
    """What each client with hooks in a file calls the events of `commonplace hook`."""
    titles = " | ".join(CLIENTS[name].title for name in HOOKS)
    lines = {
        event: " | ".join(table.events.get(event, "-") for table in HOOKS.values())
        for table in HOOKS.values()
        for event in table.events
    }
    rows = "".join(f"| `{event}` | {names} |\n" for event, names in lines.items())
    return f"| event | {titles} |\n|---|{'---|' * len(HOOKS)}\n{rows}"


def gets(name: str) -> list[str]:
    """What of ours a client can use."""
    client = CLIENTS[name]
    hooks = "brief" if len(HOOKS.get(name, HOOKS["cursor"]).events) == 1 else "brief, transcripts"
    has_hooks = client.hooks_file or client.module
    return ["tools", *([hooks] if has_hooks else []), *(["skills"] if client.skills else [])]


def client_text(name: str) -> str:
    """What a client's own configuration must hold, to be written by hand."""
    machine = Machine(platform="linux", home=Path("/home/you"), environ={})
    first = list_files(name, ["commonplace"], [], machine)[0]
    first = replace(first, parts=first.parts[:1])
    kind = "toml" if CLIENTS[name].is_toml else "json"
    return f"```{kind}\n{first.block()}\n```\n"


def help_text(words: list[str]) -> str:
    """What `commonplace WORDS --help` prints."""
    result = CliRunner().invoke(
        cli, [*words, "--help"], prog_name="commonplace", terminal_width=88, catch_exceptions=False
    )
    command = " ".join(["commonplace", *words, "--help"])
    return f"```\n$ {command}\n{result.output}```\n"


@cache
def app() -> App:
    """An app with nothing of anybody in it; nothing is opened for the docs."""
    environ = {"COMMONPLACE_HOME": str(ROOT / "no-home")}
    return App(read_settings(environ=environ, cwd=ROOT, home=None), user_home=None)


def toolsets_table() -> str:
    """Every toolset, and the tools of it that a client is shown."""
    shown = {name: [x.name for x in app().toolset(name).tools if x.listed] for name in TOOLSETS}
    rows = "".join(
        f"| `{name}` | {', '.join(f'`{x}`' for x in tools)} |\n" for name, tools in shown.items()
    )
    return f"| toolset | tools that a model is shown |\n|---|---|\n{rows}"


def tools_reference() -> str:
    """Every tool that a model can be offered, below the toolset that it belongs to."""
    shown: set[str] = set()
    parts = []
    for name in TOOLSETS:
        tools = [x for x in app().toolset(name).tools if x.name not in shown]
        # These two gather tools of the others.
        if name in {"default", "classic"} or not tools:
            continue
        shown |= {x.name for x in tools}
        parts += [f"## Toolset `{name}`\n\n", *map(tool_section, tools)]
    return "".join(parts)


MADE_DEFAULTS = ("home", "project", "timezone")
"""The settings whose defaults are the machine's or the folder's, as their rows say."""

PROJECT_FILES = {
    "no": "",
    "here": '`"here"`',
    "inside": "inside it",
    "narrow": "may narrow",
    "yes": "may set",
}


def tool_section(tool: Tool) -> str:
    """A tool under a heading of its own, which the search of the site and a link lead to."""
    return f"### `{tool.name}`\n\n{tool.description}\n\n{arguments_table(tool)}"


def tool_text(tool: Tool) -> str:
    """A tool's name, description and arguments."""
    return f"**`{tool.name}`**: {tool.description}\n\n{arguments_table(tool)}"


def arguments_table(tool: Tool) -> str:
    """A tool's arguments."""
    rows = "".join(argument_row(tool, name) for name in tool.schema["properties"])
    return f"| argument | default | what |\n|---|---|---|\n{rows}\n"


def argument_row(tool: Tool, name: str) -> str:
    """One argument: name, default and range as the signature has them."""
    schema = tool.schema["properties"][name]
    low = schema.get("minimum")
    bounds = "" if low is None else f" ({low} to {schema['maximum']})"
    choices = f" ({', '.join(schema['enum'])})" if "enum" in schema else ""
    needed = name in tool.schema.get("required", ())
    default = "required" if needed else f"`{schema['default']!r}`" if "default" in schema else ""
    return f"| `{name}` | {default} | {schema['description']}{bounds}{choices} |\n"


def settings_table() -> str:
    """Every setting by section: environment name, default, what a project's file may do with it."""
    read = app().settings
    rows: dict[str, str] = {}
    for each in SETTINGS:
        default = "" if each.key in MADE_DEFAULTS else text_of(value_of(each, read))
        said = (f"`{each.key}`", f"`{each.env}`", each.help, f"`{default}`" if default else "")
        line = f"| {' | '.join((*said, PROJECT_FILES[each.project]))} |\n"
        section = each.key.rpartition(".")[0]
        rows[section] = rows.get(section, "") + line
    head = "| key | environment | what | default | project's file |\n|---|---|---|---|---|\n"
    parts = [f"### `{name}`\n\n{head}{lines}" for name, lines in rows.items() if name]
    return "\n".join([f"{head}{rows['']}", *parts])


if __name__ == "__main__":
    sys.exit(main())
