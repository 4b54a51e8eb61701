"""The ASGI application of the page: each request past the guard, to the page, and back as HTML.

Decides nothing about what a page shows, and never answers an error with a traceback.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote, urlencode

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import (
    HTMLResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from commonplace.core.errors import CommonplaceError, Denied, Unavailable, retried
from commonplace.core.redact import noting_secrets
from commonplace.core.spaces import at_work
from commonplace.core.text import screening, shown_now
from commonplace.doors.protocol import RateLimitExceeded
from commonplace.doors.web.box import box_of
from commonplace.doors.web.downloads import send_file
from commonplace.doors.web.elsewhere import BACK, BEGIN, Elsewhere
from commonplace.doors.web.forms import read_form
from commonplace.doors.web.guard import (
    HEADERS,
    LONGEST_KEY,
    NO_LIMITS,
    PageLimits,
    Visitors,
    check_csrf,
    check_form,
    check_host,
    check_origin,
    check_place,
    is_over_tls,
    left_out_of,
)
from commonplace.doors.web.render import STATIC, render
from commonplace.doors.web.table import OF_PROGRAMS, PAGES, PageRow, row_of
from commonplace.doors.web.updates import LiveMarks
from commonplace.doors.web.visit import Address, Download, Redirect, Visit, Visitor, WebPage

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterator,
        Mapping,
        MutableMapping,
        Sequence,
    )

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from commonplace.app import App
    from commonplace.core.clock import Clock
    from commonplace.core.redact import Screen
    from commonplace.doors.owner_apps import OwnerApps
    from commonplace.doors.web.consent import AsksConsent
    from commonplace.doors.web.elsewhere import SignsInElsewhere
    from commonplace.doors.web.guard import Entrance, KeepsVisitors, Rates
    from commonplace.doors.web.programs import KeepsPrograms

_log = logging.getLogger(__name__)

_Said = TypeVar("_Said")

THREADS = 8
"""How many pages are made at once."""

STATUS = {"invalid": 400, "denied": 403, "not_found": 404, "conflict": 409, "unavailable": 503}
"""The status of HTTP for each code of our errors; of any other it is 500."""

_AS_TYPED = {"draft", "draft_entry"}
"""What is sent as one types, which has a limit of its own."""

_ENTER = "/enter"
CONSENT = "/authorize"
"""Where a program sends its user, to be let in."""
_LEAVE = "/leave"
_LIVE = "/live"
_STATIC = "/static"
_NOT_THIS_WAY = {
    False: "A link lets nobody in here. Put the token into this form yourself.",
    True: "A form lets nobody in here, only the link that was printed.",
}
"""Why what was given lets nobody in, by whether it came with a form."""

_FAILED = 400


class AnsweredPage(NamedTuple):
    """A page that was answered, to whom, and for which entries.

    Attributes:
        name: Of its row in the table of pages, or `consent`.
        refs: Of the entries that it was asked for; a list shows others as well.
    """

    name: str
    visitor: Visitor
    status: int
    seconds: float
    refs: tuple[str, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether its status is that of an error."""
        return self.status >= _FAILED


class OneApp:
    """The machine's own owner's app, for a page of this machine alone."""

    def __init__(self, app: App) -> None:
        self._app = app

    @contextmanager
    def using(self, owner: str) -> Iterator[App]:
        """The one app."""
        yield self._app


class WebApplication:
    """The pages, for the browsers that an entrance lets in.

    Args:
        apps: The apps of the owners who may look.
        knows_host: Whether a Host header names this server.
        shows_paths: Whether who looks may know where on this machine something lies.
        prefix: Where the pages begin, such as `/web`; empty for the root.
        limits: How many requests and streams one owner may have, and how large a form may be.
        is_stopping: Whether the server is stopping, so that open streams end.
        answered: Called with each page that was answered, in the thread that made it.
        visitors: Who was let in; None for browsers of this process alone.
        consent: Asks who is let in for programs of others; None where none can sign in here.
        programs: Those that users have let in, likewise.
        elsewhere: Where users sign in who have no key to enter with; None for nowhere.
    """

    _asking: anyio.CapacityLimiter | None = None
    _limiter: anyio.CapacityLimiter | None = None

    def __init__(
        self,
        *,
        apps: OwnerApps,
        entrance: Entrance,
        knows_host: Callable[[str], bool],
        clock: Clock,
        screen: Screen,
        shows_paths: bool = True,
        prefix: str = "",
        limits: PageLimits = NO_LIMITS,
        is_stopping: Callable[[], bool] = lambda: False,
        answered: Callable[[AnsweredPage], None] = lambda _page: None,
        visitors: KeepsVisitors | None = None,
        consent: AsksConsent | None = None,
        programs: KeepsPrograms | None = None,
        elsewhere: SignsInElsewhere | None = None,
    ) -> None:
        self._consent = consent
        self._programs = programs
        self._rows = PAGES if programs is None else (*PAGES, *OF_PROGRAMS)
        self._apps = apps
        self._entrance = entrance
        self._knows_host = knows_host
        self._clock = clock
        self._screen = screen
        self._shows_paths = shows_paths
        self._prefix = prefix
        self._limits = limits
        self._is_stopping = is_stopping
        self._answered = answered
        self._visitors: KeepsVisitors = Visitors() if visitors is None else visitors
        self._marks = LiveMarks(apps)
        given = (prefix, limits.rates, self._refuse_entry, self._welcome)
        self._elsewhere = None if elsewhere is None else Elsewhere(elsewhere, *given)
        self._last_answer = time.monotonic()
        self.first_answer = threading.Event()
        """Set once the first page was answered."""
        self._inside = Starlette(
            routes=self._routes(),
            exception_handlers={
                HTTPException: self._http_error,
                CommonplaceError: self._crash,
                Exception: self._crash,
            },
        )

    def _routes(self) -> list[Any]:
        routes = [
            Mount(_STATIC, StaticFiles(directory=STATIC)),
            Route(_ENTER, self._or_head(self._enter), methods=["GET", "POST"]),
            Route(_LEAVE, self._leave, methods=["POST"]),
            Route(_LIVE, self._or_head(self._live), methods=["GET"]),
            *(
                Route(row.path, self._endpoint(row), methods=["POST"])
                if row.writes
                else Route(row.path, self._or_head(self._endpoint(row)), methods=["GET"])
                for row in self._rows
            ),
        ]
        if self._consent is not None:
            routes += [Route(CONSENT, self._or_head(self._answer_consent), methods=["GET", "POST"])]
        if self._elsewhere is not None:
            there = {BEGIN: self._elsewhere.begin, BACK: self._elsewhere.come_back}
            routes += [Route(x, self._or_head(y), methods=["GET"]) for x, y in there.items()]
        return [Mount(self._prefix, routes=routes)] if self._prefix else routes

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        """Answer one request; every answer has the guard's headers."""
        if scope["type"] != "http":
            return
        headers = {x.decode("latin-1"): y.decode("latin-1") for x, y in scope["headers"]}

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                static = scope["path"].startswith(self._prefix + _STATIC)
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.lower().encode(), value.encode())
                        for name, value in HEADERS.items()
                        if name.lower().encode() not in given
                        and not (static and name == "Cache-Control")
                    ),
                ]
            await send(message)

        try:
            check_host(headers.get("host", ""), self._knows_host)
            if scope["method"] not in {"GET", "HEAD"}:
                check_origin(headers, headers.get("host", ""))
        except Denied as exc:
            await self._error(exc, None)(scope, receive, guarded)
            return
        await self._inside(scope, receive, guarded)

    def url(self, page: str, /, **given: Any) -> str:
        """The address of a page: what its path names, then the rest as its query.

        It names a secret by its mark, which `Visitor.names_behind` reads.
        """
        given = {key: _shown(value) for key, value in given.items()}
        path = row_of(page).path
        for part in [key for key in given if f"{{{key}" in path]:
            path = path.replace(f"{{{part}}}", quote(str(given.pop(part)), safe=""))
        rest = {key: value for key, value in given.items() if value not in ("", None, [])}
        query = f"?{urlencode(rest, doseq=True)}" if rest else ""
        return Address(f"{self._prefix}{path}{query}")

    def _or_head(
        self, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """What answers GET, and HEAD without it: programs that only look at a link use up nothing.

        Starlette answers HEAD by GET, which would use up a key and what the next page is to say.
        """

        async def answer_either(request: Request) -> Response:
            if request.method != "HEAD":
                return await answer(request)
            status = 401 if await self._visitor(request) is None else 200
            return Response(status_code=status, media_type="text/html")

        return answer_either

    def _endpoint(self, row: PageRow) -> Callable[[Request], Awaitable[Response]]:
        """What answers the requests of one row of the table."""

        async def answer(request: Request) -> Response:
            visitor = await self._visitor(request)
            if visitor is None:
                return self._show_entrance(401, _ended(request))
            rates = self._limits.drafts if row.name in _AS_TYPED else self._limits.rates
            counted = partial(self._counted, row, visitor, request)
            return await self._within_limits(rates, visitor, request, counted)

        return answer

    async def _within_limits(
        self,
        rates: Rates,
        visitor: Visitor,
        request: Request,
        answer: Callable[[], Awaitable[Response]],
    ) -> Response:
        """Answer a visitor within an owner's limits, and keep what that changed of the visitor."""
        await rates.agree(visitor.owner)
        try:
            with rates.call(visitor.owner):
                response = await answer()
        except RateLimitExceeded as exc:
            response = self._too_many(exc, visitor)
        # Before the browser has the page: the next may be asked of another server.
        cookie = request.cookies.get(_cookie_name(request), "")
        await self._asked(partial(self._visitors.keep, cookie, visitor))
        return response

    async def _counted(self, row: PageRow, visitor: Visitor, request: Request) -> Response:
        """Answer a request that is within its owner's limits."""
        try:
            form = visitor.names_behind(await self._form(request)) if row.writes else {}
            if row.writes:
                check_form(row, visitor, form.get("csrf", [""])[-1])
                # The form may have taken longer to arrive than the visitor was let in for.
                if not await self._asked(partial(self._entrance.still_admits, visitor)):
                    return self._show_entrance(401, _ended(request))
        except CommonplaceError as exc:
            return self._error(exc, visitor)
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)
        try:
            return await anyio.to_thread.run_sync(
                self._answer_page, row, visitor, request, form, limiter=self._limiter
            )
        finally:
            self._last_answer = time.monotonic()
            self.first_answer.set()

    def quiet_s(self) -> float:
        """The seconds since the last answer."""
        return time.monotonic() - self._last_answer

    def _answer_page(
        self, row: PageRow, visitor: Visitor, request: Request, form: Mapping[str, Sequence[str]]
    ) -> Response:
        began = time.perf_counter()
        response = self._make(row, visitor, request, form)
        seconds = time.perf_counter() - began
        query = visitor.names_behind(parse_qs(request.url.query))
        # What was forgotten is named nowhere again, and what is not there is no entry.
        is_none = row.name == "forget" or response.status_code >= _FAILED
        refs = () if is_none else (*query.get("ref", ()), *form.get("ref", ()))
        self._answered(AnsweredPage(row.name, visitor, response.status_code, seconds, refs))
        return response

    def _make(
        self, row: PageRow, visitor: Visitor, request: Request, form: Mapping[str, Sequence[str]]
    ) -> Response:
        """Make one page, in a thread."""
        with ExitStack() as held, at_work(visitor.member):
            held.enter_context(screening(visitor.screen(self._screen)))
            try:
                app = held.enter_context(self._apps.using(visitor.owner))
                prepare = app.sweep_expired if request.method == "POST" else app.finish_forgetting
                prepare()
                left_out = held.enter_context(noting_secrets())
                visit = Visit(
                    app=app,
                    visitor=visitor,
                    now=self._clock(),
                    parts=request.path_params,
                    query=visitor.names_behind(parse_qs(request.url.query, keep_blank_values=True)),
                    form=form,
                    url=self.url,
                    programs=self._programs,
                    is_read=request.headers.get("sec-fetch-dest") != "empty",
                )
                check_place(row, visit)
                module, _, function = row.handler.partition(":")
                make = partial(getattr(import_module(module), function), visit)
                made = make() if row.writes else retried(make)
                visitor.notes += left_out.notes
                if isinstance(made, Redirect):
                    visitor.notes[:0] = made.notes
                    visitor.offer = made.offer
                    return RedirectResponse(made.to, status_code=303)
                if isinstance(made, Download):
                    may_go_on = partial(self._entrance.still_admits, visitor)
                    return send_file(made, may_go_on=may_go_on)
                return self._page(made, visitor, visit)
            except CommonplaceError as exc:
                return self._error(exc, visitor)
            except Exception:  # noqa: BLE001  a page's last line: the browser gets an error page
                _log.exception("The page %s failed", row.name)
                return self._error(None, visitor)

    def _page(self, page: WebPage, visitor: Visitor | None, visit: Visit | None = None) -> Response:
        notes: list[str] = []
        offer = None
        # What a script asks for has no frame that anybody sees: the next page says the notes.
        has_frame = page.is_whole and (visit is None or visit.is_read)
        if visitor is not None and has_frame:
            notes, visitor.notes = visitor.notes, []
            offer, visitor.offer = visitor.offer, None
        shown = visitor.screen(self._screen) if visitor is not None else self._screen.shown
        with screening(shown):
            text = render(
                page.template,
                title=page.title,
                notes=notes,
                offer=offer,
                visitor=visitor,
                box=box_of(visit) if visit is not None and has_frame else None,
                pages=self._listed(visitor),
                counts=visit.place_counts() if visit is not None and has_frame else {},
                url=self.url,
                base=self._prefix,
                **({} if visit is None else {"visit": visit}),
                **page.values,
            )
        return HTMLResponse(text, page.status)

    def _listed(self, visitor: Visitor | None) -> list[PageRow]:
        """The pages that the navigation lists: no journal that is left out, nor the machine's."""
        left_out = left_out_of(visitor)
        listed = [x for x in self._rows if x.title and x.name not in left_out]
        return [x for x in listed if self._shows_paths or not x.is_machines]

    def _error(self, error: CommonplaceError | None, visitor: Visitor | None) -> Response:
        """An error in plain words; None for one of our own making."""
        if error is not None:
            message = error.explained(shows_paths=self._shows_paths)
            return self._error_page(STATUS.get(error.code, 500), message, visitor)
        message = "Something went wrong here, and it is not your doing."
        hint = "Look into the log of the server: `COMMONPLACE_LOG` names it."
        return self._error_page(500, message, visitor, hint=hint)

    def _error_page(
        self, status: int, message: str, visitor: Visitor | None, *, hint: str = "", title: str = ""
    ) -> Response:
        values = {"message": message, "hint": hint}
        title = title or HTTPStatus(status).phrase
        page = WebPage(template="error.html", title=title, values=values, status=status)
        return self._page(page, visitor)

    def _too_many(self, limit: RateLimitExceeded, visitor: Visitor) -> Response:
        hint, title = "Try again in a moment.", "Too many requests"
        response = self._error_page(429, limit.message, visitor, hint=hint, title=title)
        response.headers["retry-after"] = str(limit.retry_after_s)
        return response

    async def _form(self, request: Request, most: int | None = None) -> dict[str, list[str]]:
        """Read a form, within the limits. Raises: Invalid, Unavailable."""
        limits = self._limits
        with anyio.move_on_after(limits.body_s):
            return await read_form(request, limits.body_bytes if most is None else most)
        raise Unavailable("The form took too long to come.", hint="Send it again.")

    async def _http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        known = {404: "There is no such page.", 405: "This page cannot be asked for in this way."}
        message = known.get(error.status_code, error.detail)
        return self._error_page(error.status_code, message, await self._visitor(request))

    async def _crash(self, request: Request, error: Exception) -> Response:
        return self._error(error if isinstance(error, CommonplaceError) else None, None)

    async def _visitor(self, request: Request) -> Visitor | None:
        """Who asks. Raises: Unavailable, where that cannot be found out now."""
        cookie = request.cookies.get(_cookie_name(request), "")
        return await self._asked(partial(self._find_visitor, cookie)) if cookie else None

    def _find_visitor(self, cookie: str) -> Visitor | None:
        visitor = self._visitors.find(cookie)
        if visitor is not None and not self._entrance.still_admits(visitor):
            self._visitors.remove(cookie)
            return None
        return visitor

    async def _asked(self, ask: Callable[[], _Said]) -> _Said:
        """What is asked about a visitor: in a thread where the answer may be waited for."""
        if not self._entrance.waits:
            return ask()
        if self._asking is None:
            self._asking = anyio.CapacityLimiter(THREADS)
        return await anyio.to_thread.run_sync(ask, limiter=self._asking)

    def _show_entrance(self, status: int, message: str = "", query: str = "") -> Response:
        """The page that lets in. query: of the page of consent or sign-in, which it leads to."""
        template, after = self._entrance.template, Address(f"?{query}" if query else "")
        values = {"message": message, "after": after, "elsewhere": self._elsewhere}
        page = WebPage(template=template, title="Commonplace", values=values, status=status)
        return self._page(page, None)

    async def _enter(self, request: Request) -> Response:
        """Let a browser in that brings a key, and send it to the first page."""
        is_form = request.method == "POST"
        query = request.url.query if is_form and self._consent is not None else ""
        form = await self._form(request, LONGEST_KEY) if is_form else {}
        given = form.get("key", [""])[-1] if is_form else request.query_params.get("key", "")
        if given and is_form is not self._entrance.takes_form:
            return self._show_entrance(403, _NOT_THIS_WAY[is_form], query)
        try:
            visitor = await anyio.to_thread.run_sync(self._entrance.enter, given) if given else None
        except Denied as exc:
            return self._refuse_entry(exc, query)
        if visitor is None:
            # The link again, or the back button.
            if given and await self._visitor(request) is not None:
                return RedirectResponse(self.url("home"), status_code=303)
            why = "That link or token is not valid." if given else ""
            return self._show_entrance(403, why, query)
        # To that page alone, whatever it is asked: no address of others is gone to from here.
        place = f"{self._prefix}{CONSENT}?{query}" if query else self.url("home")
        redirect = RedirectResponse(place, status_code=303)
        return await self._let_in(request, visitor, redirect, request.url.scheme)

    async def _let_in(
        self, request: Request, visitor: Visitor, response: Response, scheme: str
    ) -> Response:
        """Know a visitor by a cookie from now on, which the answer gives its browser."""
        response.set_cookie(
            _cookie_name(request),
            await self._asked(partial(self._visitors.add, visitor)),
            path=f"{self._prefix}/",
            httponly=True,
            samesite="strict",
            secure=is_over_tls(scheme, request.headers),
        )
        return response

    async def _welcome(self, request: Request, visitor: Visitor, scheme: str) -> Response:
        """Let in a browser that another site has sent back by this scheme."""
        page = WebPage(template="signed_in.html", title="Commonplace")
        response = await self._let_in(request, visitor, self._page(page, None), scheme)
        # It shows no cookie where another site sends it: it goes on by itself.
        response.headers["Refresh"] = f"0; url={self.url('home')}"
        return response

    def _refuse_entry(
        self, why: CommonplaceError | RateLimitExceeded | None, query: str
    ) -> Response:
        """The page that lets in, and why it did not; None where nobody tried yet."""
        if isinstance(why, RateLimitExceeded):
            return self._show_entrance(429, why.message)
        if why is None:
            return self._show_entrance(401, query=query)
        message = why.explained(shows_paths=False)
        return self._show_entrance(STATUS.get(why.code, 500), message, query)

    async def _answer_consent(self, request: Request) -> Response:
        """Ask a user whether a program is let in, and send them back to it with the answer."""
        visitor = await self._visitor(request)
        query = request.url.query
        if visitor is None:
            response = self._show_entrance(401, query=query)
            if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
                # Where another site sends a browser it shows no cookie: it comes again by itself.
                response.headers["Refresh"] = f"0; url={self._prefix}{CONSENT}?{query}"
            return _opened_by_others(response)
        asked = partial(self._asked_consent, request, visitor, query)
        rates = self._limits.rates
        return _opened_by_others(await self._within_limits(rates, visitor, request, asked))

    async def _asked_consent(self, request: Request, visitor: Visitor, query: str) -> Response:
        """The question, or where its answer leads, or what is wrong with either."""
        began = time.perf_counter()
        try:
            response = await self._make_consent(request, visitor, query)
        except CommonplaceError as exc:
            response = self._error(exc, visitor)
        page = AnsweredPage("consent", visitor, response.status_code, time.perf_counter() - began)
        await anyio.to_thread.run_sync(self._answered, page)
        return response

    async def _make_consent(self, request: Request, visitor: Visitor, query: str) -> Response:
        assert self._consent is not None
        if request.method == "POST":
            form = await self._form(request, LONGEST_KEY)
            check_csrf(visitor, form.get("csrf", [""])[-1])
            place = await self._consent.answer(visitor, query, form)
            return RedirectResponse(place, status_code=303)
        asked = await self._consent.ask(visitor, query)
        values = {"asked": asked, "question_at": Address(f"{self._prefix}{CONSENT}?{query}")}
        page = WebPage(template="consent.html", title="Let a program in", values=values)
        response = self._page(page, visitor)
        here, there = "form-action 'self'", f"form-action 'self' {asked.leads_to}"
        policy = HEADERS["Content-Security-Policy"].replace(here, there)
        response.headers["Content-Security-Policy"] = policy
        return response

    async def _leave(self, request: Request) -> Response:
        """Forget a browser."""
        visitor = await self._visitor(request)
        if visitor is None:
            return self._show_entrance(200)
        try:
            form = await self._form(request)
        except CommonplaceError as exc:
            return self._error(exc, visitor)
        if form.get("csrf", [""])[-1] == visitor.csrf:
            cookie = request.cookies.get(_cookie_name(request), "")
            await self._asked(partial(self._visitors.remove, cookie))
        response = self._show_entrance(200)
        response.delete_cookie(_cookie_name(request), path=f"{self._prefix}/")
        return response

    async def _live(self, request: Request) -> Response:
        """Tell an open page when something new was written."""
        visitor = await self._visitor(request)
        if visitor is None:
            return Response(status_code=401)
        held = ExitStack()
        await self._limits.rates.agree(visitor.owner)
        try:
            held.enter_context(self._limits.rates.stream(visitor.owner))
        except RateLimitExceeded as exc:
            return self._too_many(exc, visitor)

        async def is_open() -> bool:
            if self._is_stopping():
                return False
            try:
                return await self._asked(partial(self._entrance.still_admits, visitor))
            except CommonplaceError:  # the tokens cannot be read: the next page says so
                return False

        return _HeldStream(self._marks.events(visitor.owner, is_open=is_open), held)


class _HeldStream(StreamingResponse):
    """Server-sent events that count as an open stream until they end, however that happens."""

    def __init__(self, events: AsyncIterator[bytes], held: ExitStack) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)


def _opened_by_others(response: Response) -> Response:
    """A page that a site may have opened in a window of its own, and is to see again after it."""
    response.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
    return response


def _shown(value: Any) -> Any:
    """What an address is given, without secrets."""
    if isinstance(value, (list, tuple)):
        return [_shown(each) for each in value]
    return shown_now(value) if isinstance(value, str) else value


def _cookie_name(request: Request) -> str:
    """The name of this server's cookie, which holds the port.

    Browsers share a host's cookies between its ports: two servers on one machine must not overwrite
    each other's.
    """
    return f"commonplace-{request.url.port or request.url.scheme}"


def _ended(request: Request) -> str:
    """What is said to a browser that was signed in; nothing to any other."""
    was_in = _cookie_name(request) in request.cookies
    return "You are signed out: what let this browser in has ended." if was_in else ""
