"""Finds programs by name where the system keeps them, and never in the working folder."""

from __future__ import annotations

import os
import shutil


def find_program(name: str, *, beside: str = "") -> str | None:
    """The absolute path of a program on the PATH; None where it is not there.

    Relative folders of the PATH are passed over, as is the working directory that Windows asks
    first: a cloned repository may hold a program of any name. beside: a folder to look in first.
    """
    folders = [beside, *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    absolute = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    found = shutil.which(name, path=absolute) if absolute else None
    return found if found and os.path.isabs(found) else None
