"""What the forms of the pages send, within its limits.

Decides nothing about who may send it: that is the guard's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import anyio.to_thread

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_FIELDS = 100
"""Fields of a form; those of the pages have fewer than ten."""


async def read_form(request: Request, most: int) -> dict[str, list[str]]:
    """What a form sent. Raises: Invalid for one that is too large, or no form."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise Invalid("This is not a form of a page.", hint="Use the buttons of the page.")
    parts: list[bytes] = []
    length = 0
    async for part in request.stream():
        length += len(part)
        if length > most:
            size = f"{most // 2**20} MB" if most >= 2**20 else f"{most} bytes"
            raise Invalid(
                "The text is too long for a page.",
                hint=f"Use less than {size}, or the command line.",
            )
        parts.append(part)
    # In a thread: 16 MB of letters that are sent as %XX take seconds.
    return await anyio.to_thread.run_sync(_parse_form, b"".join(parts).decode("latin-1"))


def _parse_form(text: str) -> dict[str, list[str]]:
    """The fields of a form. Raises: Invalid where no page has so many."""
    try:
        given = parse_qs(text, keep_blank_values=True, errors="replace", max_num_fields=MOST_FIELDS)
    except ValueError as exc:
        raise Invalid("This is not a form of a page.", hint="Use the buttons of the page.") from exc
    # A browser sends every line break as CR LF.
    return {name: [v.replace("\r\n", "\n") for v in values] for name, values in given.items()}
