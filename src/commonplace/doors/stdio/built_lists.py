"""The lists that a session begins with, as they were built with the package.

Never differs from `McpOffer.lists` for the same toolsets, alone or together, which a test holds.
Imports nothing but small builtins.
"""

from __future__ import annotations

import json
import os
from functools import cache

from commonplace.config.quick import read_quick
from commonplace.core.errors import CommonplaceError
from commonplace.core.merging import merge_guides, merge_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from commonplace.verbs.toolset import Toolset

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lists.json")
_FLAGS = {"--read-only": "read_only", "--structured": "structured"}
_OPTIONS = {"--toolsets": "toolsets", "--project": "project"}
_KINDS = ("tools", "resources", "prompts")
_NARROWING = (b"toolsets", b"read_only")


class QuickStart:
    """What a session can begin with before all settings are read."""

    def __init__(self, lists: dict[str, Any], flags: dict[str, object], *, preload: bool) -> None:
        self.lists = lists
        self.flags = flags
        self.preload = preload


def find_quick_start(
    argv: Sequence[str], environ: Mapping[str, str], cwd: str
) -> QuickStart | None:
    """What a start begins with; None where all settings must be read, or say what is wrong."""
    flags = _flags_of(argv)
    if flags is None:
        return None
    given = {f"COMMONPLACE_{key.upper()}": str(value) for key, value in flags.items()}
    try:
        quick = read_quick({**environ, **given}, cwd)
        quick.check_owner()
        values = quick.values
        if any(_narrows(path) for path in quick.strangers):
            return None
        with open(FILE, encoding="utf-8") as file:
            built = json.load(file)
        names = built["all"] if values["toolsets"] == ("all",) else values["toolsets"]
        lists = _chosen(built, names, read_only=values["read_only"])
    except (OSError, ValueError, LookupError, CommonplaceError):
        return None
    return QuickStart(lists, flags, preload=values["preload"])


def _chosen(built: dict[str, Any], names: Sequence[str], *, read_only: bool) -> dict[str, Any]:
    """What these toolsets offer together. Raises: LookupError where one of them is not known."""
    toolsets = {name: built["toolsets"][name] for name in names}
    if not toolsets:
        raise LookupError
    twins = {name: twin for each in toolsets.values() for name, twin in each["twins"].items()}
    tools = {name: each["tools"] for name, each in toolsets.items()}
    merged = merge_tools(tools, twins, built["default"])
    guides = {name: each["guides"] for name, each in toolsets.items()}
    searching, writing = merge_guides(guides, built["default"], built["parts"])
    listed = [built["tools"][name] for name, is_listed in merged.items() if is_listed]
    if read_only:
        writing = ""
        listed = [tool for tool in listed if tool["annotations"]["readOnlyHint"]]
    lists: dict[str, Any] = {
        "server": built["server"],
        "instructions": "\n\n".join(filter(None, (searching, writing))),
        "tools": listed,
    }
    for kind in ("resources", "prompts"):
        found = dict.fromkeys(name for each in toolsets.values() for name in each[kind])
        lists[kind] = [built[kind][name] for name in found]
    return lists


def build(offers: Mapping[str, tuple[Toolset, dict[str, Any]]]) -> dict[str, Any]:
    """What the file holds: each tool, resource and prompt once, and which of them a toolset has."""
    from commonplace.journals.table import ALL_TOOLSETS, DEFAULT, PARTS

    built: dict[str, Any] = {"server": {}, **{kind: {} for kind in _KINDS}}
    built |= {"default": DEFAULT, "parts": PARTS[DEFAULT], "all": ALL_TOOLSETS, "toolsets": {}}
    for name, (toolset, lists) in offers.items():
        built["server"] = lists["server"]
        for kind in _KINDS:
            built[kind] |= {each.get("uri", each["name"]): each for each in lists[kind]}
        built["toolsets"][name] = {
            "guides": [toolset.guide, toolset.writing_guide],
            "tools": {tool.name: tool.listed for tool in toolset.tools},
            "twins": {tool.name: tool.twin_of for tool in toolset.tools if tool.twin_of},
            "resources": [page.uri for page in toolset.resources],
            "prompts": [prompt.name for prompt in toolset.prompts],
        }
    return built


@cache
def offered_tools() -> dict[str, bool]:
    """Every tool that a client may be shown, by name, and whether it only reads.

    The health page asks 33 times: read once, that takes 6 ms of it in place of 85.
    """
    with open(FILE, encoding="utf-8") as file:
        tools = json.load(file)["tools"]
    return {name: bool(tool["annotations"]["readOnlyHint"]) for name, tool in tools.items()}


def _flags_of(argv: Sequence[str]) -> dict[str, object] | None:
    """The options of `mcp`, by the keys of settings; None where click must read them."""
    words = [*argv]
    flags: dict[str, object] = {}
    while words:
        name, sign, value = words.pop(0).partition("=")
        if name in _FLAGS and not sign:
            flags[_FLAGS[name]] = True
        elif name in _OPTIONS and (given := value if sign else "".join(words[:1])):
            flags[_OPTIONS[name]] = given
            del words[: not sign]
        else:
            return None
    return flags


def _narrows(path: str) -> bool:
    """Whether a project's file may leave out toolsets."""
    from commonplace.core.plain_files import open_regular

    with open_regular(path) as file:
        content = file.read()
    return any(word in content for word in _NARROWING)
