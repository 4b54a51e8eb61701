"""The plugins of Commonplace, file by file: what `make docs` writes into the repository.

Never holds a fact of its own: hooks come from `hooks`, skills from `packaged`, the rest is given.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.doors.setup.clients import CLIENTS, RUN_BY_UV, SERVER, variables_of_clients
from commonplace.doors.setup.hooks import render_plugin_hooks
from commonplace.doors.setup.packaged import list_skills

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TITLE = "Commonplace"
_ABOUT_HOOKS = "A brief at the start of a session, and a copy of what was said."


class ProjectFacts(Struct, frozen=True, kw_only=True):
    """What the plugins say of the project, as `pyproject.toml` has it."""

    version: str
    description: str
    license: str
    keywords: Sequence[str]


def render_plugins(facts: ProjectFacts) -> dict[str, str]:
    """Every file of every plugin and of the marketplaces that list them, by its path."""
    about = {
        "name": SERVER,
        "version": facts.version,
        "description": facts.description,
        "author": {"name": _TITLE},
        "license": facts.license,
        "keywords": list(facts.keywords),
    }
    server = {"command": RUN_BY_UV[0], "args": [*RUN_BY_UV[1:], "mcp"]}
    plugins: dict[str, dict[str, Any]] = {
        "claude-code": {
            ".claude-plugin/plugin.json": about,
            ".mcp.json": {"mcpServers": {SERVER: {**CLIENTS["claude-code"].extra, **server}}},
            "hooks/hooks.json": {"description": _ABOUT_HOOKS, **render_plugin_hooks("claude-code")},
        },
        "codex": {
            ".codex-plugin/plugin.json": {**about, **_codex_paths(facts)},
            ".mcp.json": {"mcpServers": {SERVER: {**server, "env_vars": variables_of_clients()}}},
            "hooks/hooks.json": render_plugin_hooks("codex"),
        },
        "gemini": {
            "gemini-extension.json": {
                **{key: about[key] for key in ("name", "version", "description")},
                "mcpServers": {SERVER: server},
            },
            "hooks/hooks.json": render_plugin_hooks("gemini"),
        },
    }
    files = {
        f"plugins/{client}/{path}": _json(content)
        for client, contents in plugins.items()
        for path, content in contents.items()
    }
    for name, text in list_skills():
        files |= {f"plugins/{client}/skills/{name}/SKILL.md": text for client in plugins}
    return {
        **files,
        ".claude-plugin/marketplace.json": _json(_claude_market(facts)),
        ".agents/plugins/marketplace.json": _json(_codex_market()),
    }


def _codex_paths(facts: ProjectFacts) -> dict[str, Any]:
    return {
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/hooks.json",
        "interface": {
            "displayName": _TITLE,
            "shortDescription": "Remembers across sessions and projects",
            "longDescription": facts.description,
            "developerName": _TITLE,
            "category": "Productivity",
            "capabilities": ["Read", "Write"],
        },
    }


def _claude_market(facts: ProjectFacts) -> dict[str, Any]:
    plugin = {"name": SERVER, "source": "./plugins/claude-code", "description": facts.description}
    return {
        "name": SERVER,
        "owner": {"name": _TITLE},
        "metadata": {"description": facts.description, "version": facts.version},
        "plugins": [{**plugin, "version": facts.version}],
    }


def _codex_market() -> dict[str, Any]:
    plugin = {
        "name": SERVER,
        "source": {"source": "local", "path": "./plugins/codex"},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": "Productivity",
    }
    return {"name": SERVER, "interface": {"displayName": _TITLE}, "plugins": [plugin]}


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
