"""Opens a file where it is one: a path that others chose may lead to a pipe, a device or a circle.

Imports next to nothing, since hooks read files. Never waits for what it opens.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    import io

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class NotRegularError(OSError):
    """What a path leads to is no file."""


def open_regular(path: str | os.PathLike[str], *, follows_links: bool = True) -> io.FileIO:
    """Open a file for reading, unbuffered: one read may give less than there is.

    Args:
        path: Of the file.
        follows_links: Whether it may be a link to one; where not, a link is an OSError.

    Raises:
        OSError; NotRegularError for what is no file.
    """
    number = os.open(path, os.O_RDONLY | _FLAGS | (0 if follows_links else _NO_LINK))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise NotRegularError(f"{path} is not a regular file")
    return os.fdopen(number, "rb", buffering=0)
