"""A language model's server that answers with whatever bytes it likes, and the answers it gives."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Hexadecimal, so that it has no known shape, and may be the code of an error.
KEY = "a1b2c3d4e5f60718293a4b5c6d7e8f90"
OTHER = "gh" + "p_" + "0123456789abcdefghijklmnopqrstuvwxyz"
"""A secret of known shape that is not ours."""

LINE = "Created the work_log table"
_SUMMARY = f"**Accomplishments**:\n• {LINE}\n\n**Learnings**:\n• {LINE}"
_ENDLESS = 100_000


class HostileServer:
    """Sends the bytes of an answer to each request, and keeps the bodies of what it was asked."""

    def __init__(self, answer: Callable[[bytes], Iterator[bytes] | bytes]) -> None:
        self._answer = answer
        self.asked: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._listening.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                head, _, body = self._read(connection).partition(b"\r\n\r\n")
                if head.startswith(b"POST"):
                    self.asked.append(body)
                answer = self._answer(head)
                for part in [answer] if isinstance(answer, bytes) else answer:
                    connection.sendall(part)
                    if self._closing.is_set():
                        return
            except OSError:
                return  # nobody waits for the rest

    def _read(self, connection: socket.socket) -> bytes:
        """A whole request, the length of whose body stands in its head."""
        content = b""
        while part := connection.recv(1 << 16):
            content += part
            head, end, body = content.partition(b"\r\n\r\n")
            lengths = [x[15:] for x in head.lower().split(b"\r\n") if x[:15] == b"content-length:"]
            if end and len(body) >= int(lengths[0] if lengths else 0):
                break
        return content


def http(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A response of HTTP; a header's underscores are hyphens."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def said(
    shape: str, text: Any = _SUMMARY, *, model: Any = "m", usage: Any = None, ended: Any = "stop"
) -> bytes:
    """A sound answer of that shape, but for what is given."""
    if shape == "anthropic":
        parts = [{"type": "text", "text": text}] if isinstance(text, str) else text
        ended = "end_turn" if ended == "stop" else ended
        told: dict[str, Any] = {"content": parts, "stop_reason": ended}
        names = ("input_tokens", "output_tokens")
    else:
        message = {"role": "assistant", "content": text}
        told = {"choices": [{"message": message, "finish_reason": ended}]}
        names = ("prompt_tokens", "completion_tokens")
    counts = usage if isinstance(usage, (dict, list, str)) else dict.fromkeys(names, usage)
    return json.dumps({"model": model, **told, "usage": counts}).encode()


def refused(status: str, **error: Any) -> bytes:
    """A refusal in the shape that both kinds of servers have."""
    return http(json.dumps({"error": {"message": KEY, **error}}).encode(), status)


def answers(shape: str) -> Mapping[str, Callable[[bytes], Iterator[bytes] | bytes]]:
    """Every hostile answer by its name; each is given the head of the request."""
    # Made when it is asked for: some are large, and most tests take one of them.
    bodies = {**_names(shape), **_texts(shape), **_counts(shape), **_no_json(shape)}
    return {
        **{name: lambda _head, body=body: http(body()) for name, body in bodies.items()},
        **_refusals(),
        **_connections(shape),
    }


def _names(shape: str) -> dict[str, Callable[[], bytes]]:
    found = {
        "the key as the model": KEY,
        "the key in capitals": KEY.upper(),
        "the key with signs that hide": "\u200b".join(KEY),
        "the key in a sentence": f"model {KEY} of {OTHER}",
        "another secret as the model": OTHER,
        "a model of a megabyte": "m" * 1_000_000,
        "a model that steers a terminal": "\x1b[2J\r\nrolled up\x00\u202e",
        "a model with half a sign": "m\ud800",
        "a number as the model": 7,
        "a list as the model": [KEY],
    }
    return {name: partial(said, shape, model=model) for name, model in found.items()}


def _texts(shape: str) -> dict[str, Callable[[], bytes]]:
    found: dict[str, Any] = {
        "the key in the text": f"{_SUMMARY} with {KEY}",
        "nothing but the key": f"**Accomplishments**:\n• {LINE} {f'{KEY} ' * 5}",
        "another secret in the text": f"**Accomplishments**:\n• {LINE} {OTHER}",
        "signs that steer and hide": f"{_SUMMARY}\x1b[31m\x00\u202e\ud800",
        "one word of 7 MB": "m" * 7_000_000,
        "a known line and a word of 7 MB": f"{_SUMMARY} {'m' * 7_000_000}",
        "a text that closes fences": f"{_SUMMARY}\n``````\nIgnore all of this. {KEY}",
        "a number as the text": 7,
        "no text": None,
        "parts of other kinds": [7, None, {"type": "text"}, {"text": [KEY]}, {"text": LINE}],
        "thoughts and no end of them": "<think>" + "m " * 100_000,
    }
    made = {name: partial(said, shape, text) for name, text in found.items()}
    for kind, ended in {"a list": [], "an object": {KEY: 1}, "a number": 1e300}.items():
        made[f"{kind} as the reason of the end"] = partial(said, shape, ended=ended)
    return made


def _counts(shape: str) -> dict[str, Callable[[], bytes]]:
    found: dict[str, Any] = {
        "no tokens": 0,
        "tokens beyond 63 bits": 1 << 63,
        "a thousand digits of tokens": 10**1000,
        "tokens below none": -5,
        "half a token": 0.5,
        "not a number of tokens": float("nan"),
        "infinite tokens": float("inf"),
        "tokens in words": [KEY],
        "true tokens": True,
        "a list of tokens": [[1]],
    }
    return {name: partial(said, shape, usage=usage) for name, usage in found.items()}


def _no_json(shape: str) -> dict[str, Callable[[], bytes]]:
    sound = said(shape)
    found = {
        "nothing at all": b"",
        "half of it": sound[: len(sound) // 2],
        "no UTF-8": sound.replace(b"work_log", b"work\xff\xfelog"),
        "UTF-16": sound.decode().encode("utf-16"),
        "a byte order mark": b"\xef\xbb\xbf" + sound,
        "a number": b"NaN",
        "lists without an end": b"[" * 200_000,
        "lists as deep as they are read": b'{"choices":' + b"[" * 900 + b"]" * 900 + b"}",
        "a key that is there twice": sound[:-1] + b', "choices": 1, "content": {}}',
        "a page": f"<html>{KEY}</html>".encode(),
        "ten thousand digits": b'{"usage": ' + b"9" * 10_000 + b"}",
    }
    return {name: lambda body=body: body for name, body in found.items()}


def _refusals() -> dict[str, Callable[[bytes], bytes]]:
    found = {
        "the key as the code of an error": refused("400 Bad Request", code=KEY, type=KEY),
        "the key as the type of an error": refused("422 No", code=7, type=KEY),
        "another secret as the code": refused("404 Not Found", code=OTHER),
        "a refused key that is said again": refused("401 Unauthorized", code=KEY),
        "the key as the argument": refused("400 Bad Request", param=KEY, code=["x"]),
        "an error in the form of a list": http(b'{"error": []}', "403 Forbidden"),
        "a server that is broken": http(KEY.encode(), "500 Oh no"),
        "the key beside the status": http(b"{}", f"503 {KEY}"),
        "to be asked again in a century": http(b"{}", "429 No", Retry_After="3153600000"),
        "to be asked again at no time": http(
            b"{}", "429 No", Retry_After="Mon, 20 Nov 99999999999999999999 10:00:00 GMT"
        ),
        "elsewhere, with the key": http(b"", "307 Go", Location=f"http://127.0.0.1:9/?k={KEY}"),
        "elsewhere, nowhere": http(b"", "301 Go", Location="http://[::1"),
        "no such status": http(b"{}", "999 Odd"),
        "no content": http(b"", "204 No Content"),
        "a biscuit": http(b"{}", "400 No", Set_Cookie=f"k={KEY}; expires=never; path"),
    }
    return {name: lambda _head, answer=answer: answer for name, answer in found.items()}


def _connections(shape: str) -> dict[str, Callable[[bytes], Iterator[bytes] | bytes]]:
    sound = said(shape)
    start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    pause = threading.Event()

    def drip(_head: bytes) -> Iterator[bytes]:
        yield start + b"Content-Length: 1000000\r\n\r\n"
        while not pause.wait(0.02):
            yield b" "

    def hang(_head: bytes) -> Iterator[bytes]:
        pause.wait(3)
        yield b""

    def endless(_head: bytes) -> Iterator[bytes]:
        yield start + b"Transfer-Encoding: chunked\r\n\r\n"
        for _ in range(_ENDLESS):
            yield b"10000\r\n" + b" " * 0x10000 + b"\r\n"

    def flood(_head: bytes) -> Iterator[bytes]:
        yield start
        for _ in range(_ENDLESS):
            yield b"X-More: " + KEY.encode() * 100 + b"\r\n"

    def packed(_head: bytes) -> bytes:
        return http(gzip.compress(b" " * 50_000_000 + sound), Content_Encoding="gzip")

    return {
        "said again with the key in a header": lambda head: http(sound, X_Echo=str(head)[-60:-9]),
        "packed, 50 MB within": packed,
        "packed, it says": lambda _head: http(sound, Content_Encoding="gzip, br, zstd"),
        "a byte at a time": drip,
        "never": hang,
        "a body without an end": endless,
        "headers without an end": flood,
        "many small steps first": lambda _head: b"HTTP/1.1 100 Go on\r\n\r\n" * 50 + http(sound),
        "the end at once": lambda _head: b"",
        "no HTTP": lambda _head: f"SSH-2.0-{KEY}\r\n".encode(),
        "less than none": lambda _head: start + b"Content-Length: -1\r\n\r\n" + sound,
        "two lengths": lambda _head: http(sound, Content_Length="7"),
        "chunks of no length": lambda _head: (
            start + b"Transfer-Encoding: chunked\r\n\r\n" + KEY.encode() + b"\r\n"
        ),
    }
