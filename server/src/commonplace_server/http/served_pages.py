"""The pages of a server of many owners: each browser sees what its token's owner has.

Users of an identity provider have no token of the server: they sign in there, and stay as long as
`PROVIDED_LASTS`.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from commonplace.core.errors import Denied
from commonplace.doors.web.application import WebApplication
from commonplace.doors.web.visit import Visitor
from commonplace.journals.table import ALL_TOOLSETS
from commonplace_server.http.calls import OK, FinishedCall, is_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.clock import Clock
    from commonplace.core.redact import Screen
    from commonplace.doors.owner_apps import OwnerApps
    from commonplace.doors.web.application import AnsweredPage
    from commonplace.doors.web.consent import AsksConsent
    from commonplace.doors.web.elsewhere import Begun
    from commonplace.doors.web.guard import KeepsVisitors, PageLimits
    from commonplace.doors.web.programs import KeepsPrograms
    from commonplace_server.http.calls import ObservesCalls
    from commonplace_server.http.relying_party import RelyingParty
    from commonplace_server.tokens import ReadsTokens, Token

PROVIDED_LASTS = timedelta(hours=8)
"""How long a user of an identity provider stays signed in at the pages: then the provider is asked
again who they are."""


class TokenEntrance:
    """Lets in the browser of whoever has a token of the server, as that token's owner.

    Never by a link: any site could have one that signs a browser in as another user, so that what
    is written then is that user's to read.

    A token that is kept to some tools opens no page: pages show all that is remembered. One that
    names all of them does.

    Args:
        tokens: Who may connect.
        may_write: Whether anything may be changed at all.
        clock: Says what time it is.
        provider: Where users sign in who have no token of the server; None for nowhere.
    """

    template = "enter_by_token.html"
    takes_form = True

    def __init__(
        self,
        tokens: ReadsTokens,
        *,
        may_write: bool,
        clock: Clock,
        provider: RelyingParty | None = None,
    ) -> None:
        self._tokens = tokens
        self.waits = tokens.waits
        self._may_write = may_write
        self._clock = clock
        self._provider = provider

    def enter(self, given: str) -> Visitor | None:
        """The visitor whom a valid token lets in.

        Raises: Denied, saying why, for a token of the server that opens no page.
        """
        token = self._tokens.find(given.strip())
        if token is None:
            return None
        visitor = self.visitor_of(token)
        self._tokens.note_use(token)
        return visitor

    def visitor_of(self, token: Token) -> Visitor:
        """The visitor whom a token lets in. Raises: Denied, for one that opens no page."""
        if why := self._shut(token):
            raise why
        return Visitor(
            owner=token.owner,
            may_write=self._may_write and token.may_write,
            csrf=secrets.token_urlsafe(32),
            token_id=token.id,
            member=token.at_work,
            until=None if token.is_own else self._clock() + PROVIDED_LASTS,
        )

    def still_admits(self, visitor: Visitor) -> bool:
        """Whether the token that let it in is valid still.

        Read now: a page that stays open asks each second, and is to end within that time. A user of
        a provider stays until their time is over, or the settings that let users in change.
        A database may keep a visit from a time when its user could write; it ends too.
        """
        if visitor.may_write and not self._may_write:
            return False
        if visitor.until is not None:
            mark = None if self._provider is None else self._provider.mark
            is_set = mark is not None and visitor.token_id.startswith(mark)
            return is_set and self._clock() < visitor.until
        self._tokens.refresh([visitor.token_id])
        token = self._tokens.get(visitor.token_id)
        return token is not None and self._shut(token) is None

    def _shut(self, token: Token) -> Denied | None:
        """Why a token opens no page; None where it does."""
        if (state := token.state(self._clock())) != "valid":
            said = {"expired": "has expired", "revoked": "was revoked"}[state]
            return Denied(f"This token {said}.", hint="Ask who runs the server for another.")
        if not token.may_read:
            return Denied("This token opens no journal.", hint="Use one whose scope is read.")
        if token.toolsets and not {*ALL_TOOLSETS} <= {*token.toolsets}:
            return Denied(
                f"This token is kept to {', '.join(token.toolsets)}, and pages show everything.",
                hint="Use one without --toolsets, or with --toolsets all.",
            )
        return None


class ProviderEntrance:
    """Implements the port `doors.web.elsewhere.SignsInElsewhere` for an identity provider."""

    def __init__(self, provider: RelyingParty, entrance: TokenEntrance) -> None:
        self.host = provider.host
        self.address = provider.address
        self._provider = provider
        self._entrance = entrance

    async def begin(self, query: str) -> Begun:
        """Where a browser signs in; see the port."""
        return await self._provider.begin(query)

    def mark_in(self, query: str) -> str:
        """The mark of the sign-in that a browser comes back from."""
        return self._provider.mark_in(query)

    async def finish(self, cookie: str, query: str) -> Visitor:
        """The visitor who comes back; see the port."""
        return self._entrance.visitor_of(await self._provider.finish(cookie, query))


def pages_for_tokens(
    apps: OwnerApps,
    *,
    tokens: ReadsTokens,
    knows_host: Callable[[str], bool],
    may_write: bool,
    clock: Clock,
    screen: Screen,
    prefix: str,
    limits: PageLimits,
    is_stopping: Callable[[], bool],
    observers: Sequence[ObservesCalls] = (),
    visitors: KeepsVisitors | None = None,
    consent: AsksConsent | None = None,
    programs: KeepsPrograms | None = None,
    provider: RelyingParty | None = None,
) -> WebApplication:
    """The ASGI application of the pages below a prefix.

    Args:
        apps: The apps of all owners.
        tokens: Who may connect.
        knows_host: Whether a Host header names the server.
        may_write: Whether anything may be changed at all.
        clock: Says what time it is.
        screen: Hides secrets in all that is shown.
        prefix: Where the pages begin.
        limits: The limits on one owner's use of the pages.
        is_stopping: Whether the server is stopping.
        observers: Learn of each page that was answered.
        visitors: The browsers that all servers of a database know; None for those of this one.
        consent: Asks who is let in for programs of others; None where none can sign in here.
        programs: Those that users have let in, likewise.
        provider: Where users sign in who have no token of the server; None for nowhere.
    """
    entrance = TokenEntrance(tokens, may_write=may_write, clock=clock, provider=provider)
    return WebApplication(
        apps=apps,
        entrance=entrance,
        elsewhere=None if provider is None else ProviderEntrance(provider, entrance),
        knows_host=knows_host,
        clock=clock,
        screen=screen,
        shows_paths=False,
        prefix=prefix,
        limits=limits,
        is_stopping=is_stopping,
        answered=partial(_note, observers),
        visitors=visitors,
        consent=consent,
        programs=programs,
    )


def _note(observers: Sequence[ObservesCalls], page: AnsweredPage) -> None:
    """Report a page that was answered to all who observe calls."""
    over = FinishedCall(
        owner=page.visitor.owner,
        token_id=page.visitor.token_id,
        member=page.visitor.member.name if page.visitor.member else "",
        tool=f"page {page.name}",
        outcome=str(page.status) if page.has_failed else OK,
        seconds=page.seconds,
        refs=lambda: filter(is_ref, page.refs),
    )
    for observe in observers:
        observe(over)
