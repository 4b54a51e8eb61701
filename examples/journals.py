"""The demo: the real server over stdio, driven by a real MCP client in a temporary home.

Never touches the journals, the index or the settings of the user who runs it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from commonplace.doors.protocol import STRUCTURED_META

_WRITTEN: tuple[dict[str, str], ...] = (
    {
        "technical_insights": """\
SQLite answered 'database is locked' whenever two processes upgraded a read to a write. \
BEGIN IMMEDIATE and a busy timeout ended it."""
    },
    {
        "project_notes": "Invoices are rounded per line, not per total: accounting asked for it.",
        "feelings": "Relieved. The rounding bug had been haunting me for two days.",
    },
    {"user_context": "Prefers small commits, and wants to see the failing test first."},
    {
        "observations": "The nightly build took 40 minutes: it reinstalled every dependency.",
        "at": "yesterday 9am",
    },
)


def main() -> None:
    """Run the demo; ends with 1 and a sentence when anything is not as promised."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-demo-"))
    try:
        anyio.run(_tour, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _tour(home: Path) -> None:
    project = home / "invoices"
    project.mkdir()
    environment = {name: value for name, value in os.environ.items() if harmless(name)}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "commonplace", "mcp"],
        env={**environment, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")},
        cwd=project,
    )
    say("Commonplace in a minute: a server over stdio, a client, a home of its own in", f"{home}")
    async with Client(server) as client:
        listed = await client.list_tools()
        say("The tools an assistant sees:", "\n".join(f"  {t.name}" for t in listed.tools))
        for thoughts in _WRITTEN:
            await _call(client, "process_thoughts", thoughts)
        await _call(
            client, "add_entry", {"message": "deployed the invoice service", "tags": ["release"]}
        )
        await _call(client, "recall", {"query": "trouble with concurrent writers", "limit": 2})
        why = {"query": "why do we round invoices per line?", "limit": 2}
        found = await _call(client, "recall", why)
        await _call(client, "open_ref", {"ref": found["results"][0]["ref"]})
        await _call(client, "list_by_time", {"when": "yesterday"})
        await _call(client, "find_when_i", {"what": "deployed"})
    say("The same entries, plain files you own:", _tree(home))
    say("Now give it to your assistant:", _paste())


async def _call(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    meta: Any = {STRUCTURED_META: True}
    result = await client.call_tool(name, arguments, meta=meta)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    say(f"{name}({shown})", text)
    if result.is_error:
        sys.exit(f"The demo stopped: {name} failed.")
    return dict(result.structured_content or {})


def harmless(name: str) -> bool:
    """The demo must not inherit settings that lead out of its temporary home."""
    foreign = ("COMMONPLACE_", "JOURNAL_", "PRIVATE_JOURNAL_", "CHRONICLE_", "XDG_")
    return not name.startswith(foreign)


def _tree(home: Path) -> str:
    files = sorted(path for path in home.rglob("*.md") if ".private-journal" in path.parts)
    return "\n".join(f"  {path.relative_to(home)}" for path in files)


def _paste() -> str:
    command = shutil.which("commonplace", path=str(Path(sys.executable).parent)) or "commonplace"
    return f"""\
  {command} setup claude-code      (or cursor, codex, gemini, …: setup --help)

or paste this into any MCP client's configuration:

  {{
    "mcpServers": {{
      "commonplace": {{ "command": "{command}", "args": ["mcp"] }}
    }}
  }}"""


def say(head: str, body: str) -> None:
    """Print a heading, bold on a terminal, and what stands below it."""
    sys.stdout.write(f"\n\033[1m{head}\033[0m\n" if sys.stdout.isatty() else f"\n{head}\n")
    sys.stdout.write(f"{body.rstrip()}\n")


if __name__ == "__main__":
    main()
