"""Owns asking a language model over HTTP: who may be told what, retries, deadlines, cut answers.

Law: private text goes to no model that is not on this machine unless the user said so. Never lets
a key, a question or an answer into an error or a log, nor a key into an answer; never follows a
redirect with the key. What a server says of itself is not believed: tokens are counted here too.
"""

from __future__ import annotations

import email.utils
import ipaddress
import json
import logging
import re
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import utc_now
from commonplace.core.errors import CommonplaceError, Denied, Invalid, Unavailable
from commonplace.core.fence import visible
from commonplace.core.redact import Screen
from commonplace.core.values import Completion
from commonplace.inference.language.wire import (
    WIRES,
    Said,
    Shape,
    error_argument,
    error_kind,
    estimated_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    import httpx2

    from commonplace.core.values import Question

_log = logging.getLogger(__name__)

BACKOFFS_S = (1.0, 2.0, 4.0, 8.0)
"""How long is waited before each further try, where the server does not say."""

MOST_BYTES = 8_000_000
"""An answer that is longer is none."""

MOST_BYTES_A_TOKEN = 16
"""No language has words so long: what is more than this of an answer is cut off."""

SPARE_TOKENS = 1_000
"""What a server may count beside what it was sent: its own template of a conversation."""

CONNECT_S = 10.0
CHECK_S = 5.0

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_NO_LIST = frozenset({404, 405, 501})
_OF_THE_QUESTION = frozenset({400, 413, 422})
_SECONDS = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*")
_IPV6 = 6
_LOOPBACK_6 = ipaddress.IPv6Address("::1")
_OLD_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a model is asked, and how.

    Attributes:
        key: The secret sent with each request; empty for none.
        share_private: Whether the user allows it to be sent private text.
    """

    url: str
    shape: Shape
    model: str
    key: str = ""
    key_variable: str = ""
    timeout_s: float = 120.0
    share_private: bool = False

    @property
    def host(self) -> str:
        """Its host and port, for people."""
        return host_of(self.url)

    def __repr__(self) -> str:
        """Without the key, and without what its address may hold of a password."""
        return f"Endpoint(model={self.model!r}, host={self.host!r})"


def host_of(url: str) -> str:
    """An address's host and port, as errors name them: never a user or a password."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]


def is_on_this_machine(url: str) -> bool:
    """Whether an address is this machine's own: `localhost`, 127.0.0.0/8 or ::1, and no other.

    A name is not looked up: what it means may change, and another machine may decide it.
    """
    host = (urllib.parse.urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found == _LOOPBACK_6 if found.version == _IPV6 else found.is_loopback


def may_see_private(url: str, *, share_private: bool) -> bool:
    """The one gate: may text of the private journal go to the model at this address?"""
    return share_private or is_on_this_machine(url)


def read_key(variable: str | None, environ: Mapping[str, str]) -> str:
    """The key in a variable; empty where none is named. Raises: Denied, Invalid."""
    if variable is None:
        return ""
    key = environ.get(variable, "").strip()
    if not key:
        raise Denied(
            f"{variable}, which holds the key of the LLM, is not set.",
            hint="Set it where the program that starts Commonplace sees it.",
        )
    if not (key.isascii() and key.isprintable()):
        raise Invalid(f"{variable} holds no key: a header cannot bear it.", hint="Copy it anew.")
    return key


class LanguageClient:
    """A model behind one of the two shapes; implements the port `Language`. Thread-safe.

    Args:
        clock: Seconds that bound all tries together; one try is also bounded in real time.
        sleep: Waits between two tries.
        screen: Hides secrets in what is asked, and in what is answered.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        screen: Screen | None = None,
    ) -> None:
        self._to = endpoint
        self._screen = screen or Screen()
        self._wire = WIRES[endpoint.shape]
        self._clock = clock
        self._sleep = sleep
        self._limit = _OLD_LIMIT

    @property
    def model(self) -> str:
        """The model as it is configured."""
        return self._to.model

    @property
    def name(self) -> str:
        """The model and its host: `claude-haiku-4-5 at api.anthropic.com`."""
        return f"{self._to.model} at {self._to.host}"

    @property
    def sees_private(self) -> bool:
        """Whether private text may be put to it."""
        return may_see_private(self._to.url, share_private=self._to.share_private)

    def complete(self, question: Question) -> Completion:
        """Ask, again where it may help, all within the endpoint's time. Raises: as the port."""
        if question.is_private and not self.sees_private:
            raise Denied(
                f"Private text is not sent to {self._to.model} at {{place}}, which is another"
                " machine.",
                hint="Set private.share_with_llm to true if it may be, or use an LLM that is here.",
                place=self._to.host,
            )
        start = self._clock()
        asking = _Asking(self._wire.body(question, self._to.model, self._screen))
        try:
            said = self._asked(asking, start + self._to.timeout_s)
        except CommonplaceError as exc:
            exc.tokens = asking.wasted
            raise
        completion = self._completion(said, asking, question.max_tokens)
        if not completion.text.strip():
            hint = "Try again; if it stays so, name another model (llm.model)."
            empty = self._error("gave an empty answer.", hint, Invalid)
            empty.tokens = completion.tokens_in + completion.tokens_out
            raise empty
        _log.info(
            "%s answered in %.1f s, %d tokens in, %d out%s",
            self.name,
            self._clock() - start,
            completion.tokens_in,
            completion.tokens_out,
            "" if completion.whole else ", cut off",
        )
        return completion

    def check(self) -> bool:
        """See whether the endpoint is there, within 5 s, at no cost, by its list of models.

        False where it has no such list, so that only a question can tell. Raises: Denied,
        Unavailable, Invalid.
        """
        url = self._wire.models_path(self._to.url)
        try:
            status, _, content = self._exchanged("GET", url, None, CHECK_S)
        except _Again as again:
            raise again.error from again.__cause__
        if status in _NO_LIST:
            return False
        if status != 200:  # noqa: PLR2004  HTTP's
            raise self._refusal(status, _parsed(content)).error
        if _parsed(content) is None:
            raise self._error("gave no JSON.", "Check llm.url.")
        return True

    def _completion(self, said: Said, asking: _Asking, max_tokens: int) -> Completion:
        """An answer with no key in it, no longer than it may be, and its tokens as we count them.

        A server that counts too little would walk through every cap; one that counts too much
        would end all work of the day.
        """
        most = max_tokens * MOST_BYTES_A_TOKEN
        text = self._screen.without(visible(said.text[: most + 1]), self._to.key)
        sent, received = asking.size, said.size
        return Completion(
            text=text[:most],
            model=self._screen.plain_name(said.model, self._to.key) or self._to.model,
            tokens_in=_counted(said.tokens_in, sent, sent + SPARE_TOKENS) + asking.wasted,
            tokens_out=_counted(said.tokens_out, received, max(received, max_tokens)),
            whole=said.whole and len(said.text) <= most,
        )

    def _asked(self, asking: _Asking, ends: float) -> Said:
        """Try until there is an answer, no more tries, or no more time."""
        for backoff in (*BACKOFFS_S, None):
            left = ends - self._clock()
            try:
                return self._tried(asking, left)
            except _Again as again:
                wait = backoff if again.after_s is None else again.after_s
                if wait is None or backoff is None or self._clock() + wait >= ends:
                    raise again.error from again.__cause__
                _log.info("%s Trying again in %g s.", again.error.located, wait)
                self._sleep(wait)
        raise AssertionError  # the last try raises

    def _tried(self, asking: _Asking, left: float) -> Said:
        body = asking.body
        if self._limit != _OLD_LIMIT and _OLD_LIMIT in body:
            body[self._limit] = body.pop(_OLD_LIMIT)
        path = self._wire.path(self._to.url)
        before = asking.wasted
        if left > 0:
            asking.wasted += estimated_tokens(asking.size)
        try:
            status, headers, content = self._exchanged("POST", path, body, left)
        except _Again as again:
            if not again.is_sent:
                asking.wasted = before
            raise
        found = _parsed(content)
        if status != 200:  # noqa: PLR2004  HTTP's: a refusal costs nothing
            asking.wasted = before
        elif found is not None:
            said = self._wire.read(found)
            asking.wasted = before
            return said
        if self._to.shape == "openai" and error_argument(found) == self._limit == _OLD_LIMIT:
            # Newer models of OpenAI's want the other name, all other servers this one.
            self._limit = _NEW_LIMIT
            return self._tried(asking, left)
        if status == 200:  # noqa: PLR2004  HTTP's
            raise _Again(self._error("gave no JSON.", "Check llm.url."))
        refusal = self._refusal(status, found)
        if status in _PASSING and error_kind(found) != "insufficient_quota":
            raise _Again(refusal.error, _retry_after(headers, utc_now()))
        raise refusal.error

    def _refusal(self, status: int, found: Any) -> _Again:
        """What a status that is no answer means."""
        kind = error_kind(found)
        if self._screen.plain_name(kind, self._to.key) != kind:
            kind = ""
        said = f"answered {status}{f' ({kind})' if kind else ''}."
        if status in {401, 403}:
            hint = "Name the variable that holds the key in llm.key_variable."
            if self._to.key_variable:
                hint = f"Check the key in {self._to.key_variable}."
            return _Again(self._error(said, hint, Denied))
        if 300 <= status < 400:  # noqa: PLR2004  HTTP's
            hint = "Name its last address in llm.url."
            return _Again(self._error(f"{said} It is a redirect.", hint))
        if status in _PASSING or status >= 500:  # noqa: PLR2004  HTTP's
            return _Again(self._error(said, "Try again later."))
        hint = "Check llm.url, llm.shape and llm.model."
        if status in _OF_THE_QUESTION:
            return _Again(self._error(said, hint, Invalid))
        return _Again(self._error(said, hint))

    def _exchanged(
        self, method: str, url: str, body: dict[str, Any] | None, left: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        """One request and its answer, whole, within the time left.

        Raises: _Again where the connection fails, Unavailable where time runs out, or the answer
        is too long.
        """
        late = self._error(
            f"did not answer within {self._to.timeout_s:g} s.",
            "Try again, or set llm.timeout_s higher.",
        )
        if left <= 0:
            raise late
        done = threading.Event()
        found: list[Any] = []

        def exchange() -> None:
            try:
                found.append(self._exchange(method, url, body, left))
            except Exception as exc:  # noqa: BLE001  raised again in the thread that waits
                found.append(exc)
            finally:
                done.set()

        # The timeouts of a client bound single reads; a name's lookup and a dripping server have
        # none. Whoever is late is left behind in its own thread.
        threading.Thread(target=exchange, name="language", daemon=True).start()
        if not done.wait(left):
            raise late
        (result,) = found
        if isinstance(result, Exception):
            raise self._explained(result) from result
        exchanged: tuple[int, Mapping[str, str], bytes] = result
        return exchanged

    def _exchange(
        self, method: str, url: str, body: dict[str, Any] | None, left: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        import httpx2

        ends = time.monotonic() + left + 1.0  # as below
        headers = {"User-Agent": "commonplace", "Accept-Encoding": "identity"}
        headers |= self._wire.headers(self._to.key)
        with (
            httpx2.Client(
                # Longer than the caller waits for it: a read that takes all the time is late.
                timeout=httpx2.Timeout(left + 1.0, connect=CONNECT_S),
                follow_redirects=False,
                # A proxy would carry what must stay here to another machine.
                trust_env=not is_on_this_machine(self._to.url),
            ) as client,
            client.stream(method, url, headers=headers, json=body) as answer,
        ):
            return answer.status_code, answer.headers, self._content(answer, ends)

    def _content(self, answer: httpx2.Response, ends: float) -> bytes:
        """The body, as it comes over the wire: what is packed may unfold to any size."""
        content = bytearray()
        for block in answer.iter_raw():
            content += block
            if time.monotonic() > ends:  # nobody waits for it any more
                break
            if len(content) > MOST_BYTES:
                said = f"answered with more than {MOST_BYTES:,} bytes."
                raise self._error(said, "Check llm.url.")
        return bytes(content)

    def _error(
        self, said: str, hint: str, kind: type[Unavailable | Invalid | Denied] = Unavailable
    ) -> CommonplaceError:
        """An error of this model; the door that shows it says where it is asked, or not."""
        return kind(f"{self._to.model} at {{place}} {said}", hint=hint, place=self._to.host)

    def _explained(self, exc: Exception) -> Exception:
        import httpx2

        if not isinstance(exc, (httpx2.HTTPError, httpx2.InvalidURL, OSError)):
            return exc
        # Of a foreign error only its kind: its text may hold an address with a key in it.
        said = f"cannot be reached ({type(exc).__name__})."
        unreachable = self._error(said, "Check llm.url, and that it runs.")
        not_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL)
        return _Again(unreachable, is_sent=not isinstance(exc, not_sent))


class _Asking:
    """A question as it is sent. size: its bytes. wasted: tokens of tries that were not refused."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.size = len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
        self.wasted = 0


class _Again(Exception):
    """Something that may pass: the error to end with, and how long the server asks to be left.

    is_sent: whether the question reached it.
    """

    def __init__(
        self, error: CommonplaceError, after_s: float | None = None, *, is_sent: bool = True
    ) -> None:
        super().__init__()
        self.error = error
        self.after_s = after_s
        self.is_sent = is_sent


def _counted(reported: int | None, size: int, most: int) -> int:
    """Tokens as a server reports them, at least those of so many bytes, and at most so many."""
    return min(max(reported or 0, estimated_tokens(size)), most)


def _parsed(content: bytes) -> Any:
    """What a body says as JSON; None where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """What `Retry-After` asks for in seconds, from a number or a date."""
    text = headers.get("retry-after", "")
    if found := _SECONDS.fullmatch(text):
        return float(found[1])
    try:
        at = email.utils.parsedate_to_datetime(text)
        return max(0.0, (at - now).total_seconds())
    except (ValueError, TypeError, OverflowError):  # no date, or one without a zone
        return None
