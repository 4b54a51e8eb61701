"""Reading TOML, with errors that name the file and the line."""

from __future__ import annotations

import tomllib
from typing import Any

from commonplace.core.errors import Invalid


def parse_toml(text: str, *, name: str) -> dict[str, Any]:
    """The text as nested tables. Raises Invalid with the name and the line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        last = text.count("\n") + 1
        why = str(exc).replace("at end of document", f"at the end, line {last}")
        raise Invalid(
            f"{name} is not valid TOML: {why}.", hint="Correct the file, or move it away."
        ) from exc
    except RecursionError as exc:
        raise Invalid(f"{name} is nested too deeply.", hint="Move the file away.") from exc
