"""The toolsets of a server of many owners: listed once, each call run on its owner's journals.

Law: an owner is never an argument. It comes from the session that the MCP door has set, and nothing
runs without one. No error that leaves here says where on the server something lies.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from commonplace.core.errors import CommonplaceError, Internal
from commonplace.services.session import current_session
from commonplace.tools.toolset import SAMPLER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from commonplace.app import App
    from commonplace.core.ports import Language
    from commonplace.core.values import Completion, Question
    from commonplace.doors.http.concurrency import ConcurrencyLimit
    from commonplace.tools.toolset import Toolset


class OwnerApps(Protocol):
    """The apps of all owners; see `commonplace.app`."""

    def using(self, owner: str) -> AbstractContextManager[App]:
        """One owner's app, kept open meanwhile."""
        ...


@runtime_checkable
class Waiting(Protocol):
    """A model that says whether a question to it has to wait: some calls bring the answer along."""

    @property
    def waits(self) -> bool:
        """Whether `complete` waits for a client."""
        ...


class PerOwner:
    """Every toolset, run on the app of the session's owner. Thread-safe.

    sample: any owner's toolsets; only what they say of themselves is used. concurrency: counts the
    calls.
    """

    def __init__(
        self, apps: OwnerApps, sample: Sequence[Toolset], *, concurrency: ConcurrencyLimit
    ) -> None:
        self._apps = apps
        self._concurrency = concurrency
        self.toolsets: dict[str, Toolset] = {x.name: self._shared(x) for x in sample}

    def _shared(self, toolset: Toolset) -> Toolset:
        reach = self._reached
        return replace(
            toolset,
            tools=tuple(replace(x, run=reach(x.run, "tool", x.name)) for x in toolset.tools),
            resources=tuple(
                replace(x, read=reach(x.read, "resource", x.uri)) for x in toolset.resources
            ),
            prompts=tuple(
                replace(x, write=reach(x.write, "prompt", x.name)) for x in toolset.prompts
            ),
        )

    def _reached(self, sample: Callable[..., Any], kind: str, name: str) -> Callable[..., Any]:
        """A function that calls the same tool, page or prompt of the session's owner."""

        @functools.wraps(sample)
        def call(**arguments: Any) -> Any:
            session = current_session()
            if session is None:
                raise Internal("A call without an owner.")
            try:
                with self._concurrency.working() as work, self._apps.using(session.owner) as app:
                    if (model := arguments.get(SAMPLER)) is not None:
                        asking = functools.partial(self._concurrency.asking, session.owner, work)
                        arguments[SAMPLER] = _CountedModel(model, asking)
                    answer = _find(app.toolsets(), kind, name)(**arguments)
            except CommonplaceError as exc:
                raise exc.without_place() from exc
            return answer

        return call


class _CountedModel:
    """A client's own model for one call, which is not at work while it waits for an answer.

    A wrapper with the same face. asking: held meanwhile; raises Unavailable where too many wait.
    """

    def __init__(self, model: Language, asking: Callable[[], AbstractContextManager[None]]) -> None:
        self._model = model
        self._asking = asking
        self.name = model.name
        self.sees_private = model.sees_private

    def complete(self, question: Question) -> Completion:
        """Ask it. Raises: what it raises; Unavailable."""
        if isinstance(self._model, Waiting) and not self._model.waits:
            return self._model.complete(question)
        with self._asking():
            return self._model.complete(question)


def _find(toolsets: Sequence[Toolset], kind: str, name: str) -> Callable[..., Any]:
    """What has this name among one owner's toolsets; there as it is in any other's."""
    for toolset in toolsets:
        for tool in toolset.tools if kind == "tool" else ():
            if tool.name == name:
                return tool.run
        for page in toolset.resources if kind == "resource" else ():
            if page.uri == name:
                return page.read
        for prompt in toolset.prompts if kind == "prompt" else ():
            if prompt.name == name:
                return prompt.write
    raise Internal(f"There is no {kind} {name!r}.")
