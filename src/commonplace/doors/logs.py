"""The log: to stderr for the server, and to a file where the settings name one.

Never writes the text of entries, and does nothing at import. Of an exception that is not ours only
its kind and its place are logged: its message may quote the text that caused it.
"""

from __future__ import annotations

import logging
import os
import time
import traceback
from typing import TYPE_CHECKING, TextIO

from commonplace.core.errors import CommonplaceError, Invalid

if TYPE_CHECKING:
    from types import TracebackType

    from commonplace.config.table import Settings
    from commonplace.core.redact import Screen

_LOGGER = "commonplace"


def set_up_logging(
    settings: Settings, *, stderr: TextIO | None = None, foreign: bool = False
) -> None:
    """Send our log to the configured file, and to a stream where one is given.

    May be called again: the last call counts.

    Args:
        settings: Name the file, if any.
        stderr: A stream that gets the log too.
        foreign: Whether the warnings of libraries are logged too, without their words.

    Raises:
        Invalid: The file cannot be written.
    """
    close_logging()
    logger = logging.getLogger(_LOGGER)
    logger.propagate = False
    if settings.log is not None:
        logger.addHandler(_open_file(settings.log, settings))
    if stderr is not None:
        stream = logging.StreamHandler(stderr)
        stream.setFormatter(_Formatter("commonplace: %(message)s", settings))
        logger.addHandler(stream)
    logger.setLevel(logging.INFO)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # else the last resort prints to stderr
    if foreign:
        logging.getLogger().addHandler(_Foreign(logger))


def close_logging() -> None:
    """Close what `set_up_logging` opened; may be called at any time."""
    logger = logging.getLogger(_LOGGER)
    for handler in [*logger.handlers]:
        logger.removeHandler(handler)
        handler.close()
    logger.propagate = True
    logger.setLevel(logging.NOTSET)
    root = logging.getLogger()
    for handler in [*root.handlers]:
        if isinstance(handler, _Foreign):
            root.removeHandler(handler)


def log_failure(exc: BaseException) -> str:
    """Log an unexpected exception; returns the path of the log file, empty where there is none."""
    logger = logging.getLogger(_LOGGER)
    files = [h.baseFilename for h in logger.handlers if isinstance(h, logging.FileHandler)]
    if files:
        logger.error("internal error", exc_info=exc)
    return files[0] if files else ""


def _open_file(path: os.PathLike[str], settings: Settings) -> logging.Handler:
    from commonplace.doors.log_file import LogFile

    try:
        handler = LogFile(path)
    except (OSError, ValueError) as exc:
        why = os.strerror(exc.errno) if isinstance(exc, OSError) and exc.errno else "a broken name"
        raise Invalid(
            f"The log file {{place}} cannot be written: {why}.",
            hint="Name a file in a folder that exists and is yours (COMMONPLACE_LOG).",
            place=os.fspath(path),
        ) from exc
    form = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
    handler.setFormatter(_Formatter(form, settings))
    return handler


class _Foreign(logging.Handler):
    """Logs that a library has warned: which, where, and the kind of exception, never its words.

    (The warnings of a server or a protocol often quote what a user wrote.)
    """

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logging.WARNING)
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Log the place of a warning."""
        place = f"{record.name}, {record.filename}:{record.lineno}"
        self._logger.log(record.levelno, "Said by %s.", place, exc_info=record.exc_info)


class _Formatter(logging.Formatter):
    """One line a record, UTC times, exceptions without the messages of others; no secret."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, form: str, settings: Settings) -> None:
        super().__init__(form)
        self._settings = settings
        self._screen: Screen | None = None

    def format(self, record: logging.LogRecord) -> str:
        """The record, exception and all, as it may be shown: the last step before any handler."""
        if self._screen is None:  # most commands log nothing
            from commonplace.core.redact import screen_of

            secrets = self._settings.secrets
            self._screen = screen_of(str(self._settings.home), secrets.own, secrets.at_write)
        return self._screen.shown(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        """The record's line; a line break in it is shown as such."""
        return super().formatMessage(record).replace("\n", "\\n").replace("\r", "\\r")

    def formatException(  # noqa: N802  logging's name
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        """The places an exception passed and its kind, its causes below."""
        lines: list[str] = []
        exc = ei[1]
        while exc is not None:
            lines += [line.rstrip() for line in traceback.format_tb(exc.__traceback__)]
            lines.append(f"{type(exc).__module__}.{type(exc).__qualname__}{_known_message(exc)}")
            exc = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)
        return "\n".join(lines)


def _known_message(exc: BaseException) -> str:
    if isinstance(exc, CommonplaceError):
        return f": {exc.located}"
    return f": errno {exc.errno}" if isinstance(exc, OSError) and exc.errno else ""
