"""What retrieval is measured on: owners with docs, and questions with the refs that answer them.

Reads LoCoMo's JSON, journals with questions, and our own sets in other languages; never files, asks
or judges anything.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import render_date
from commonplace.core.errors import Invalid, NotFound
from commonplace.core.text import query_terms, text_hash
from commonplace.core.values import Doc
from commonplace.index.scoring.stems import stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Kind: TypeAlias = Literal["chats", "journals"]

JOURNAL = "bench"
CJK = Path(__file__).with_name("cjk.json")
OTHER_LANGUAGES = Path(__file__).with_name("languages.json")
CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
ANSWERABLE = ("multi-hop", "temporal", "open-domain", "single-hop")
LANGUAGES = {"zh": "Chinese", "ja": "Japanese"}
ASKED_IN = {"de": "German", "fr": "French", "es": "Spanish"}
OVERLAPS = ("shares few words", "shares more")
FEW_SHARED = 1 / 3
MERGED_WORDS = 200

_SESSION = re.compile(r"session_(\d+)")
# Two in one string ("D1:3; D1:4") and a colon too many ("D:11:26") occur; a lone "D" names nothing.
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class Asked(Struct, frozen=True, kw_only=True):
    """A question, and the refs of the entries that answer it.

    kind: its category or language. project: the folder that it is asked from; empty for none.
    ability: what it asks of a memory, where the data says that.
    """

    text: str
    kind: str
    gold: frozenset[str]
    project: str = ""
    ability: str = ""


class Archive(Struct, frozen=True, kw_only=True):
    """An owner's docs, oldest first, and what is asked of them.

    sessions: the session of each ref, known here even where the docs do not tell it.
    """

    name: str
    docs: tuple[Doc, ...]
    asked: tuple[Asked, ...]
    sessions: Mapping[str, str]


class Dataset(Struct, frozen=True, kw_only=True):
    """Archives, and the questions left out because no valid evidence is named: how many a kind."""

    archives: tuple[Archive, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)


def read_data(path: Path) -> tuple[Kind, Dataset]:
    """A file of chats (LoCoMo's shape) or of journals, and which of the two it is.

    Journals are a list of `{name, entries: [{ref, at, journal, scope, text}], questions: [{text,
    gold: [refs]}]}`.

    Raises: NotFound where there is no such file, Invalid where it is in neither shape.
    """
    try:
        raw = json.loads(path.read_text("utf-8"))
    except OSError as exc:
        raise NotFound(
            f"The data is absent: {path} cannot be read ({exc.strerror}).",
            hint="Name LoCoMo's JSON: `make bench-retrieval DATA=<path>`.",
        ) from exc
    except ValueError as exc:
        raise Invalid(f"{path} is not JSON.", hint="Name LoCoMo's own file.") from exc
    skipped: Counter[str] = Counter()
    try:
        if all("entries" in one for one in raw):
            return "journals", Dataset(
                archives=tuple(_journal(one, skipped) for one in raw), skipped=dict(skipped)
            )
        archives = tuple(_conversation(one, skipped) for one in raw)
    except (KeyError, TypeError, ValueError) as exc:
        raise Invalid(
            f"{path} holds neither LoCoMo's chats nor journals: {exc!r}.",
            hint="Name LoCoMo's own file, or journals as docs/retrieval.md describes them.",
        ) from exc
    return "chats", Dataset(archives=archives, skipped=dict(skipped))


def _journal(raw: Mapping[str, Any], skipped: Counter[str]) -> Archive:
    """The entries of a journal, each of which stands alone, and what is asked of them."""
    docs = sorted((_entry(each) for each in raw["entries"]), key=lambda doc: (doc.at, doc.ref))
    texts = {doc.ref: doc.text for doc in docs}
    asked: list[Asked] = []
    for one in raw["questions"]:
        gold = frozenset(one["gold"]) & texts.keys()
        if not gold:
            skipped["journals"] += 1
            continue
        few = max(_shared(one["text"], texts[ref]) for ref in gold) <= FEW_SHARED
        kind = OVERLAPS[0 if few else 1]
        asked.append(Asked(text=one["text"], kind=kind, gold=gold, project=docs[0].scope))
    return _archive(raw["name"], docs, asked)


def _entry(raw: Mapping[str, Any]) -> Doc:
    at = datetime.fromisoformat(raw["at"])
    return Doc(
        ref=raw["ref"],
        journal=raw["journal"],
        scope=raw["scope"],
        at=at,
        dated=render_date(at.date()),
        text=raw["text"],
        stamp=text_hash(raw["text"]),
    )


def _shared(question: str, text: str) -> float:
    """The share of a question's words that stand in a text."""
    asked = {*stems(query_terms(question))}
    return len(asked & {*stems(query_terms(text, limit=10_000))}) / (len(asked) or 1)


def mixed(chats: Sequence[Archive], journals: Sequence[Archive]) -> list[Archive]:
    """Archives that hold a chat and a journal each, asked the questions of both.

    Each journal goes with one chat; kinds tell the questions of the two apart.
    """
    return [together(pair) for pair in zip(chats, journals, strict=False)]


def together(archives: Sequence[Archive]) -> Archive:
    """One archive that holds some, asked the questions of all."""
    return _archive(
        "+".join(each.name for each in archives),
        sorted((doc for each in archives for doc in each.docs), key=lambda doc: (doc.at, doc.ref)),
        [one for each in archives for one in each.asked],
    )


def from_nowhere(archive: Archive) -> Archive:
    """The archive with its questions asked from no project."""
    return replace(archive, asked=tuple(replace(one, project="") for one in archive.asked))


def _conversation(raw: Mapping[str, Any], skipped: Counter[str]) -> Archive:
    name = raw["sample_id"]
    docs = tuple(_turns(name, raw["conversation"]))
    asked: list[Asked] = []
    known = {doc.ref for doc in docs}
    for one in raw["qa"]:
        kind = CATEGORIES[one["category"]]
        gold = frozenset(_evidence(name, one["evidence"])) & known
        if gold:
            ability = one.get("ability", "")
            asked.append(Asked(text=one["question"], kind=kind, gold=gold, ability=ability))
        else:
            skipped[kind] += 1
    return _archive(name, docs, asked)


def _archive(name: str, docs: Sequence[Doc], asked: Sequence[Asked]) -> Archive:
    sessions = {doc.ref: doc.session for doc in docs}
    return Archive(name=name, docs=tuple(docs), asked=tuple(asked), sessions=sessions)


def _turns(name: str, conversation: Mapping[str, Any]) -> Iterator[Doc]:
    """Every turn, oldest first; a session's date without turns is passed over."""
    numbers = sorted(int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key)))
    for number in numbers:
        began = _instant(conversation[f"session_{number}_date_time"])
        for place, turn in enumerate(conversation[f"session_{number}"], start=1):
            yield _doc(
                ref=f"{JOURNAL}:{name}/{turn['dia_id']}",
                scope=name,
                session=f"{JOURNAL}:{name}/session_{number}",
                author=turn["speaker"],
                at=began + timedelta(seconds=place),
                text=_turn_text(turn),
            )


def _doc(*, ref: str, scope: str, session: str, author: str, at: datetime, text: str) -> Doc:
    return Doc(
        ref=ref,
        journal=JOURNAL,
        kind="turn",
        scope=scope,
        session=session,
        author=author,
        at=at,
        dated=render_date(at.date()),
        text=text,
        stamp=text_hash(text),
    )


def _turn_text(turn: Mapping[str, Any]) -> str:
    """What was said, and the caption of a picture that was shown: both were seen by the other.

    The words a picture was sought by (`query`) were seen by nobody, and are left out.
    """
    caption = turn.get("blip_caption")
    return f"{turn['text']} [{caption}]" if caption else turn["text"]


def _instant(told: str) -> datetime:
    """`1:56 pm on 8 May, 2023`; no zone is known, so it counts as UTC."""
    return datetime.strptime(told, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _evidence(name: str, told: Sequence[str]) -> Iterator[str]:
    for each in told:
        for session, turn in _EVIDENCE.findall(each):
            yield f"{JOURNAL}:{name}/D{int(session)}:{int(turn)}"


def merged(archive: Archive) -> Archive:
    """The archive with each session's turns merged into entries of about 200 words.

    A session is cut into pieces of like length, so that none is much shorter than the others.
    """
    home: dict[str, str] = {}
    docs: list[Doc] = []
    for _, session in groupby(archive.docs, key=lambda doc: doc.session):
        for number, piece in enumerate(_pieces(list(session)), start=1):
            whole = _merged_doc(piece, f"{piece[0].session}.{number}")
            docs.append(whole)
            home |= {doc.ref: whole.ref for doc in piece}
    asked = [replace(one, gold=frozenset(home[ref] for ref in one.gold)) for one in archive.asked]
    return _archive(archive.name, docs, asked)


def _pieces(docs: Sequence[Doc]) -> Iterator[list[Doc]]:
    lengths = [len(doc.text.split()) for doc in docs]
    share = sum(lengths) / max(1, round(sum(lengths) / MERGED_WORDS))
    places: list[int] = []
    before = 0
    for length in lengths:
        places.append(int((before + length / 2) // share))
        before += length
    pairs = zip(places, docs, strict=True)
    for _, piece in groupby(pairs, key=lambda pair: pair[0]):
        yield [doc for _, doc in piece]


def _merged_doc(piece: Sequence[Doc], ref: str) -> Doc:
    first = piece[0]
    return _doc(
        ref=ref,
        scope=first.scope,
        session=first.session,
        author="",
        at=first.at,
        text="\n".join(f"{doc.author}: {doc.text}" for doc in piece),
    )


def alone(archive: Archive) -> Archive:
    """The archive with no entry in any session, so that none lends another its context."""
    docs = tuple(replace(doc, session="", stamp=f"{doc.stamp} alone") for doc in archive.docs)
    return replace(archive, docs=docs)


def read_cjk() -> Dataset:
    """Our Chinese and Japanese entries, those of one day a session, all of one owner."""
    raw = json.loads(CJK.read_text("utf-8"))
    docs = [
        _doc(
            ref=f"{JOURNAL}:cjk/{entry['id']}",
            scope=day["language"],
            session=f"{JOURNAL}:cjk/{day['language']}/{day['day']}",
            author="",
            at=datetime.fromisoformat(day["day"]).replace(tzinfo=UTC) + timedelta(seconds=place),
            text=entry["text"],
        )
        for day in raw["days"]
        for place, entry in enumerate(day["entries"], start=1)
    ]
    asked = [
        Asked(
            text=one["question"],
            kind=LANGUAGES[one["language"]],
            gold=frozenset(f"{JOURNAL}:cjk/{ref}" for ref in one["evidence"]),
        )
        for one in raw["questions"]
    ]
    return Dataset(archives=(_archive("cjk", docs, asked),))


class Half(Struct, frozen=True, kw_only=True):
    """English entries with questions in another language: a half to tune on, or to measure with.

    strange: questions that no entry answers.
    """

    label: str
    archive: Archive
    strange: tuple[Asked, ...]


def read_languages() -> list[Half]:
    """Our English entries asked in each other language: of each, the half tuned on, and the rest.

    Every other question, from the first on, was tuned on.
    """
    raw = json.loads(OTHER_LANGUAGES.read_text("utf-8"))
    entries = [
        _entry(
            {
                "ref": f"{JOURNAL}:languages/{each['id']}",
                "at": f"{each['at']}T12:00:00+00:00",
                "journal": JOURNAL,
                "scope": "",
                "text": each["text"],
            }
        )
        for each in raw["entries"]
    ]
    return [
        Half(
            label=f"{name}, {half}",
            archive=_archive(
                "languages",
                entries,
                [
                    Asked(
                        text=one[language],
                        kind=name,
                        gold=frozenset(f"{JOURNAL}:languages/{ref}" for ref in one["evidence"]),
                    )
                    for one in raw["questions"][start::2]
                ],
            ),
            strange=tuple(
                Asked(text=one[language], kind=name, gold=frozenset())
                for one in raw["strange"][start::2]
            ),
        )
        for start, half in enumerate(("tuned on", "measured"))
        for language, name in ASKED_IN.items()
    ]
