"""The worlds of chronicle's tools, for tests of what stands below them."""

from tests.tools.chronicle.conftest import open_world, world

__all__ = ["open_world", "world"]
