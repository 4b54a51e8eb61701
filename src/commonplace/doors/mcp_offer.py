"""What a client of MCP is offered, in the protocol's own shapes: lists, calls, pages and prompts.

Both servers speak from it, our own over stdio and the SDK's over HTTP. Knows no wire, no session;
decides nothing: an answer or an error of a tool becomes a result, and no result has a secret.
"""

from __future__ import annotations

import json
import logging
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import (
    CommonplaceError,
    Denied,
    Internal,
    Invalid,
    NotFound,
    Unavailable,
    retried,
)
from commonplace.core.redact import Screen, mapped_texts
from commonplace.core.text import opening, screening, shown_now, text_hash, well_formed
from commonplace.core.values import Completion
from commonplace.doors.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    STRUCTURED_META,
    RefusedRequest,
)
from commonplace.verbs.answers import either, text_for_model
from commonplace.verbs.selection import merge_toolsets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.core.values import Question
    from commonplace.verbs.toolset import Effects, Tool, Toolset

_log = logging.getLogger(__name__)

_ASKED = "sampling"  # the key of our one question in a result
_SEARCH_HINT = "memory: remember, recall, journal, log, notes, decisions, earlier sessions"
_BYTES_A_TOKEN = 3  # rather too few: the caps on tokens hold


class McpOffer:
    """Toolsets as a client sees them; it opens no journal before the first call.

    Args:
        screen: Hides secrets in all that is answered; None for one that knows no own secrets.
        structured: Whether every result carries JSON beside its text. Else only those do whose call
            asks for it: the main clients give a model the JSON in place of the text.
        elsewhere: Gives the names of the toolsets that have a tool of this name.
    """

    def __init__(
        self,
        toolsets: Sequence[Toolset],
        *,
        screen: Screen | None = None,
        structured: bool = False,
        elsewhere: Callable[[str], Sequence[str]] = lambda _name: (),
    ) -> None:
        self._offered = merge_toolsets(toolsets)
        self.screen = screen or Screen()
        self._structured = structured
        self._elsewhere = elsewhere
        tools = self._offered.tools
        self._tools = {alias: tool for tool in tools for alias in tool.aliases}
        self._tools |= {tool.name: tool for tool in tools}
        self._pages = {page.uri: page for page in self._offered.resources}
        self._prompts = {prompt.name: prompt for prompt in self._offered.prompts}

    @cached_property
    def lists(self) -> dict[str, Any]:
        """What a session begins with: server, instructions, tools, resources and prompts."""
        return {
            "server": {
                "name": "commonplace",
                "title": "Commonplace",
                "version": version("commonplace-memory"),
            },
            "instructions": self._offered.instructions,
            "tools": [_listed_tool(tool) for tool in self._offered.tools if tool.listed],
            "resources": [
                {
                    "uri": page.uri,
                    "name": page.uri.rpartition("/")[2],
                    "title": page.title,
                    "description": page.description,
                    "mimeType": page.media_type,
                }
                for page in self._offered.resources
            ],
            "prompts": [
                {
                    "name": prompt.name,
                    "title": prompt.title,
                    "description": prompt.description,
                    "arguments": [],
                }
                for prompt in self._offered.prompts
            ],
        }

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        meta: Mapping[str, Any],
        structured: bool | None = None,
        model: ClientModel | None = None,
    ) -> dict[str, Any]:
        """Call a tool by its name or another name of it; what it raises is a result as well.

        Args:
            name: As the client gave it.
            arguments: As they came: the tool checks them and words the errors.
            meta: The `_meta` of the request.
            structured: Whether JSON goes beside the text where `meta` does not say; None for what
                the server was made with.
            model: The client's own; None where it may not be asked.
        """
        default = self._structured if structured is None else structured
        with_facts = meta[STRUCTURED_META] is True if STRUCTURED_META in meta else default
        with screening(self.screen.shown):
            try:
                tool = self._tool(name)
                answer = tool.call(tool.without_null_words(arguments), sampler=model)
                facts = answer.facts if with_facts or tool.is_json else None
            except MustAsk as exc:
                return exc.result
            except CommonplaceError as exc:
                return _failure(exc, with_facts=with_facts)
            except Exception:  # noqa: BLE001  the door's last line: logged, never shown
                _log.exception("Internal error in %s", name)
                error = Internal(f"Internal error in {name}.", hint="Look into the log.")
                return _failure(error, with_facts=with_facts)
            return _result(None if tool.is_json else text_for_model(answer), facts)

    def _tool(self, name: str) -> Tool:
        """The tool of a name. Raises: NotFound, which says where it is and what to do."""
        if (tool := self._tools.get(name)) is not None:
            return tool
        hint = "Call one that is listed."
        if toolsets := self._elsewhere(name):
            hint = (
                f"The toolset {either(toolsets)} has it: add it to the setting toolsets "
                f"(COMMONPLACE_TOOLSETS, or --toolsets), and start again."
            )
        raise NotFound(f"There is no tool {opening(name, 100)!r} here.", hint=hint)

    def read(self, uri: str) -> dict[str, Any]:
        """Read a page by its address. Raises: RefusedRequest."""
        with screening(self.screen.shown):
            page = self._pages.get(uri)
            shown = shown_now(uri)
            if page is None:
                raise RefusedRequest(INVALID_PARAMS, f"Unknown resource: {shown}", {"uri": shown})
            try:
                text = well_formed(shown_now(retried(page.read)))
            except CommonplaceError as exc:
                message = str(exc.screened(shown_now))
                raise RefusedRequest(INTERNAL_ERROR, message, {"uri": shown}) from exc
            return {"contents": [{"uri": uri, "mimeType": page.media_type, "text": text}]}

    def prompt(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Write a prompt. Raises: RefusedRequest."""
        with screening(self.screen.shown):
            prompt = self._prompts.get(name)
            if prompt is None:
                known = " or ".join(self._prompts) or "a tool"
                called = opening(name, 100, "…")
                raise _refused(NotFound(f"There is no prompt {called!r}.", hint=f"Use {known}."))
            if arguments:
                message = f"The prompt {name} takes no arguments."
                raise _refused(Invalid(message, hint="Leave them out."))
            content = {"type": "text", "text": well_formed(shown_now(prompt.write()))}
            said = {"role": "user", "content": content}
            return {"description": prompt.description, "messages": [said]}


class MustAsk(Exception):
    """A tool must be called again, with the answer of the client's model."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


def answered_before(asked: dict[str, Any], params: Mapping[str, Any]) -> Any:
    """The answer of the client's model that came with a call; a question without one is asked.

    For clients since 2026-07-28, which get the question as the result and call the tool again.

    Raises:
        MustAsk: No answer to this question came.
    """
    state = text_hash(json.dumps(asked, sort_keys=True))
    if params.get("requestState") != state:
        request = {"method": "sampling/createMessage", "params": asked}
        raise MustAsk(
            {
                "resultType": "input_required",
                "inputRequests": {_ASKED: request},
                "requestState": state,
            }
        )
    answers = params.get("inputResponses")
    return answers.get(_ASKED) if isinstance(answers, dict) else None


class ClientModel:
    """The client's own model for one call of a tool; implements the port `Language`.

    In a session with a handshake the client is asked in the middle of the call. Since 2026-07-28
    the tool is called again with the answer: what it does before it asks is done twice.

    Args:
        ask: Gives what the client's model answers to parameters of `sampling/createMessage`, as its
            result. May raise Unavailable, and `MustAsk`.
        screen: Hides secrets in what is asked.
        waits: Whether the client is asked in the middle of the call.
    """

    name = "the client's model"
    sees_private = False

    def __init__(
        self, ask: Callable[[dict[str, Any]], Any], screen: Screen, *, waits: bool
    ) -> None:
        self._ask = ask
        self._screen = screen
        self.waits = waits

    def complete(self, question: Question) -> Completion:
        """Have the client ask its model. Raises: Denied, Unavailable, MustAsk."""
        if question.is_private:
            raise Denied("Private text is not given to the client's model.")
        asked = self._screen.safe_input(question)
        said = self._ask(
            {
                "messages": [{"role": "user", "content": {"type": "text", "text": asked}}],
                "systemPrompt": question.instructions,
                "maxTokens": question.max_tokens,
            }
        )
        content = said.get("content") if isinstance(said, dict) else None
        text = content.get("text") if isinstance(content, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise Unavailable("It gave no text.")
        return Completion(
            text=text,
            model=self._screen.plain_name(str(said.get("model", ""))),
            tokens_in=len(asked.encode()) // _BYTES_A_TOKEN,
            tokens_out=len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN,
            whole=said.get("stopReason") != "maxTokens",
        )


def _refused(error: CommonplaceError) -> RefusedRequest:
    shown = error.screened(shown_now)
    return RefusedRequest(INVALID_PARAMS, well_formed(str(shown)), shown.facts)


def _listed_tool(tool: Tool) -> dict[str, Any]:
    """A tool, with what hosts read and give no model.

    Source: the hint is what Claude Code 2.1.332 looks for where it hides tools behind a search.
    """
    view = {"ui": {"resourceUri": tool.view}} if tool.view else {}
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": _annotations(tool.effects),
        "_meta": {"anthropic/searchHint": _SEARCH_HINT, **view},
    }


def _annotations(effects: Effects) -> dict[str, bool]:
    """What hosts look at before they allow a call; of a tool that only reads, two hints say all."""
    if not effects.writes:
        return {"readOnlyHint": True, "openWorldHint": False}
    return {
        "readOnlyHint": False,
        "destructiveHint": effects.destroys,
        "idempotentHint": effects.repeatable,
        "openWorldHint": False,
    }


def _failure(error: CommonplaceError, *, with_facts: bool) -> dict[str, Any]:
    shown = error.screened(shown_now)
    return _result(str(shown), shown.facts if with_facts else None, is_error=True)


def _result(
    text: str | None, facts: Mapping[str, Any] | None, *, is_error: bool = False
) -> dict[str, Any]:
    """A result of text alone, or with its facts as JSON beside the text; neither has a secret.

    The last step of this door: every answer and every error of a tool passes it. File names may
    hold bytes that are not UTF-8, which no writer of JSON takes.

    Args:
        text: None where the facts are the text as well: each of theirs is screened by itself, as
            what is hidden in a text of JSON could take a quote of it along.
        facts: None for a result of text alone.
        is_error: Whether it says what went wrong.
    """
    shown = {}
    if facts is not None:
        screened = mapped_texts(facts, shown_now)
        shown = {"structuredContent": json.loads(well_formed(_json(screened)))}
    said = well_formed(shown_now(text)) if text is not None else _json(shown["structuredContent"])
    return {"content": [{"type": "text", "text": said}], "isError": is_error, **shown}


def _json(facts: Any) -> str:
    return json.dumps(facts, ensure_ascii=False)
