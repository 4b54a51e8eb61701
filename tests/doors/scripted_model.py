"""A model on loopback for real clients: it answers by a script, and keeps what it was given.

Speaks what Claude Code (Messages), Codex (Responses), Gemini CLI (generateContent) and OpenCode
(Chat Completions) ask of their models, as far as they use it.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PREFIX = "mcp__commonplace__"
"""Before the name of a tool of ours, as the clients name it to their model."""

PLUGIN_PREFIX = "mcp__plugin_commonplace_commonplace__"
"""The same in Claude Code, where the server came with our plugin."""

GEMINI_PREFIX = "mcp_commonplace_"
OPENCODE_PREFIX = "commonplace_"

DONE = "All done."


class Call(Struct, frozen=True):
    """A tool that the model calls; `arguments` sees the results so far, oldest first."""

    tool: str
    arguments: Callable[[Sequence[str]], Mapping[str, Any]]


def call(tool: str, **arguments: Any) -> Call:
    """A call with arguments that are known before anything was answered."""
    return Call(tool, lambda _results: arguments)


class ScriptedModel:
    """Makes the calls of a script, one in each turn, then says what it ends with.

    Attributes:
        given: The results of our tools as the client handed them to its model, oldest first.
        system: Where the instructions of a server stand: system texts, or what is said of its tools.
        tools: What the client listed of ours, by name.
        first_tools: The same, of the first turn.
        asked: Each request of the conversation, as it came.

    Args:
        script: The calls, in their order.
        done: What it says in the end.
        tokens: How many tokens the first turn is said to have taken: many make a client compact.
    """

    def __init__(self, *script: Call, done: str = DONE, tokens: int = 1) -> None:
        self._script = script
        self._done = done
        self._tokens = tokens
        self._before = 0
        self.given: list[str] = []
        self.system = ""
        self.tools: dict[str, Any] = {}
        self.first_tools: dict[str, Any] = {}
        self.asked: list[str] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._send(b"", "text/plain")

            def do_GET(self) -> None:
                self._send(b'{"data": [], "models": []}', "application/json")

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                path = self.path.partition("?")[0]
                answer = {"/v1/messages": model.messages, "/v1/responses": model.responses}
                if path.endswith(":streamGenerateContent"):
                    line = f"data: {json.dumps(model.generate_content(asked))}\n\n"
                    self._send(line.encode(), "text/event-stream")
                    return
                if path.endswith(":generateContent"):
                    self._send(
                        json.dumps(model.generate_content(asked)).encode(), "application/json"
                    )
                    return
                if path == "/v1/chat/completions":
                    chunks = [*map(json.dumps, model.chat_completions(asked)), "[DONE]"]
                    lines = "".join(f"data: {chunk}\n\n" for chunk in chunks)
                    self._send(lines.encode(), "text/event-stream")
                    return
                if path not in answer:
                    self._send(b"{}", "application/json")
                    return
                events = answer[path](asked)
                lines = (f"event: {x['type']}\ndata: {json.dumps(x)}\n\n" for x in events)
                self._send("".join(lines).encode(), "text/event-stream")

            def _send(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Stay quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def _next(self) -> Call | None:
        """The call of this turn; of a session that goes on the former results do not count."""
        if len(self.asked) == 1:
            self._before = len(self.given)
        number = len(self.given) - self._before
        return self._script[number] if 0 <= number < len(self._script) else None

    def _taken(self) -> int:
        """How many tokens this turn is said to have taken."""
        return self._tokens if len(self.asked) <= 1 else 1

    def messages(self, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A turn in the Messages API; requests without our tools are side jobs of the client."""
        tools = {x["name"]: x for x in asked.get("tools", [])}
        ours = {x: y for x, y in tools.items() if x.startswith((PREFIX, PLUGIN_PREFIX))}
        block: dict[str, Any] = {"type": "text", "text": "ok"}
        if ours:
            self._hear(asked, ours)
            step = self._next()
            block = {"type": "text", "text": self._done}
            if step is not None:
                number = f"toolu_{len(self.given)}"
                prefix = next(iter(ours)).rpartition("__")[0] + "__"
                block = {"type": "tool_use", "id": number, "name": prefix + step.tool}
                block |= {"input": step.arguments(self.given)}
        is_call = block["type"] == "tool_use"
        usage = {"input_tokens": self._taken(), "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {"model": asked["model"], "stop_reason": None, "usage": usage}
        yield {"type": "message_start", "message": message}
        empty = {**block, "input": {}} if is_call else {**block, "text": ""}
        yield {"type": "content_block_start", "index": 0, "content_block": empty}
        delta = {"type": "text_delta", "text": block.get("text")}
        if is_call:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = {"stop_reason": "tool_use" if is_call else "end_turn"}
        yield {"type": "message_delta", "delta": reason, "usage": usage}
        yield {"type": "message_stop"}

    def _hear(self, asked: dict[str, Any], ours: dict[str, Any]) -> None:
        self._list(asked, {name.rpartition("__")[2]: tool for name, tool in ours.items()})
        systems = [asked.get("system", [])]
        systems += [x["content"] for x in asked["messages"] if x["role"] == "system"]
        self.system = "\n".join(_text_of(each) for each in systems)
        blocks = [x for message in asked["messages"] for x in _listed(message["content"])]
        results = [x for x in blocks if x["type"] == "tool_result"]
        self.given = [_text_of(x["content"]) for x in results]

    def _list(self, asked: dict[str, Any], tools: dict[str, Any]) -> None:
        """Keep a request of the conversation, and which tools of ours it offers."""
        if not self.asked:
            self.first_tools = tools
        self.asked.append(json.dumps(asked, ensure_ascii=False))
        self.tools = tools

    def responses(self, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A turn in the Responses API."""
        ours = [x for x in asked.get("tools", []) if x.get("name") == PREFIX.removesuffix("__")]
        self._list(asked, {tool["name"]: tool for each in ours for tool in each["tools"]})
        self.system = "\n".join(each["description"] for each in ours)
        items = asked["input"]
        self.given = [_text_of(x["output"]) for x in items if x["type"] == "function_call_output"]
        step = self._next()
        item: dict[str, Any] = {"type": "message", "role": "assistant", "id": "msg_1"}
        item |= {"content": [{"type": "output_text", "text": self._done}]}
        if step is not None:
            item = {"type": "function_call", "id": "fc_1", "call_id": f"call_{len(self.given)}"}
            item |= {"name": step.tool, "namespace": PREFIX.removesuffix("__")}
            item |= {"arguments": json.dumps(step.arguments(self.given))}
        yield {"type": "response.created", "response": {"id": "resp_1"}}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        usage = {"input_tokens": self._taken(), "output_tokens": 1}
        usage |= {"total_tokens": self._taken() + 1}
        usage |= {"input_tokens_details": None, "output_tokens_details": None}
        yield {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}

    def generate_content(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A turn in Gemini's API."""
        listed = [x for each in asked.get("tools", []) for x in each["functionDeclarations"]]
        ours = [x for x in listed if x["name"].startswith(GEMINI_PREFIX)]
        self._list(asked, {x["name"].removeprefix(GEMINI_PREFIX): x for x in ours})
        parts = [part for each in asked["contents"] for part in each["parts"]]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        self.given = [str(each["response"]) for each in results]
        step = self._next()
        part: dict[str, Any] = {"text": self._done}
        if step is not None:
            call = {"name": GEMINI_PREFIX + step.tool, "args": step.arguments(self.given)}
            part = {"functionCall": call}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": self._taken(), "candidatesTokenCount": 1}
        usage |= {"totalTokenCount": self._taken() + 1}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage}

    def chat_completions(self, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A turn in the Chat Completions API; a request without our tools names the session."""
        named = {x["function"]["name"]: x["function"] for x in asked.get("tools", [])}
        ours = {
            x.removeprefix(OPENCODE_PREFIX): named[x]
            for x in named
            if x.startswith(OPENCODE_PREFIX)
        }
        delta: dict[str, Any] = {"role": "assistant", "content": "ok"}
        if ours:
            self._list(asked, ours)
            texts = {role: [] for role in ("system", "user", "assistant", "tool")}
            for message in asked["messages"]:
                texts[message["role"]].append(_text_of(message.get("content") or ""))
            self.system, self.given = "\n".join(texts["system"]), texts["tool"]
            step = self._next()
            delta = {"role": "assistant", "content": self._done}
            if step is not None:
                arguments = json.dumps(step.arguments(self.given))
                function = {"name": OPENCODE_PREFIX + step.tool, "arguments": arguments}
                call = {"index": 0, "id": f"call_{len(self.given)}", "type": "function"}
                delta = {"role": "assistant", "tool_calls": [{**call, "function": function}]}
        chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1}
        chunk |= {"model": asked["model"]}
        yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        ended = {"index": 0, "delta": {}, "finish_reason": "stop"}
        if "tool_calls" in delta:
            ended["finish_reason"] = "tool_calls"
        usage = {"prompt_tokens": self._taken(), "completion_tokens": 1}
        usage |= {"total_tokens": self._taken() + 1}
        yield {**chunk, "choices": [ended], "usage": usage}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _listed(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text_of(content: Any) -> str:
    return "\n".join(block.get("text", "") for block in _listed(content))
