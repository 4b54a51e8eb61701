"""A tool: a typed function in words for a model, its schema, and the one way to call it.

Knows no SDK and no terminal: a door takes the schema, hands over raw arguments, shows the answer.
"""

from __future__ import annotations

import inspect
import json
from contextlib import nullcontext
from functools import cache, cached_property, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Invalid, retried
from commonplace.core.redact import mapped_texts, noting_secrets
from commonplace.core.text import counted, opening
from commonplace.verbs.answers import either, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from commonplace.core.ports import Language
    from commonplace.core.values import Answer

_NULL_WORDS = ("null", ["null"], '["null"]')

SAMPLER = "sampler"
"""The parameter in which a door hands in the client's own model."""


ENDS = "ends"
"""The parameter in which a write that keeps the end of an entry itself is handed it."""

_NAMES = frozenset({"ref", "supersedes", "id", "path", "section", "tags", "project", "when"})
"""The arguments that name what is there, which may be known by what an answer showed of it."""

LONGEST_LIST = 20_000
"""The most characters of all texts of a list, each with one for what separates it from the next:
twice what the tags of an entry may have."""

EXPIRES = "expires"
"""The argument that says when what a tool writes is to be forgotten."""


class Arg(Struct, frozen=True):
    """What an argument means to a model, and the range it must lie in (both ends included)."""

    text: str
    least: float | None = None
    most: float | None = None


_EXPIRES = inspect.Parameter(
    EXPIRES,
    inspect.Parameter.KEYWORD_ONLY,
    default="",
    annotation=Annotated[str, Arg("Forget it then: 'in 30 days'.")],
)


class Effects(Struct, frozen=True, kw_only=True):
    """What calling a tool does to the world, as hosts ask before they allow it."""

    writes: bool = False
    destroys: bool = False
    repeatable: bool = True


class Tool(Struct, frozen=True, kw_only=True, dict=True):
    """One function offered to a model: its name, title and docstring are what the model reads.

    Every parameter is `Annotated[type, Arg(...)]` and has a default unless it is required; where
    the default is a setting's, the type is `type | None` and the default None. A parameter named
    `sampler` is no argument: a door hands in the client's own model there, where it has one. Of a
    tool that `may_expire` the argument `expires` is no parameter: `expiring` is called with it. The
    instant that it names is handed in where there is a parameter named `ends`, no argument either.

    Attributes:
        run: What is called: a function, or a method of what `opens` gives.
        title: For people.
        effects: What calling it does.
        aliases: Other names under which a call is answered; none of them is listed.
        twin_of: The tool that does the same beside the default tools, where there is one.
        listed: Whether a client is shown it; it can be called in any case.
        about: The journals it is about, before what its docstring says; empty where that says it.
        quotes: Whether its text holds stored text outside a fence; see `Answer.quoted_by`.
        is_json: Whether its text is its facts as JSON and nothing else, as some clients read it.
        is_short: Whether it waits for nothing but an encoder, so that all it asks of a database may
            share a transaction.
        together: Has what a short tool asks, and what is asked before it, share a transaction.
        before: Called before each run; the notes that it gives are added to the answer.
        names_behind: Reads a name as it was shown, with marks for secrets, as the name itself.
        opens: Gives the object that `run` is a method of, its journal opened; None for a function.
        view: The address of the page that shows its result in a chat; empty for none.
        may_expire: Whether what it writes may be given a time at which it is forgotten.
        expiring: Runs a write, given the time in words at which its result is forgotten; it calls
            the write with the instant that they name.
    """

    run: Callable[..., Answer]
    title: str
    effects: Effects = Effects()
    aliases: tuple[str, ...] = ()
    twin_of: str = ""
    listed: bool = True
    about: str = ""
    quotes: bool = False
    is_json: bool = False
    is_short: bool = False
    together: Callable[[], AbstractContextManager[None]] | None = None
    before: Callable[[], Sequence[str]] | None = None
    names_behind: Callable[[str], str] | None = None
    opens: Callable[[], object] | None = None
    view: str = ""
    may_expire: bool = False
    expiring: Callable[[str, Callable[[datetime], Answer]], Answer] | None = None

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """The function's docstring: what it does, when to use it, what comes back."""
        said = inspect.cleandoc(self.run.__doc__ or "")
        return f"{self.about}: {said[:1].lower()}{said[1:]}" if self.about else said

    @property
    def samples(self) -> bool:
        """Whether it may ask the client's own model."""
        return SAMPLER in signature_of(self.run)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, derived from the signature."""
        described: dict[str, Any] = {}
        required = []
        for name, parameter in self._parameters.items():
            described[name] = _schema(parameter.annotation)
            if parameter.default is inspect.Parameter.empty:
                required.append(name)
            # A default that is empty says nothing that an absent one does not.
            elif parameter.default not in ("", [], {}, None):
                described[name]["default"] = parameter.default
        schema: dict[str, Any] = {"type": "object", "properties": described}
        return {**schema, "required": required} if required else schema

    def without_null_words(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a model's client sent, less the optional arguments that are the word `null`.

        Some clients write null as a text, in a list as `["null"]` (anthropics/claude-code#95239).
        An argument that is required cannot be null, so that the word is what was meant there, as in
        a list with more in it or inside of an object. For the doors of models: a person who
        types the word at a terminal means it.
        """
        optional = {x for x, y in self._parameters.items() if y.default is not y.empty}
        return {x: y for x, y in arguments.items() if x not in optional or y not in _NULL_WORDS}

    def call(
        self,
        arguments: Mapping[str, Any],
        *,
        sampler: Language | None = None,
        ends: datetime | None = None,
    ) -> Answer:
        """Check raw arguments against the signature, then run; notes say what a write left out.

        Null is an absent argument; a list or an object that arrives as JSON text is read as one.
        What only reads runs once more where the connection to a database broke.

        Args:
            arguments: As a client sent them, by name.
            sampler: The client's own model, for a tool that samples.
            ends: When what it writes expires, for a tool that keeps that itself.

        Raises:
            Invalid: Names the argument, its value and what fits.
        """

        def once() -> Answer:
            with nullcontext() if self.together is None else self.together():
                return self._called(arguments, sampler, ends)

        return once() if self.effects.writes else retried(once)

    def _called(
        self, arguments: Mapping[str, Any], sampler: Language | None, ends: datetime | None
    ) -> Answer:
        more: dict[str, Any] = {SAMPLER: sampler} if self.samples else {}
        if ends is not None:
            more |= self._handed(ends)
        given = {name: value for name, value in arguments.items() if value is not None}
        parameters = self._parameters
        if unknown := [name for name in given if name not in parameters]:
            message = f"Unknown argument of {self.name}: {unknown[0]!r}."
            raise unknown_name(message, unknown[0], list(parameters))
        # First: files may move into a database, of which what is asked before holds a connection.
        opened = () if self.opens is None else (self.opens(),)
        notes = () if self.before is None else self.before()
        with noting_secrets() as left_out:
            checked = self._checked(given)
            expires = checked.pop(EXPIRES, "")
            run = partial(self.run, *opened, **checked, **more)
            answer = (
                self.expiring(expires, lambda at: run(**self._handed(at)))
                if self.expiring and expires.strip()
                else run()
            )
        quoted_by = self.name if self.quotes else ""
        return answer.noting([*left_out.notes, *notes], quoted_by=quoted_by)

    def _handed(self, ends: datetime) -> dict[str, Any]:
        """The end of what is written, for a function that keeps it; else nothing."""
        return {ENDS: ends} if ENDS in signature_of(self.run) else {}

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every argument of the signature, checked, with the names that marks stand for."""
        checked = {}
        for name, parameter in self._parameters.items():
            if name not in given:
                if parameter.default is parameter.empty:
                    raise Invalid(f"Missing argument of {self.name}: {name}.", hint=f"Give {name}.")
                checked[name] = parameter.default
                continue
            kind, arg = annotated(parameter.annotation)
            value = given[name]
            if get_origin(kind) is list:
                _refuse_long(name, value)
            if name in _NAMES and self.names_behind is not None:
                value = mapped_texts(value, self.names_behind)
            try:
                checked[name] = _converted(kind, arg, value)
            except _Unfit as exc:
                shown = opening(repr(exc.value), 60, "…")  # one line of a terminal
                raise Invalid(f"Invalid {name}: {shown}.", hint=_fitting(kind, arg)) from exc
        return checked

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        """Its arguments by name, those that are handed in left out."""
        found = {
            x: y for x, y in signature_of(self.run).items() if x not in {"self", SAMPLER, ENDS}
        }
        return found | ({EXPIRES: _EXPIRES} if self.may_expire and self.expiring else {})


@cache
def signature_of(run: Callable[..., Answer]) -> dict[str, inspect.Parameter]:
    """The parameters of a function, their types read."""
    hints = get_type_hints(run, include_extras=True)
    return {
        name: each.replace(annotation=hints.get(name))
        for name, each in inspect.signature(run).parameters.items()
    }


def annotated(hint: Any) -> tuple[Any, Arg]:
    """The type of a parameter, less None, which an argument never is, and what it means."""
    kind, arg = get_args(hint)
    if isinstance(kind, UnionType):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    return kind, arg


def _fitting(kind: Any, arg: Arg) -> str:
    """The hint that says what an argument of this kind takes."""
    if get_origin(kind) is list:
        return "Use a list of texts."
    if get_origin(kind) is dict:
        return "Use an object."
    if choices := get_args(kind):
        return f"Use {either([str(c) for c in choices])}."
    if arg.least is not None and arg.most is not None:
        return f"Use {arg.least} to {arg.most}."
    return {str: "Use text.", bool: "Use true or false."}.get(kind, "Use a number.")


def _schema(hint: Any) -> dict[str, Any]:
    """The JSON schema of one argument."""
    kind, arg = annotated(hint)
    meta = msgspec.Meta(description=arg.text, ge=arg.least, le=arg.most)
    schema = msgspec.json.schema(Annotated[kind, meta])
    if get_origin(kind) is Literal:  # in the signature's order, with the type that some hosts want
        schema |= {"enum": [*get_args(kind)], "type": "string"}
    return {key: schema[key] for key in sorted(schema)}


class _Unfit(Exception):
    """A value that is not of the type of its parameter."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


def _converted(kind: Any, arg: Arg, value: Any) -> Any:
    """A value as a type, as hosts mean it that send numbers, lists or objects as text.

    Raises:
        _Unfit: With what does not fit.
    """
    if get_origin(kind) is list:
        return [_converted(str, arg, each) for each in _listed(value)]
    if get_origin(kind) is dict:
        value = _object(value)
    elif kind in (int, float) and type(value) is bool:
        raise _Unfit(value)
    ranged = Annotated[kind, msgspec.Meta(ge=arg.least, le=arg.most)]
    try:
        return msgspec.convert(value, ranged, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as exc:  # half a character is no choice
        raise _Unfit(value) from exc


def _refuse_long(name: str, value: Any) -> None:
    """Refuse a list that no caller can mean, before anything is done for each text in it.

    One of half a million headings took a search 3.2 s of a processor. Raises: Invalid.
    """
    texts = value if isinstance(value, list) else [value]
    size = sum(len(each) + 1 if isinstance(each, str) else 1 for each in texts)
    if size > LONGEST_LIST:
        raise Invalid(
            f"Invalid {name}: {counted(len(texts), 'text', 'texts')} of {size:,} characters"
            " with the separators.",
            hint=f"Use at most {LONGEST_LIST:,} characters in all.",
        )


def _listed(value: Any) -> list[Any]:
    """A list as it came, as JSON text or as its one item."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        return parsed if isinstance(parsed, list) else [value]
    if not isinstance(value, list):
        raise _Unfit(value)
    return value


def _object(value: Any) -> Any:
    """An object as it came or as JSON text; blank text is an empty one."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else {}
    except (ValueError, RecursionError):
        return value


class Resource(Struct, frozen=True, kw_only=True):
    """A page that a host may fetch by its address; `read` makes its text at each call."""

    uri: str
    title: str
    description: str
    media_type: str
    read: Callable[[], str]


class Prompt(Struct, frozen=True, kw_only=True):
    """A text that a host offers its user to begin with; `write` makes it at each call."""

    name: str
    title: str
    description: str
    write: Callable[[], str]


class Toolset(Struct, frozen=True, kw_only=True):
    """The tools of one journal, with its resources and prompts, offered or left out as a whole.

    Attributes:
        name: As settings and tokens name it.
        guide: When a model should search; part of the instructions.
        writing_guide: When it should write; the same, where it may.
        tools: All that can be called, in the order of the list.
        resources: Pages that a host may fetch.
        prompts: Texts that a host offers its user.
    """

    name: str
    guide: str
    tools: tuple[Tool, ...]
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    writing_guide: str = ""

    @property
    def instructions(self) -> str:
        """What a client gives its model at the start of a session."""
        return "\n\n".join(filter(None, (self.guide, self.writing_guide)))

    def tool(self, name: str) -> Tool:
        """The tool of this name, which must be one of them."""
        return next(tool for tool in self.tools if tool.name == name)

    def of(self, opens: Callable[[], object]) -> Toolset:
        """The same toolset, its tools methods of what this function gives at each call."""
        return replace(self, tools=tuple(replace(tool, opens=opens) for tool in self.tools))

    def prepared(
        self,
        *,
        together: Callable[[], AbstractContextManager[None]],
        before: Callable[[], Sequence[str]],
        before_writes: Callable[[], Sequence[str]],
        names_behind: Callable[[str], str],
        expiring: Callable[[str, Callable[[datetime], Answer]], Answer],
    ) -> Toolset:
        """The same toolset, with what an app does around each of its tools; see `Tool`.

        Args:
            together: Around each tool that is short; see `Tool`.
            before: Called before each tool that reads, and before a resource is read, which has no
                room for the notes that it gives.
            before_writes: Called before a tool that writes.
            names_behind: Reads names with marks in them.
            expiring: Runs the writes that expire.
        """

        def tool(each: Tool) -> Tool:
            first = before_writes if each.effects.writes else before
            given = {"names_behind": names_behind, "expiring": expiring}
            return replace(
                each, before=first, together=together if each.is_short else None, **given
            )

        def resource(each: Resource) -> Resource:
            def read() -> str:
                before()
                return each.read()

            return replace(each, read=read)

        return replace(
            self,
            tools=tuple(map(tool, self.tools)),
            resources=tuple(map(resource, self.resources)),
        )

    def read_only(self) -> Toolset:
        """The same without the tools that write, and without a word on them."""
        kept = tuple(tool for tool in self.tools if not tool.effects.writes)
        return replace(self, tools=kept, writing_guide="")
