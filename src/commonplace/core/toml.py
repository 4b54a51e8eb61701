"""Reading TOML, with errors that name the file and the line."""

from __future__ import annotations

import tomllib
from typing import Any

from commonplace.core.errors import Invalid

_HINT = "Correct the file, or move it away."


def parse_toml(text: str, *, name: str, hint: str = _HINT) -> dict[str, Any]:
    """The text as nested tables. Raises Invalid with the name, the line, and the next step."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        last = text.count("\n") + 1
        why = str(exc).replace("at end of document", f"at the end, line {last}")
        raise Invalid(f"{name} is not valid TOML: {why}.", hint=hint) from exc
    except RecursionError as exc:
        raise Invalid(f"{name} is nested too deeply.", hint="Move the file away.") from exc
