"""Pages in a chat, for hosts that show them: the MCP Apps extension, `io.modelcontextprotocol/ui`.

Each is one document that loads nothing: its host hands it a tool's result, and it calls the same
tool again. A host that shows no pages has the text of the result as before.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from string import Template

from msgspec import Struct

from commonplace.verbs.toolset import Resource

MEDIA_TYPE = "text/html;profile=mcp-app"
SEARCH = "ui://commonplace/search"
PERIOD = "ui://commonplace/period"


class _View(Struct, frozen=True, kw_only=True):
    """A page: the tool whose result it shows, and the argument that a person may change."""

    uri: str
    title: str
    description: str
    tool: str
    asked: str
    label: str
    button: str


_VIEWS = (
    _View(
        uri=SEARCH,
        title="Search",
        description="What recall finds, as a page in the chat.",
        tool="recall",
        asked="query",
        label="Question",
        button="Search",
    ),
    _View(
        uri=PERIOD,
        title="Period",
        description="What was written in a time, as a page in the chat.",
        tool="list_by_time",
        asked="when",
        label="Time, such as last week",
        button="Show",
    ),
)


def view_resources() -> tuple[Resource, ...]:
    """The pages as resources, which hosts fetch by the address that a tool names."""
    return tuple(
        Resource(
            uri=view.uri,
            title=view.title,
            description=view.description,
            media_type=MEDIA_TYPE,
            read=partial(_render, view),
        )
        for view in _VIEWS
    )


def _render(view: _View) -> str:
    page = Template((Path(__file__).parent / "view.html").read_text("utf-8"))
    return page.safe_substitute(
        tool=view.tool, asked=view.asked, label=view.label, button=view.button
    )
