"""Commonplace: the memory of AI assistants, in files you own."""

from __future__ import annotations

__all__: list[str] = []
