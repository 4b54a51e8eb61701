"""The wiring: everything an owner uses, made once and only when it is needed.

Nothing below this room imports it; it decides nothing that a room could decide.
"""

from __future__ import annotations

from commonplace.app.app import App
from commonplace.app.apps import Apps

__all__ = ["App", "Apps"]
