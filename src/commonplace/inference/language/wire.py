"""The two shapes in which language models are asked over HTTP: OpenAI's chat, Anthropic's messages.

Pure: makes bodies and headers, reads answers. Never sends anything, and never shows a key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from commonplace.core.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.core.redact import Screen
    from commonplace.core.values import Question

Shape: TypeAlias = Literal["openai", "anthropic"]

ANTHROPIC_VERSION = "2023-06-01"

# What servers say of an answer that is not all there; of one that is they say many things.
_CUT = ("length", "max_tokens", "content_filter")
_NAMING = ("role", "type")
_BYTES_A_TOKEN = 3
_THOUGHT = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_NAME = re.compile(r"[a-z][a-z0-9_]{1,60}")


class Said(Struct, frozen=True, kw_only=True):
    """An answer as the server gave it: text may be blank, and nothing of it is to be trusted.

    tokens: None where the server gives none. size: bytes of all that the model wrote, its thoughts
    too.
    """

    text: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
    size: int
    whole: bool


class OpenAIWire:
    """Chat completions, as OpenAI, Ollama, llama.cpp, vLLM, LM Studio, OpenRouter speak them."""

    def path(self, base: str) -> str:
        """Where questions go: below the base, such as `https://api.openai.com/v1`."""
        return f"{base}/chat/completions"

    def models_path(self, base: str) -> str:
        """Where models are listed, which costs nothing."""
        return f"{base}/models"

    def headers(self, key: str) -> dict[str, str]:
        """The key as a bearer's token."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, question: Question, model: str, screen: Screen) -> dict[str, Any]:
        """One system and one user message, with the passages fenced and without their secrets."""
        return {
            "model": model,
            "max_tokens": question.max_tokens,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": screen.safe_input(question)},
            ],
        }

    def read(self, answer: Any) -> Said:
        """The first choice; thoughts that some servers leave before the answer are no answer.

        Raises: Unavailable where it is no answer of this shape.
        """
        choices = _object(answer).get("choices")
        choice = _object(choices[0] if isinstance(choices, list) and choices else None)
        usage = _maybe_object(_object(answer).get("usage"))
        message = _object(choice.get("message"))
        text = _joined(message.get("content"))
        return Said(
            text=_THOUGHT.sub("", text, count=1) if text.lstrip().startswith("<think>") else text,
            model=_name(answer),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            size=_size(message),
            whole=choice.get("finish_reason") not in _CUT,
        )


class AnthropicWire:
    """Messages, as Anthropic speaks them."""

    def path(self, base: str) -> str:
        """Below the base, with or without its version: `https://api.anthropic.com`."""
        return f"{base.removesuffix('/v1')}/v1/messages"

    def models_path(self, base: str) -> str:
        """Likewise."""
        return f"{base.removesuffix('/v1')}/v1/models"

    def headers(self, key: str) -> dict[str, str]:
        """The key in its own header."""
        named = {"anthropic-version": ANTHROPIC_VERSION}
        return {**named, "x-api-key": key} if key else named

    def body(self, question: Question, model: str, screen: Screen) -> dict[str, Any]:
        """The instructions as the system's, the passages as the user's."""
        return {
            "model": model,
            "max_tokens": question.max_tokens,
            "system": question.instructions,
            "messages": [{"role": "user", "content": screen.safe_input(question)}],
        }

    def read(self, answer: Any) -> Said:
        """The text blocks, in a row."""
        found = _object(answer)
        usage = _maybe_object(found.get("usage"))
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        tokens_in = _count(usage.get("input_tokens"))
        if tokens_in is not None:
            tokens_in += sum(_count(usage.get(name)) or 0 for name in cached)
        return Said(
            text=_joined(found.get("content")),
            model=_name(answer),
            tokens_in=tokens_in,
            tokens_out=_count(usage.get("output_tokens")),
            size=_size(found.get("content")),
            whole=found.get("stop_reason") in ("end_turn", "stop_sequence"),
        )


WIRES: Mapping[Shape, OpenAIWire | AnthropicWire] = {
    "openai": OpenAIWire(),
    "anthropic": AnthropicWire(),
}


def estimated_tokens(size: int) -> int:
    """Tokens in so many bytes of UTF-8: in most languages more than there are."""
    return -(-size // _BYTES_A_TOKEN)


def error_kind(answer: Any) -> str:
    """The kind of an error that a server names, such as `model_not_found`; empty for none.

    Only a plain word: a message may hold what was asked.
    """
    error = answer.get("error") if isinstance(answer, dict) else None
    named = [error.get(name) for name in ("code", "type")] if isinstance(error, dict) else []
    return next((x for x in named if isinstance(x, str) and _NAME.fullmatch(x)), "")


def error_argument(answer: Any) -> str:
    """The argument that a server complains of; empty for none."""
    error = answer.get("error") if isinstance(answer, dict) else None
    named = error.get("param") if isinstance(error, dict) else None
    return named if isinstance(named, str) else ""


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise Unavailable(
            "The answer of the LLM has another shape.",
            hint="Check llm.shape and llm.url.",
        )
    return found


def _maybe_object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _joined(content: Any) -> str:
    """Text as it is, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _size(found: Any) -> int:
    """The bytes of every text in it, however deep it lies, without those that name its parts."""
    size, left = 0, [found]
    while left:
        each = left.pop()
        if isinstance(each, str):
            size += len(each.encode("utf-8", "replace"))
        elif isinstance(each, dict):
            left += [each[key] for key in each if key not in _NAMING]
        elif isinstance(each, list):
            left += each
    return size


def _name(answer: dict[str, Any]) -> str:
    """The model as the answer names it."""
    name = answer.get("model")
    return name if isinstance(name, str) else ""


def _count(found: Any) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
