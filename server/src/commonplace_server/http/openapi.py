"""Describes the API as OpenAPI does: each tool that a caller may call, with its own schema.

Pure: the same lists give the same description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace_server.scope import API, TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

DESCRIPTION = f"{API}/openapi.json"
"""Where a caller reads what it may call."""

STATUS_OF = {
    "invalid": 400,
    "denied": 403,
    "not_found": 404,
    "conflict": 409,
    "unavailable": 503,
    "internal": 500,
}
"""The status of HTTP of an error, by its code."""

_ABOUT = (
    "Each tool that a model has, for programs: its arguments as JSON, and what it found or wrote."
)
_REFUSALS = {
    "400": "An argument is wrong: `message` names it, `hint` says what fits.",
    "401": "The token is missing, or not valid.",
    "403": "The token is not for this.",
    "404": "There is no such tool, or no such entry.",
    "409": "It was changed meanwhile: read it again.",
    "429": "Too many calls: `Retry-After` says in how many seconds to try again.",
    "500": "A fault of the server, which its log explains.",
    "503": "It cannot be done now: try again.",
}


def describe(lists: Mapping[str, Any]) -> dict[str, Any]:
    """The description of what a caller is offered.

    Args:
        lists: What a session of MCP begins with; see `McpOffer.lists`.
    """
    server = lists["server"]
    return {
        "openapi": "3.1.0",
        "info": {"title": server["title"], "version": server["version"], "description": _ABOUT},
        "security": [{"token": []}],
        "paths": {f"{TOOLS}{tool['name']}": {"post": _operation(tool)} for tool in lists["tools"]},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _error()},
        },
    }


def _operation(tool: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {**tool["inputSchema"], "additionalProperties": False}
    done = {"type": "object", "additionalProperties": True}
    refused = {"$ref": "#/components/schemas/Error"}
    return {
        "operationId": tool["name"],
        "summary": tool["title"],
        "description": tool["description"],
        "requestBody": {"required": True, "content": _json(arguments)},
        "responses": {
            "200": {"description": "What it found or wrote.", "content": _json(done)},
            **{
                status: {"description": said, "content": _json(refused)}
                for status, said in _REFUSALS.items()
            },
        },
    }


def _error() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {"code": {**text, "enum": [*STATUS_OF]}, "message": text, "hint": text},
        "required": ["code", "message", "hint"],
    }


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
