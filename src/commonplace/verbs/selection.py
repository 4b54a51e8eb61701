"""Which tools a model is shown: few by default, those of the designs, or each of all once.

Decides by the table of journals and by what a tool says of itself; runs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.merging import merge_guides, merge_tools
from commonplace.journals.table import CLASSIC, DEFAULT, JOURNALS, PARTS, RECALL_TOOLS
from commonplace.verbs.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_GUIDE = """\
Commonplace is your memory across sessions and projects. What you did, learned and decided earlier \
is in it, and you remember none of it by yourself: ask it with recall before you answer from what \
you do not know or begin a task, and open what it finds with open_ref."""

DEFAULT_WRITING_GUIDE = """\
Write with process_thoughts when you learn something worth keeping, are surprised or stuck, or \
notice what the user prefers; it is the user's alone. Log with add_entry what the user finishes, \
fixes, deploys or decides, unasked too. Correct what you wrote with amend."""

_LISTED = {
    DEFAULT: {*RECALL_TOOLS, *(name for row in JOURNALS for name in row.default_tools)},
    CLASSIC: {name for row in JOURNALS for name in row.original_tools},
}


def _guides(toolsets: Sequence[Toolset]) -> tuple[str, str]:
    guides = {each.name: (each.guide, each.writing_guide) for each in toolsets}
    return merge_guides(guides, DEFAULT, PARTS[DEFAULT])


def select_tools(name: str, parts: Sequence[Toolset]) -> Toolset:
    """A toolset that is made of others; what it does not list can be called all the same.

    Args:
        name: `default`, the few tools for where nothing else is asked for, or `classic`, those of
            the programs and designs that the journals come from.
        parts: The others.
    """
    listed = _LISTED[name]
    guide, writing_guide = DEFAULT_GUIDE, DEFAULT_WRITING_GUIDE
    if name != DEFAULT:
        guide, writing_guide = _guides(
            [each for each in parts if any(x.name in listed for x in each.tools)]
        )
    return Toolset(
        name=name,
        guide=guide,
        writing_guide=writing_guide,
        tools=tuple(replace(x, listed=x.name in listed) for part in parts for x in part.tools),
        resources=tuple(x for part in parts for x in part.resources),
        prompts=tuple(x for part in parts for x in part.prompts),
    )


def merge_toolsets(toolsets: Sequence[Toolset]) -> Toolset:
    """All that several toolsets offer, each tool, resource and prompt once; see `merging`."""
    tools = {x.name: x for each in toolsets for x in each.tools}
    listed = merge_tools(
        {each.name: {x.name: x.listed for x in each.tools} for each in toolsets},
        {name: tool.twin_of for name, tool in tools.items()},
        DEFAULT,
    )
    guide, writing_guide = _guides(toolsets)
    return Toolset(
        name=",".join(each.name for each in toolsets),
        guide=guide,
        writing_guide=writing_guide,
        tools=tuple(replace(tools[name], listed=is_listed) for name, is_listed in listed.items()),
        resources=tuple({x.uri: x for each in toolsets for x in each.resources}.values()),
        prompts=tuple({x.name: x for each in toolsets for x in each.prompts}.values()),
    )
