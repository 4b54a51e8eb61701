"""Finds which version of Commonplace is installed.

Imports little: scripts ask for `--version`.
"""

from __future__ import annotations

import contextlib
import os
import sys


def installed_version() -> str:
    """The installed version, read from the name of its metadata's folder."""
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.startswith("commonplace_memory-") and name.endswith(".dist-info"):
                    return name.removeprefix("commonplace_memory-").removesuffix(".dist-info")
    from importlib.metadata import version

    return version("commonplace-memory")
