"""Probes of what is another's: names of things that are there, and of twins that never were.

A twin differs from a name in one character. A user who may not see a thing is answered the same for
both, but for that character. Probes are made from the schemas of tools and from the table of pages,
so that a new tool and a new page are probed by themselves.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import commonplace.doors.web
from commonplace.doors.web.table import PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from random import Random

HERE = "\x00"
"""Stands in the arguments of a probe for what it asks for."""

OWN = tuple(chr(x) for x in range(1, 9))
"""Stand there for what the user who asks has of their own: each for another thing."""

SECRET = re.compile(r"z[ui][a-z]+rok")
"""The words that victims alone write, and their twins."""

_TIMES = ("2020-10", "2020-10-07", "2020-10-07 14:00", "today", "last year")
_OF_TIME = frozenset("when as_of at since until start end timeframe expires".split())
_OTHERS = ("0123456789", "abcdef", "aeiou", "ghjklmnpqrstvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

FORMS: tuple[Callable[[str], str], ...] = (
    *(
        form.format
        for form in (
            *("{0}", "{0} quokka", '"{0}"', "{0}*", "*{0}*", "%{0}%", "{0}#1", "#{0}", "@{0}"),
            *("' OR '1'='1' -- {0}", "x') UNION SELECT body FROM cp_entries -- {0}", "NOT {0}"),
            *("quokka OR {0}", "text:{0}", "NEAR(quokka {0})", "quokka -{0}", "^{0}", "{0}~1"),
            *("../ann/{0}", "users/ann/{0}", "/srv/users/ann/private/{0}.md", "file:///{0}"),
            *("ann:{0}", "space:team:{0}", "{0}@ann", "{0}\u200b", "../../{0}", "%2e%2e/{0}"),
            *("memory:todo/{0}", "chronicle:{0}", "timeline:{0}", "notebook:{0}", "private:{0}"),
            *("transcripts:{0}", "private:user/{0}", "notebook:travel/{0}", "{0}/quokka", " {0} "),
        )
    ),
    lambda name: name[-8:],
    lambda name: name[: len(name) * 3 // 4],
    str.upper,
    lambda name: name.partition(":")[2] or name,
    lambda name: name.rpartition("/")[2],
    lambda name: name.rpartition("#")[2],
    lambda name: "".join(f"%{byte:02x}" for byte in name.encode()[:18]) + name[18:],
)
"""How a name is written: as it is, as a text of SQL, of a search, of a path, shortened, with more."""


class Name(NamedTuple):
    """What something of a victim is called, and what nothing ever was."""

    real: str
    twin: str


def name_of(real: str, *, at: float) -> Name:
    """A name and its twin; at: where they differ, as a part of the length."""
    if found := SECRET.search(real):
        place = found.start() + 1
    else:
        there = [x for x, char in enumerate(real) if char.isascii() and char.isalnum()]
        place = there[min(int(len(there) * at), len(there) - 1)]
    kind = next(x for x in _OTHERS if real[place] in x)
    other = kind[(kind.index(real[place]) + 1) % len(kind)]
    return Name(real, f"{real[:place]}{other}{real[place + 1 :]}")


def shape_of(name: Name) -> str:
    """What names have alike that an answer may tell from each other by their form alone."""
    return re.sub(r"[0-9a-f]", "0", SECRET.sub("WORD", name.real))


_BEFORE = 8
"""How many characters before a difference tell it from what is like it by chance."""


@cache
def _difference(asked: Name) -> tuple[re.Pattern[str], str]:
    """Finds where two texts differ, with a little before and after it; what the first has there.

    All else of them is the same, so that an answer may show any part of them.
    """
    pairs = [*zip(asked.real, asked.twin, strict=True)]
    places = [x for x, (a, b) in enumerate(pairs) if a != b]
    first, last = max(places[0] - _BEFORE, 0), places[-1]
    until = [
        re.escape(a) if a == b else f"[{re.escape(a + b)}]" for a, b in pairs[first : last + 1]
    ]
    after = [re.escape(x) for x in asked.real[last + 1 : last + 4]]
    # Where little stands before it, all that comes after must be there.
    is_short = places[0] < _BEFORE // 2
    more = "".join(after if is_short else [f"(?:{x}" for x in after])
    pattern = f"{''.join(until)}{more}{'' if is_short else ')?' * len(after)}"
    return re.compile(pattern, re.IGNORECASE), asked.real[first : last + 4]


_OF_AN_ANSWER = (
    # What is made for one answer alone: refs and ids of what was written, times, forms' own keys.
    (re.compile(r"(?:memory|chronicle|private|timeline|notebook):[^\s\"\\)\]>,&<]+"), "<ref>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "<id>"),
    (re.compile(r"(?!2020)20\d\d-\d\d-\d\d(?:[T ][\d:.]+)?(?:Z|[+-]\d\d:\d\d)?"), "<now>"),
    (re.compile(r"\b\d\d[:-]\d\d(?:[:-]\d\d(?:[.-]\d+)?)?\b"), "<now>"),
    (re.compile(r'"duration_ms": ?[\d.]+'), "<now>"),
    # Said now and then, to the user who writes next.
    (re.compile(r'(?:\\n)*Note: Not found by meaning yet[^"]*'), ""),
    (re.compile(r'(?:, )?"Not found by meaning yet[^"]*"(?:, (?="))?'), ""),
    # Of what its own user wrote: of another's the secret would stand in it.
    (re.compile(r'(?:, )?"May replace .*?to settle\."(?:, (?="))?'), ""),
    (re.compile(r"(?:\\n)*Note: May replace .*?to settle\."), ""),
    # How many entries there are, of which a background task makes some.
    (re.compile(r"<small>\d+</small>"), ""),
    (re.compile(r"z[ua](?=[a-z]+rok)", re.IGNORECASE), "zu"),
    (re.compile(r'name="(?:once|at|csrf)" value="[^"]*"'), "<own>"),
)


class Heard(NamedTuple):
    """What a door answered: its status, and all of its text, as it is read."""

    status: int
    text: str

    def plain(self, asked: Iterable[Name]) -> str:
        """What is told beside what was asked, and beside what no two answers have alike."""
        text = self.text
        for each in asked:
            pattern, real = _difference(each)
            text = pattern.sub(lambda found, real=real: real[: len(found[0])], text)
        for pattern, instead in _OF_AN_ANSWER:
            text = pattern.sub(instead, text)
        return f"{self.status} {text}".lower()


class Probe(NamedTuple):
    """One thing to ask a door.

    Attributes:
        door: Which.
        what: The tool or the page.
        field: The argument that asks for the other's thing.
        given: All arguments, HERE where the thing stands.
        writes: Whether it may change something.
    """

    door: str
    what: str
    field: str
    given: Mapping[str, Any]
    writes: bool

    def of(self, text: str, own: Sequence[str]) -> dict[str, Any]:
        """The arguments that ask for this, by a user who has these."""
        return _put(self.given, dict(zip((HERE, *OWN), (text, *own), strict=True)))


def _put(value: Any, meant: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return "".join(meant.get(x, x) for x in value)
    if isinstance(value, dict):
        return {_put(key, meant): _put(each, meant) for key, each in value.items()}
    return [_put(each, meant) for each in value] if isinstance(value, list) else value


def probes_of_tools(door: str, tools: Mapping[str, Any], chance: Random) -> Iterator[Probe]:
    """One probe for each argument of each tool that takes a text, the other arguments by chance.

    tools: the schema of the arguments by name, and whether it writes, as OpenAPI has them.
    """
    for tool, (schema, writes) in tools.items():
        fields = schema["properties"]
        for field, kind in fields.items():
            attack = _attack(kind, chance)
            if attack is None:
                continue
            more = {x for x in fields if chance.random() < chance.choice((0, 0, 0.3))}
            # A key that is the same for both would make the second call a repetition.
            asked = {*schema.get("required", ())} | more - {"idempotency_key"}
            given = {x: _usual(x, fields[x], chance) for x in sorted(asked - {field})}
            yield Probe(door, tool, field, {**given, field: attack}, writes)


def _attack(kind: Mapping[str, Any], chance: Random) -> Any:
    """What an argument of this kind is given to ask for something; None where it takes no text."""
    match kind.get("type"):
        case "string" if "enum" not in kind:
            return HERE
        case "array":
            return chance.choice(([HERE], ["quokka", HERE]))
        case "object":
            keys = ("user_id", "owner", "projects", "kind", "scope", "thread_id", HERE)
            return {chance.choice(keys): chance.choice((HERE, [HERE]))}
    return None


def _usual(name: str, kind: Mapping[str, Any], chance: Random) -> Any:
    """A value of this kind that asks for nothing of anybody else."""
    if "enum" in kind:
        return chance.choice(kind["enum"])
    values = {
        "string": _TIMES if name in _OF_TIME else OWN,
        "array": [[x] for x in OWN],
        "integer": (kind.get("minimum", 0), kind.get("maximum", 100), 20),
        "number": (0, kind.get("minimum", 0)),
        "boolean": (True, False),
    }
    return chance.choice(values.get(kind.get("type"), ({},)))


def _fields_of_pages() -> tuple[str, ...]:
    """What any page reads of its address or of a form."""
    folder = Path(commonplace.doors.web.__file__).parent
    asked = re.compile(r"visit\.(?:value|values|number|query\.get|form\.get)\(\s*\"(\w+)\"")
    named = re.compile(r"\bname=\"([a-z_]+)\"")
    texts = [file.read_text("utf-8") for file in folder.rglob("*.py")]
    forms = [file.read_text("utf-8") for file in folder.rglob("*.html")]
    found = {x for each in texts for x in asked.findall(each)}
    found |= {x for each in forms for x in named.findall(each)}
    return tuple(sorted(found - {"csrf", "viewport"}))


FIELDS = _fields_of_pages()
_OF_A_PATH = re.compile(r"\{(\w+)\}")


def probes_of_pages(chance: Random) -> Iterator[Probe]:
    """One probe of each page, by a field that chance chooses, or by the name in its address."""
    for row in PAGES:
        inside = _OF_A_PATH.search(row.path)
        field = chance.choice((*FIELDS, "ref", "q", "path", "name")) if not inside else inside[1]
        others = chance.sample(FIELDS, chance.choice((0, 0, 1, 3)))
        given = {x: chance.choice((*OWN, *_TIMES, "1")) for x in others}
        if chance.random() < 0.5:
            given["ref"] = chance.choice(OWN)
        yield Probe(
            "form" if row.writes else "page", row.name, field, {**given, field: HERE}, row.writes
        )
