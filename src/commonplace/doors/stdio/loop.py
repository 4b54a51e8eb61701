"""JSON-RPC over stdin and stdout, a message a line: reads, answers, cancels, and asks the client.

Never decides what a request is answered: the session does. Imports nothing but small builtins.
"""

from __future__ import annotations

import json
import os
import select
import threading

from commonplace.doors.protocol import (
    HANDSHAKES,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    SAMPLING_S,
    RefusedRequest,
)
from commonplace.doors.stdio.session import SLOW, StdioSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import ThreadPoolExecutor
    from typing import Any, NoReturn, TypeAlias

    from commonplace.doors.lifecycle import Lifecycle
    from commonplace.doors.mcp_offer import McpOffer

    Reply: TypeAlias = dict[str, Any] | None
    """An answer; None for what wants none, or was cancelled."""

MOST_CALLS = 40
"""How many calls run at the same time; further ones wait."""

BATCHED = "2025-03-26"
"""The one revision that has batches."""

MOST_LINE = 64 << 20
"""How many bytes a message may have: a text of 10 MB may be escaped character by character."""

WAKES_S = 0.5
"""How long a signal may go unseen."""

_CHUNK = 1 << 16
_WAITING = (
    b"commonplace mcp: an MCP server, waiting for a client's JSON-RPC messages on stdin. "
    b"Ctrl-C ends it; `commonplace setup` adds it to a client.\n"
)


class StdioLoop:
    """Serves one client until it leaves.

    Args:
        lists: What a session begins with, as `McpOffer.lists` gives it.
        load: Gives the offer; called in the threads of calls. May raise RefusedRequest.
        lifecycle: What ends the process.
        on_listed: Called once the client was given the tools, each time that it asks.
    """

    def __init__(
        self,
        lists: dict[str, Any],
        load: Callable[[], McpOffer],
        *,
        lifecycle: Lifecycle,
        on_listed: Callable[[], None],
    ) -> None:
        self._session = StdioSession(lists, load, self._ask)
        self._lifecycle = lifecycle
        self._on_listed = on_listed
        self._stdin, self._stdout = _take_streams()
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._running: set[int | str] = set()
        self._cancelled: set[int | str] = set()
        self._questions: dict[str, _Question] = {}
        self._pool: ThreadPoolExecutor | None = None

    def run(self) -> NoReturn:
        """Answer until stdin ends and all is answered; ends the process."""
        for line in _lines(self._stdin):
            if line is None:
                text = f"The line has more than {MOST_LINE:,} bytes: send a shorter message."
                self._write(_error(None, PARSE_ERROR, text))
            elif line.strip():
                self._take_line(line)
        self._lifecycle.end_after_answers()

    def _take_line(self, line: bytes) -> None:
        try:
            said = _parse(line)
        except (ValueError, RecursionError) as exc:
            self._write(_error(None, PARSE_ERROR, f"The line is not JSON: {exc}."))
            return
        if isinstance(said, list):
            self._take_batch(said)
        else:
            self._take_message(said, self._write)

    def _take_batch(self, batch: list[Any]) -> None:
        """Answer what wants an answer in one line, once all of it is done."""
        revision = self._session.revision
        if revision == BATCHED and batch:
            answers = _Batch(len(batch), self._write)
            for said in batch:
                self._take_message(said, answers.add)
            return
        wrong = "The batch is empty."
        if revision != BATCHED:
            wrong = f"Only {BATCHED} has batches; this session is in {revision or HANDSHAKES[-1]}."
        self._write(_error(None, INVALID_REQUEST, f"{wrong} Send one message a line."))

    def _take_message(self, said: Any, reply: Callable[[Reply], object]) -> None:
        """Do what a message asks, and reply once: here, or later in the thread of a call."""
        if type(said) is not dict or said.get("jsonrpc") != "2.0":
            number = said.get("id") if type(said) is dict else None
            reply(_error(number, INVALID_REQUEST, "Send objects with jsonrpc, which is 2.0."))
            return
        method, params, number = said.get("method"), said.get("params"), said.get("id")
        params = {} if params is None else params
        if method is None and ("result" in said or "error" in said):
            self._take_answer(said)
            reply(None)
        elif type(method) is not str:
            reply(_error(number, INVALID_REQUEST, "method must be a text."))
        elif "id" not in said:
            if method == "notifications/cancelled" and type(params) is dict:
                self._cancel(params.get("requestId"))
            reply(None)
        elif type(number) not in {int, str}:
            reply(_error(None, INVALID_REQUEST, "id must be a whole number or a text."))
        elif method in SLOW:
            self._begin(number, method, params, reply)
        else:
            reply(self._answer(number, method, params))
            if method == "tools/list":
                self._on_listed()

    def _answer(self, number: Any, method: str, params: Any) -> dict[str, Any]:
        try:
            return {"jsonrpc": "2.0", "id": number, "result": self._session.answer(method, params)}
        except RefusedRequest as exc:
            return _error(number, exc.code, exc.message, exc.data)
        except Exception:  # the door's last line: logged, never shown, and no client waits for ever
            import logging

            logging.getLogger(__name__).exception("Internal error in %s", method)
            return _error(number, INTERNAL_ERROR, f"Internal error in {method}. Look into the log.")

    def _begin(
        self, number: Any, method: str, params: Any, reply: Callable[[Reply], object]
    ) -> None:
        """Answer in a thread; a call that is cancelled before it ends gets no answer."""
        from concurrent.futures import ThreadPoolExecutor

        def work() -> None:
            try:
                answer = self._answer(number, method, params)
                reply(None if self._end_call(number) else answer)
            finally:
                self._lifecycle.expect_answers(-1)

        if self._pool is None:
            self._pool = ThreadPoolExecutor(MOST_CALLS, thread_name_prefix="call")
        self._lifecycle.expect_answers(1)
        with self._state:
            self._running.add(number)
        self._pool.submit(work)

    def _cancel(self, number: Any) -> None:
        with self._state:
            if type(number) in {int, str} and number in self._running:
                self._cancelled.add(number)

    def _end_call(self, number: int | str) -> bool:
        """Count a call as over; whether it was cancelled before."""
        with self._state:
            self._running.discard(number)
            was_cancelled = number in self._cancelled
            self._cancelled.discard(number)
            return was_cancelled

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        """Ask the client, and wait for its answer. Raises: Unavailable."""
        from commonplace.core.errors import Unavailable

        question, number = _Question(), f"commonplace-{os.urandom(8).hex()}"
        with self._state:
            self._questions[number] = question
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answered = question.answered.wait(SAMPLING_S)
        with self._state:
            del self._questions[number]
        if not answered:
            raise Unavailable("It took too long.")
        if "result" not in question.answer:  # the client's own words are not ours to repeat
            raise Unavailable("It was refused.")
        return question.answer["result"]

    def _take_answer(self, said: dict[str, Any]) -> None:
        number = said.get("id")
        with self._state:
            question = self._questions.get(number) if type(number) is str else None
        if question is not None:
            question.answer = said
            question.answered.set()

    def _write(self, message: dict[str, Any] | list[Any] | None) -> None:
        """Write a message as one line; where nobody reads any more the process ends."""
        if message is None:
            return
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        rest = memoryview(text.encode("utf-8", "replace") + b"\n")
        try:
            with self._writing:
                while rest:
                    rest = rest[os.write(self._stdout, rest) :]
        except OSError:
            self._lifecycle.begin_to_leave()


class _Question:
    """A request of ours that waits for the client's answer."""

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.answer: dict[str, Any] = {}


class _Batch:
    """The answers to a batch, written in one line once all its messages are done."""

    def __init__(self, count: int, write: Callable[[list[Any]], None]) -> None:
        self._left = count
        self._write = write
        self._answers: list[dict[str, Any]] = []
        self._adding = threading.Lock()

    def add(self, reply: Reply) -> None:
        """Take the reply to one of the messages."""
        with self._adding:
            self._left -= 1
            if reply is not None:
                self._answers.append(reply)
            if self._left == 0 and self._answers:
                self._write(self._answers)


def announce() -> None:
    """Say on stderr what this is, if stdin is a terminal: a client gets no such line."""
    try:
        if os.isatty(0):
            os.write(2, _WAITING)
    except OSError:  # no stderr
        return


def _take_streams() -> tuple[int, int]:
    """Descriptors of stdin and stdout that are the protocol's alone.

    Nothing else in this process, and no child of it, reads what the client says or writes between
    the answers: what they print goes to stderr, up to the very end.
    """
    stdin, stdout = os.dup(0), os.dup(1)
    _replace(0, os.open(os.devnull, os.O_RDONLY))
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        _replace(1, os.open(os.devnull, os.O_WRONLY))
    return stdin, stdout


def _replace(descriptor: int, opened: int) -> None:
    os.dup2(opened, descriptor)
    os.close(opened)


def _lines(descriptor: int) -> Iterator[bytes | None]:
    """Each line that is read, None for one that is too long; the last need not end with a break."""
    held, is_too_long = bytearray(), False
    while chunk := _read(descriptor):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            held += line
            yield None if is_too_long else bytes(held)
            held, is_too_long = bytearray(), False
        held += rest
        if len(held) > MOST_LINE:
            held, is_too_long = bytearray(), True
    yield None if is_too_long else bytes(held)


def _read(descriptor: int) -> bytes:
    """What stdin has next; empty at its end.

    Never waits in the read itself for long: a signal that comes just before it would be seen only
    with the next bytes.
    """
    try:
        if os.name != "nt":  # its select knows no pipes
            while not select.select([descriptor], [], [], WAKES_S)[0]:
                pass
        return os.read(descriptor, _CHUNK)
    except OSError:  # no stdin, or a terminal that is gone
        return b""


def _parse(line: bytes) -> Any:
    """A line as JSON, with U+FFFD for each half of a surrogate pair.

    Raises: ValueError, RecursionError.
    """
    if b"\\ud" not in line and b"\\uD" not in line:
        return json.loads(line, parse_constant=_no_number)
    whole = json.dumps(json.loads(line, parse_constant=_no_number), ensure_ascii=False)
    return json.loads(whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _error(number: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """An error as the answer to a request; its id is null where that is not known."""
    number = number if type(number) in {int, str} else None
    error = {"code": code, "message": message}
    more = {} if data is None else {"data": data}
    return {"jsonrpc": "2.0", "id": number, "error": {**error, **more}}
