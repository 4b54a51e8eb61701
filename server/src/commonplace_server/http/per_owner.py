"""The toolsets of a server of many owners: listed once, each call run on its owner's journals.

Law: an owner is never an argument. It comes from the session that the MCP door has set, and nothing
runs without one. An error that leaves here never names a path on the server.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Internal
from commonplace.verbs.session import current_session
from commonplace.verbs.toolset import SAMPLER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from commonplace.core.ports import Language
    from commonplace.core.values import Completion, Question
    from commonplace.doors.owner_apps import OwnerApps
    from commonplace.verbs.toolset import Toolset
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
    """

    def __init__(
        self, apps: OwnerApps, sample: Sequence[Toolset], *, concurrency: ConcurrencyLimit
    ) -> None:
        self._apps = apps
        self._concurrency = concurrency
        self.toolsets: dict[str, Toolset] = {x.name: self._shared(x) for x in sample}

    def _shared(self, toolset: Toolset) -> Toolset:
        bind = self._bound_to_owner
        return replace(
            toolset,
            tools=tuple(replace(x, run=bind(x.run, "tool", x.name)) for x in toolset.tools),
            resources=tuple(
                replace(x, read=bind(x.read, "resource", x.uri)) for x in toolset.resources
            ),
            prompts=tuple(
                replace(x, write=bind(x.write, "prompt", x.name)) for x in toolset.prompts
            ),
        )

    def _bound_to_owner(
        self, sample: Callable[..., Any], kind: str, name: str
    ) -> Callable[..., Any]:
        """A function that calls the same tool, resource or prompt of the session's owner."""

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


def _find(toolsets: Sequence[Toolset], kind: str, name: str) -> Callable[..., Any]:
    """The function of one owner's tool, resource or prompt of this name."""
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
