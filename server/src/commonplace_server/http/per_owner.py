"""The toolsets of a server of many owners: listed once, each call run on its owner's journals.

Law: an owner is never an argument. It comes from the session that the MCP door has set, and nothing
runs without one. An error that leaves here never names a path on the server.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec.structs import asdict, replace

from commonplace.core.errors import CommonplaceError, Internal
from commonplace.core.spaces import at_work
from commonplace.doors.mcp_offer import MustAsk
from commonplace.verbs.session import current_session
from commonplace.verbs.toolset import Tool
from commonplace_server.http.calls import ASKS, OK, FinishedCall, ServedSession, refs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from commonplace.app import App
    from commonplace.core.ports import Language
    from commonplace.core.values import Answer, Completion, Question
    from commonplace.doors.owner_apps import OwnerApps
    from commonplace.verbs.toolset import Toolset
    from commonplace_server.http.calls import ObservesCalls
    from commonplace_server.http.concurrency import ConcurrencyLimit


@runtime_checkable
class Waiting(Protocol):
    """A language model that can say whether asking it waits for a client; some answers are here."""

    @property
    def waits(self) -> bool:
        """Whether `complete` waits for a client."""
        ...


class PerOwner:
    """Every toolset, run on the app of the session's owner. Thread-safe.

    Args:
        apps: The apps of all owners.
        sample: Any owner's toolsets, for their names, descriptions and schemas.
        concurrency: Counts the calls.
        observers: Learn of each call that is over.
    """

    def __init__(
        self,
        apps: OwnerApps,
        sample: Sequence[Toolset],
        *,
        concurrency: ConcurrencyLimit,
        observers: Sequence[ObservesCalls] = (),
    ) -> None:
        self._apps = apps
        self._concurrency = concurrency
        self._observers = observers
        self.toolsets: dict[str, Toolset] = {x.name: self._shared(x) for x in sample}

    @contextmanager
    def working(self) -> Iterator[tuple[App, Callable[[], AbstractContextManager[None]]]]:
        """The app of the session's owner for one call, and what is entered to ask its client.

        Raises: Internal without a session; what the call raises, without a place on this server.
        """
        session = current_session()
        if session is None:
            raise Internal("A call without an owner.")
        try:
            member = session.member if isinstance(session, ServedSession) else None
            with (
                self._concurrency.working() as work,
                self._apps.using(session.owner) as app,
                at_work(member),
            ):
                yield app, partial(self._concurrency.asking, session.owner, work)
        except CommonplaceError as exc:
            raise exc.without_place() from exc

    def observed(self, tool: str, call: Callable[[], Answer]) -> Answer:
        """Make a call, and tell the observers how it ended. Raises: what the call raises."""
        session, began = current_session(), time.perf_counter()
        refs: Callable[[], Iterable[str]] = tuple
        outcome = Internal.code
        try:
            answer = call()
            refs, outcome = partial(refs_of, answer), OK
        except CommonplaceError as exc:
            outcome = exc.code
            raise
        except MustAsk:
            outcome = ASKS
            raise
        finally:
            if session is not None:
                served = session if isinstance(session, ServedSession) else None
                over = FinishedCall(
                    owner=session.owner,
                    token_id=served.token_id if served else "",
                    member=served.member.name if served and served.member else "",
                    tool=tool,
                    outcome=outcome,
                    seconds=time.perf_counter() - began,
                    refs=refs,
                )
                for observe in self._observers:
                    observe(over)
        return answer

    def _shared(self, toolset: Toolset) -> Toolset:
        return replace(
            toolset,
            tools=tuple(_SharedTool(**asdict(x), owners=self) for x in toolset.tools),
            resources=tuple(replace(x, read=partial(self._read, x.uri)) for x in toolset.resources),
        )

    def _read(self, uri: str) -> str:
        with self.working() as (app, _):
            pages = (page for toolset in app.toolsets() for page in toolset.resources)
            return next(page.read for page in pages if page.uri == uri)()


class _SharedTool(Tool, frozen=True, kw_only=True, dict=True):
    """A tool of any owner, called on the journals of the session's owner."""

    owners: PerOwner

    def call(
        self,
        arguments: Mapping[str, Any],
        *,
        sampler: Language | None = None,
        ends: datetime | None = None,
    ) -> Answer:
        """As `Tool.call`. Raises: Internal without a session."""
        call = partial(self._call, arguments, sampler=sampler, ends=ends)
        return self.owners.observed(self.name, call)

    def _call(
        self, arguments: Mapping[str, Any], *, sampler: Language | None, ends: datetime | None
    ) -> Answer:
        with self.owners.working() as (app, asking):
            model = None if sampler is None else _CountedModel(sampler, asking)
            return app.tools[self.name].call(arguments, sampler=model, ends=ends)


class _CountedModel:
    """A client's own model for one call, which does not count as running while it waits for it.

    Args:
        model: The model that is wrapped.
        asking: Entered while the client is asked; raises Unavailable where too many calls wait.
    """

    def __init__(self, model: Language, asking: Callable[[], AbstractContextManager[None]]) -> None:
        self._model = model
        self._asking = asking
        self.name = model.name
        self.sees_private = model.sees_private

    def complete(self, question: Question) -> Completion:
        """Ask the client's model. Raises: Unavailable, and what the model raises."""
        if isinstance(self._model, Waiting) and not self._model.waits:
            return self._model.complete(question)
        with self._asking():
            return self._model.complete(question)
