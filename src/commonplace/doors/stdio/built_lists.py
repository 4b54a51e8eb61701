"""The lists that a session begins with, as they were built with the package.

Never differs from `McpOffer.lists` for the same toolsets, which a test holds. Imports nothing but
small builtins.
"""

from __future__ import annotations

import json
import os

from commonplace.config.quick import read_quick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lists.json")
READ_ONLY = " read-only"
"""Stands after the names of toolsets in the key of a server that offers no tool that writes."""

_FLAGS = {"--read-only": "read_only", "--structured": "structured"}
_OPTIONS = {"--toolsets": "toolsets", "--project": "project"}
_KINDS = ("tools", "resources", "prompts")
_NARROWING = (b"toolsets", b"read_only")


class QuickStart:
    """What a session can begin with before all settings are read.

    Args:
        lists: As `McpOffer.lists` gives them.
        flags: The command line's options, by the keys of settings.
        preload: Whether the app is loaded before the first call.
    """

    def __init__(self, lists: dict[str, Any], flags: dict[str, object], *, preload: bool) -> None:
        self.lists = lists
        self.flags = flags
        self.preload = preload


def find_quick_start(
    argv: Sequence[str], environ: Mapping[str, str], cwd: str
) -> QuickStart | None:
    """What a start begins with; None where all settings must be read, or say what is wrong.

    Args:
        argv: The words after `mcp`.
        environ: The environment's variables.
        cwd: The working folder.
    """
    flags = _flags_of(argv)
    if flags is None:
        return None
    given = {f"COMMONPLACE_{key.upper()}": str(value) for key, value in flags.items()}
    try:
        quick = read_quick({**environ, **given}, cwd)
        values = quick.values
        if any(_narrows(path) for path in quick.strangers):
            return None
        with open(FILE, encoding="utf-8") as file:
            built = json.load(file)
        key = ",".join(values["toolsets"]) + (READ_ONLY if values["read_only"] else "")
        chosen = built["chosen"][key]
        lists = {kind: [built[kind][name] for name in chosen[kind]] for kind in _KINDS}
        lists |= {"server": built["server"], "instructions": chosen["instructions"]}
    except (OSError, ValueError, LookupError):
        return None
    return QuickStart(lists, flags, preload=values["preload"])


def build(offers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """What the file holds: each tool, resource and prompt once, and which of them each key names.

    Args:
        offers: `McpOffer.lists` by the names of the toolsets, with `READ_ONLY` after them where no
            tool that writes is offered.
    """
    built: dict[str, Any] = {"server": {}, **{kind: {} for kind in _KINDS}, "chosen": {}}
    for key, lists in offers.items():
        built["server"] = lists["server"]
        chosen = built["chosen"][key] = {"instructions": lists["instructions"]}
        for kind in _KINDS:
            named = {each.get("uri", each["name"]): each for each in lists[kind]}
            built[kind] |= named
            chosen[kind] = [*named]
    return built


def offered_tools() -> dict[str, bool]:
    """Every tool that a client may be shown, by name, and whether it only reads."""
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
    from commonplace.core.regular_files import open_regular

    with open_regular(path) as file:
        content = file.read()
    return any(word in content for word in _NARROWING)
