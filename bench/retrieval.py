"""`make bench-retrieval`: how well recall finds what answers a question, as tables and as JSON.

Never ships or prints the data it is given, and never ends with an error because a figure is low.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from bench.retrieval_baselines import ask_baselines
from bench.retrieval_data import (
    ANSWERABLE,
    ASKED_IN,
    LANGUAGES,
    OVERLAPS,
    Dataset,
    alone,
    from_nowhere,
    merged,
    mixed,
    read_cjk,
    read_data,
    read_languages,
    together,
)
from bench.retrieval_encoder import ENCODERS, open_encoder
from bench.retrieval_figures import render_archives, render_rows, summed
from bench.retrieval_label import Label, others_questions, own_questions, render_labels
from bench.retrieval_library import Library
from bench.retrieval_now import CASE_PARTS, measure_now, measure_updates
from bench.retrieval_own import OWN_SEARCHES, ask_own
from bench.retrieval_policy import RECALL, grid, overridden
from bench.retrieval_sweep import render_sweep
from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.inference.encoder.profiles import DEFAULT_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.retrieval_data import Archive
    from bench.retrieval_encoder import CachedEncoder
    from bench.retrieval_figures import Outcome, Row
    from bench.retrieval_own import OwnSearch
    from commonplace.search.policy import Policy

RESULTS = Path(__file__).with_name("results")
PARTS = ("turns", "long", "journals", "mixed", "cjk", "languages", "now", "label", "own")
DEFAULT = PARTS[:-1]  # the journals' own searches take minutes, and the timeline's half an hour
OURS = ("cjk", "languages", "now")
"""The parts whose data is our own."""
OVER = {"A": "RRF", "B": "FTS5"}
CONFIGURATIONS = {"A": "A, words and meaning", "B": "B, words alone"}
ABSENT = """The data is absent: LoCoMo is not part of Commonplace (its licence is CC BY-NC 4.0).
Get locomo10.json, or a part of it, from github.com/snap-research/locomo and name it:
  make bench-retrieval DATA=<path>
Our own sets need no data: make bench-retrieval BENCH="--only cjk --only languages --only now"
"""


class Bench(Struct, frozen=True, kw_only=True):
    """What every part measures with. encoder: None where only words are asked for."""

    encoder: CachedEncoder | None
    configurations: Sequence[str]
    policy: Policy
    folder: Path
    searches: Sequence[OwnSearch] = OWN_SEARCHES

    def ask(self, archives: Sequence[Archive], key: str) -> list[Outcome]:
        """File these archives afresh and ask everything, in one configuration."""
        with self.library(archives, key) as library:
            return library.ask(self.policy)

    def library(self, archives: Sequence[Archive], key: str) -> Library:
        """These archives, filed in a folder of their own; key: the configuration."""
        encoder = self.encoder if key == "A" else None
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        return Library(archives, folder=folder, encoder=encoder)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for, print the tables, write the JSON.

    arguments: those of the command line where None. Returns 0, 1 for a failure, 2 for wrong use.
    """
    asked = _options(arguments)
    parts = asked.only or list(DEFAULT)
    if not asked.data and (asked.sweep or not {*OURS}.issuperset(parts)):
        sys.stderr.write(ABSENT)
        return 2
    try:
        _measure(asked, parts)
    except CommonplaceError as exc:
        _say(str(exc))
        return 2 if isinstance(exc, Invalid | NotFound) else 1
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-retrieval", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="LoCoMo's JSON, or journals; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="where the JSON goes")
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        default=Path(tempfile.gettempdir()) / "commonplace-retrieval-cache",
        help="keeps vectors between runs (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=PARTS,
        help="one part; may be repeated (default: all but `own`, the journals' own searches)",
    )
    parser.add_argument(
        "--search",
        action="append",
        choices=tuple(each.name for each in OWN_SEARCHES),
        help="of `own`, one search; may be repeated (default: all)",
    )
    parser.add_argument(
        "--encoder",
        choices=tuple(ENCODERS),
        default=DEFAULT_PROFILE,
        help="what A finds meaning with (default: %(default)s)",
    )
    parser.add_argument(
        "--configuration",
        action="append",
        choices=tuple(CONFIGURATIONS),
        help="A, words and meaning, or B, words alone; both where it is not given",
    )
    parser.add_argument(
        "--policy", nargs="+", default=[], metavar="NAME=VALUE", help="override ranking numbers"
    )
    parser.add_argument(
        "--sweep",
        nargs="+",
        default=[],
        metavar="NAME=V,V",
        help="every combination of these values on the turns, judged held out",
    )
    return parser.parse_args(arguments)


def _measure(asked: argparse.Namespace, parts: Sequence[str]) -> None:
    began = time.monotonic()
    policy = overridden(RECALL, asked.policy)
    policies = dict(grid(policy, asked.sweep)) if asked.sweep else {}
    data = {path: read_data(path) for path in asked.data}
    chats, journals = (_of_kind(data.values(), kind) for kind in ("chats", "journals"))
    configurations = asked.configuration or list(CONFIGURATIONS)
    encoder = open_encoder(asked.encoder, asked.cache) if "A" in configurations else None
    facts: dict[str, Any] = {"policy": to_builtins(policy), "parts": []}
    facts["data"] = [_data_facts(path, dataset) for path, (_, dataset) in data.items()]
    for each in facts["data"]:
        print(_data_line(each))
    with tempfile.TemporaryDirectory(prefix="commonplace-retrieval-") as folder:
        bench = Bench(
            encoder=encoder,
            configurations=configurations,
            policy=policy,
            folder=Path(folder),
            searches=[x for x in OWN_SEARCHES if x.name in (asked.search or [x.name])],
        )
        try:
            if policies:
                _sweep(bench, [*chats, *journals], policies)
                return
            for part in parts:
                facts["parts"] += _part(bench, part, chats, journals)
        finally:
            if encoder is not None:
                encoder.save()
    facts["encoder"] = None if encoder is None else encoder.identity
    facts["seconds"] = round(time.monotonic() - began, 1)
    _write(facts, asked.json)


def _of_kind(data: Iterable[tuple[str, Dataset]], kind: str) -> list[Archive]:
    return [archive for found, dataset in data for archive in dataset.archives if found == kind]


def _part(
    bench: Bench, part: str, chats: Sequence[Archive], journals: Sequence[Archive]
) -> list[dict[str, Any]]:
    """A part for which no data was named measures nothing."""
    made: list[dict[str, Any]] = []
    match part:
        case "turns" if chats:
            made = _turns(bench, chats)
        case "long" if chats:
            made = _long(bench, chats)
        case "journals" if journals:
            made = _journals(bench, journals)
        case "mixed" if chats and journals:
            made = _mixed(bench, chats, journals)
        case "cjk":
            made = _cjk(bench)
        case "now":
            made = _now(bench, chats)
        case "languages":
            made = _languages(bench)
        case "label" if bench.encoder is not None:
            made = [*_label(bench, "chats", chats), *_label(bench, "journals", journals)]
        case "own":
            made = _own(bench, chats, journals)
    return made


def _turns(bench: Bench, archives: Sequence[Archive]) -> list[dict[str, Any]]:
    kinds = [
        ("categories 1-4", ANSWERABLE),
        *((kind, (kind,)) for kind in ANSWERABLE),
        ("adversarial", ("adversarial",)),
    ]
    return _beside_baselines(bench, "turns", archives, kinds)


def _journals(bench: Bench, archives: Sequence[Archive]) -> list[dict[str, Any]]:
    """Entries that stand alone: all together, and by how many words a question shares."""
    kinds = [("all questions", OVERLAPS), *((kind, (kind,)) for kind in OVERLAPS)]
    return _beside_baselines(bench, "journals", archives, kinds)


def _beside_baselines(
    bench: Bench,
    part: str,
    archives: Sequence[Archive],
    kinds: Sequence[tuple[str, Sequence[str]]],
) -> list[dict[str, Any]]:
    """Each configuration, and what comes of the same entries without any judgement of ours."""
    measured = dict(ask_baselines(archives, bench.encoder))
    measured |= {key: bench.ask(archives, key) for key in bench.configurations}
    made = [
        _shown(
            part,
            CONFIGURATIONS.get(name, name),
            [summed(outcomes, label, of) for label, of in kinds],
            outcomes,
        )
        for name, outcomes in measured.items()
    ]
    print(render_archives(measured, OVER, kinds[0][1]), end="\n\n", flush=True)
    return made


def _own(
    bench: Bench, chats: Sequence[Archive], journals: Sequence[Archive]
) -> list[dict[str, Any]]:
    """The search of each journal, and recall over the same entries."""
    made: list[dict[str, Any]] = []
    for search in bench.searches:
        made += _own_search(bench, search, "journals", journals, OVERLAPS)
        made += _own_search(bench, search, "turns", chats if search.turns else (), ANSWERABLE)
    return made


def _own_search(
    bench: Bench,
    search: OwnSearch,
    part: str,
    archives: Sequence[Archive],
    kinds: Sequence[str],
) -> list[dict[str, Any]]:
    if not archives:
        return []
    measured: dict[str, list[Outcome]] = {}
    encoders = [bench.encoder if key == "A" else None for key in bench.configurations]
    for archive in archives:
        _say(f"  {search.name}  {archive.name}")
        with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
            found = ask_own(search, archive, encoders, Path(folder))
            for key, (own, recalled) in zip(bench.configurations, found, strict=True):
                measured.setdefault(key, []).extend(own)
                measured.setdefault(f"recall {key}", []).extend(recalled)
    over = {key: f"recall {key}" for key in bench.configurations}
    print(f"{part}: {search.name}\n{render_archives(measured, over, kinds)}\n", flush=True)
    return [
        _facts(f"own, {part}", f"{search.name}, {name}", [summed(each, part, kinds)], each)
        for name, each in measured.items()
    ]


def _mixed(
    bench: Bench, chats: Sequence[Archive], journals: Sequence[Archive]
) -> list[dict[str, Any]]:
    """A chat and a journal in one memory, beside the same two alone; then all journals in one."""
    pairs, projects = mixed(chats, journals), together(journals)
    count = len(pairs)
    parts = [("alone", [*chats[:count], *journals[:count]]), ("in one memory", pairs)]
    if len(journals) > 1:
        parts += [
            ("all journals in one memory, asked from nowhere", [from_nowhere(projects)]),
            ("all journals in one memory, each asked from its project", [projects]),
        ]
    made: list[dict[str, Any]] = []
    for key in bench.configurations:
        for label, archives in parts:
            outcomes = bench.ask(archives, key)
            rows = [
                summed(outcomes, "chats", ANSWERABLE),
                summed(outcomes, "journals", OVERLAPS),
            ]
            rows = [row for row in rows if row.count]
            made.append(_shown("mixed", f"{CONFIGURATIONS[key]}, {label}", rows, outcomes))
    return made


def _long(bench: Bench, archives: Sequence[Archive]) -> list[dict[str, Any]]:
    """Entries of about 200 words, in their sessions and alone: context must change next to nothing.

    Alone, an entry has no neighbours: everything that comes from context is off, by no switch.
    """
    made: list[dict[str, Any]] = []
    long = [merged(archive) for archive in archives]
    for key in bench.configurations:
        for label, pieces in (
            ("in sessions, kernel on", long),
            ("alone, kernel off", [alone(one) for one in long]),
        ):
            outcomes = bench.ask(pieces, key)
            rows = [
                summed(outcomes, "categories 1-4", ANSWERABLE),
                summed(outcomes, "adversarial", ("adversarial",)),
            ]
            made.append(_shown("long", f"{CONFIGURATIONS[key]}, {label}", rows, outcomes))
    return made


def _cjk(bench: Bench) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    languages = tuple(LANGUAGES.values())
    for key in bench.configurations:
        outcomes = bench.ask(read_cjk().archives, key)
        rows = [summed(outcomes, "both", languages)]
        rows += [summed(outcomes, each, (each,)) for each in languages]
        made.append(_shown("Chinese and Japanese", CONFIGURATIONS[key], rows, outcomes))
    return made


def _now(bench: Bench, chats: Sequence[Archive]) -> list[dict[str, Any]]:
    """Whether a later entry comes before the one whose place it takes, and is named."""
    made: list[dict[str, Any]] = []
    for key in bench.configurations:
        encoder = bench.encoder if key == "A" else None
        for case_part in CASE_PARTS:
            with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
                figures = measure_now(case_part, folder=Path(folder), encoder=encoder)
            print(f"{CONFIGURATIONS[key]}: {figures.line}", flush=True)
            made.append({"part": "now", "configuration": key, **asdict(figures)})
        if chats:
            with bench.library(chats, key) as library:
                asked, first, before = measure_updates(library, bench.policy)
            print(
                f"{CONFIGURATIONS[key]}: of {asked} questions of chats the newest first {first}, "
                f"before the former {before}",
                flush=True,
            )
            chat = {"asked": asked, "first": first, "before": before}
            made.append({"part": "now, chats", "configuration": key, **chat})
    print()
    return made


def _languages(bench: Bench) -> list[dict[str, Any]]:
    """English entries asked in another language, and how often the label calls that weak."""
    halves = read_languages()
    made: list[dict[str, Any]] = []
    for key in bench.configurations:
        rows: list[Row] = []
        outcomes: list[Outcome] = []
        labels: list[Label] = []
        for half in halves:
            with bench.library([half.archive], key) as library:
                found = library.ask(bench.policy)
                answered = library.chances(bench.policy, {half.archive.name: half.archive.asked})
                others = library.chances(bench.policy, {half.archive.name: half.strange})
            outcomes += found
            rows.append(summed(found, half.label, tuple(ASKED_IN.values())))
            if answered and others:
                labels.append(Label.of(half.label, answered, others))
        made.append(_shown("other languages", CONFIGURATIONS[key], rows, outcomes))
        made += _labels("other languages", labels)
    return made


def _label(bench: Bench, kind: str, archives: Sequence[Archive]) -> list[dict[str, Any]]:
    """Each archive asked its own questions, and those of the next one."""
    if len(archives) < 2:  # noqa: PLR2004  nobody is next
        return []
    with bench.library(archives, "A") as library:
        answered = library.chances(bench.policy, own_questions(archives))
        others = library.chances(bench.policy, others_questions(archives))
    return _labels(kind, [Label.of("all", answered, others)])


def _labels(part: str, rows: Sequence[Label]) -> list[dict[str, Any]]:
    if not rows:
        return []
    print(render_labels(f"weak matches: {part}", rows), end="\n\n", flush=True)
    return [{"part": f"weak matches: {part}", "rows": [row._asdict() for row in rows]}]


def _sweep(bench: Bench, archives: Sequence[Archive], policies: dict[str, Policy]) -> None:
    for key in bench.configurations:
        with bench.library(archives, key) as library:
            measured = {}
            for label, policy in policies.items():
                measured[label] = library.ask(policy)
                _say(f"  {key}  {label}")
        print(render_sweep(CONFIGURATIONS[key], measured), end="\n\n")


def _shown(
    part: str, label: str, rows: Sequence[Row], outcomes: Sequence[Outcome]
) -> dict[str, Any]:
    """Print a table; the same as JSON holds it."""
    print(render_rows(f"{part}: {label}", rows), end="\n\n", flush=True)
    return _facts(part, label, rows, outcomes)


def _facts(
    part: str, label: str, rows: Sequence[Row], outcomes: Sequence[Outcome]
) -> dict[str, Any]:
    return {
        "part": part,
        "configuration": label,
        "folded": sum(one.folded for one in outcomes),
        "rows": [row.facts() for row in rows],
    }


def _data_facts(path: Path, dataset: Dataset) -> dict[str, Any]:
    return {
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "conversations": len(dataset.archives),
        "entries": sum(len(archive.docs) for archive in dataset.archives),
        "questions": sum(len(archive.asked) for archive in dataset.archives),
        "skipped": dict(dataset.skipped),
    }


def _data_line(data: dict[str, Any]) -> str:
    skipped = ", ".join(f"{count} {kind}" for kind, count in data["skipped"].items()) or "none"
    return (
        f"{data['conversations']} conversations, {data['entries']:,} entries, "
        f"{data['questions']:,} questions (without valid evidence, left out: {skipped})\n"
        f"sha256 {data['sha256']}\n"
    )


def _write(facts: dict[str, Any], path: Path | None) -> None:
    now = datetime.now(UTC)
    path = path or RESULTS / f"retrieval-{now:%Y%m%dT%H%M%SZ}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    facts |= {"at": now.isoformat(timespec="seconds"), "python": platform.python_version()}
    path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    _say(f"Written to {path}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
