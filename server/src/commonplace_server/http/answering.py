"""How a request is answered whole, in JSON: the status of each kind of error, and the sending."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace_server.http.gate import Send

STATUS_OF = {
    "invalid": 400,
    "denied": 403,
    "not_found": 404,
    "conflict": 409,
    "unavailable": 503,
    "internal": 500,
}
"""The status of HTTP of an error, by its code."""


async def respond(
    status: int, facts: Mapping[str, Any], more: Mapping[str, str], send: Send
) -> None:
    """Send facts as JSON. more: headers beside those of their type and length."""
    headers = {"Content-Type": "application/json", **more}
    await send_whole(status, json.dumps(facts).encode(), headers, send)


async def send_whole(status: int, body: bytes, headers: Mapping[str, str], send: Send) -> None:
    """Send an answer whose body is known."""
    pairs = [
        (name.lower().encode(), text.encode())
        for name, text in {**headers, "Content-Length": str(len(body))}.items()
    ]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
