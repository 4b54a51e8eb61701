"""Owns the YAML of chronicle's files: mappings, lists and texts, read and written by PyYAML.

Never follows a tag, an anchor or an alias, and never lets YAML guess what a value is.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from commonplace.core.errors import Invalid
from commonplace.core.text import well_formed

DEEPEST = 8
"""Levels of nesting; an export has four."""

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_HINT = "Export again, or repair that line in the file."
_WIDEST = 2**31 - 1


class LinedMapping(dict[str, Any]):
    """A mapping of YAML that knows the line it begins in."""

    line = 0


class _Container(NamedTuple):
    """A container that is being read.

    Attributes:
        key: Of a mapping's value that comes next.
    """

    container: LinedMapping | list[Any]
    key: list[str]


def parse_yaml(text: str) -> Any:
    """The one document of a YAML text as mappings, lists, texts and None; each value as written.

    So `no` and `2026-01-31` are texts. Raises: Invalid, naming the line.
    """
    import yaml  # type: ignore[import-untyped]

    # The C reader is ten times as fast, and not in every build.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    roots: list[Any] = []
    stack: list[_Container] = []
    try:
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1
            if getattr(event, "anchor", None) or getattr(event, "tag", None):
                raise Invalid(f"Line {line} holds a YAML anchor, alias or tag.", hint=_HINT)
            if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                stack.pop()
            elif isinstance(event, yaml.ScalarEvent):
                null = event.implicit[0] and event.value in _NULL
                _place(roots, stack, None if null else event.value, line)
            elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
                if len(stack) == DEEPEST:
                    raise Invalid(f"Line {line} is nested too deep.", hint=_HINT)
                opened: Any = [] if isinstance(event, yaml.SequenceStartEvent) else LinedMapping()
                _place(roots, stack, opened, line)
                stack.append(_Container(opened, []))
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f"at line {mark.line + 1}" if mark else "for a character it must not hold"
        raise Invalid(f"The YAML cannot be read {where}.", hint=_HINT) from exc
    if len(roots) != 1:
        raise Invalid(f"The YAML holds {len(roots)} documents, not one.", hint=_HINT)
    return roots[0]


def _place(roots: list[Any], stack: list[_Container], value: Any, line: int) -> None:
    """Put a value where the reading stands: a key, a key's value, an item or a document."""
    if isinstance(value, LinedMapping):
        value.line = line
    if not stack:
        roots.append(value)
        return
    container, key = stack[-1]
    if isinstance(container, list):
        container.append(value)
    elif key:
        container[key.pop()] = value
    elif not isinstance(value, str) or value in container:
        raise Invalid(f"Line {line} holds a key twice, or one that is not a text.", hint=_HINT)
    else:
        key.append(value)


def render_yaml(value: dict[str, Any]) -> str:
    """A mapping of texts, lists and mappings, in its order, every text on one line.

    What a reader of YAML 1.1 or 1.2 takes for a number, a time or a truth value is quoted.
    """
    import yaml

    return str(
        yaml.dump(
            value,
            Dumper=_dumper(),
            allow_unicode=True,
            default_flow_style=False,
            sort_keys=False,
            width=_WIDEST,
        )
    )


@cache
def _dumper() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class TextDumper(base):  # type: ignore[misc]
        """Quotes all that is not printable: PyYAML reads its own U+0085 as a line end."""

    def text_node(dumper: Any, text: str) -> Any:
        text = well_formed(text)
        style = None if text.isprintable() else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    TextDumper.add_representer(str, text_node)
    return TextDumper
