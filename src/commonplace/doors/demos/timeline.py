"""The timeline's demo: a year of work in a temporary home, and the way from the year to one entry.

Never touches the journals, the index or the settings of the user, and asks no model.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.clock import from_local
from commonplace.journals.timeline.entry import TimelineDraft
from commonplace.verbs.timeline.amend import TimelineAmender
from commonplace.verbs.timeline.commands import TimelineCommands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

    from commonplace.core.values import Answer
    from commonplace.verbs.timeline.service import TimelineService

Say: TypeAlias = "Callable[[str, str], None]"

YEAR = 2025
NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
"""The clock of the demo: the Monday after its year, whenever it is run."""

DECISION = "Decided to move bookings from Postgres to SQLite: one file, and backups are a copy."
_DECIDED_AT = datetime(YEAR, 10, 7, 14, 5)  # noqa: DTZ001  on the wall of the demo's own zone
_AN_HOUR = (
    (-4, "measure", "Measured the nightly dump of bookings: 41 minutes."),
    (0, "decide", DECISION),
    (27, "build", "Wrote the first migration of bookings to SQLite."),
)
_PROJECTS = (
    ("harbour site", "winter", ("layout", "opening hours", "map of the piers", "photo gallery")),
    ("bookings", "all year", ("calendar", "invoice", "waiting list", "reminder mail")),
    ("boat sensors", "summer", ("tide gauge", "battery alarm", "radio link", "water leak test")),
    ("newsletter", "all year", ("sign-up form", "archive", "spring issue", "mailing list")),
)
_DONE = (
    ("fix", "Fixed the {thing} after a report from a guest."),
    ("build", "Built a first version of the {thing} and showed it around."),
    ("review", "Reviewed the {thing} and noted three things to change."),
    ("plan", "Planned the {thing} with the harbour master."),
    ("ship", "Shipped the {thing}; no complaint so far."),
    ("test", "Tested the {thing} on a slow phone."),
)
_MONTHS = {"winter": {1, 2, 3, 11, 12}, "summer": {5, 6, 7, 8, 9}, "all year": set(range(1, 13))}


def run(say: Say) -> None:
    """Simulate the year, then go from the year to one entry."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-timeline-"))
    try:
        _tour(home, say)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _tour(home: Path, say: Say) -> None:
    (home / "no weights").mkdir()
    environ = {
        "COMMONPLACE_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),  # not the user's settings: retention, say
        "COMMONPLACE_TIMEZONE": "Europe/Berlin",
        "COMMONPLACE_ENCODER_FOLDER": str(home / "no weights"),
    }
    app = App(read_settings(environ=environ, cwd=home, home=home), user_home=home, clock=_clock)
    # Of one owner's timeline alone: no other journal is looked for, wherever it may lie.
    service = app.timeline.service_of("me")
    try:
        commands = TimelineCommands(service, model_texts=lambda: None)
        _record(service, commands, home, say)
        ref = _drill_down(commands, say)
        _ask(service, say)
        _forget(service, commands, ref, say)
    finally:
        service.filing().close()
        service.journal.close()
        app.close()
    say("That was the demo", f"The temporary home is gone. Now begin your own:\n\n{_NEXT}")


_NEXT = """\
  commonplace timeline add "what just happened" --in NAME
  commonplace timeline show today
  commonplace rollup --due"""


def _clock() -> datetime:
    return NOW


def _record(service: TimelineService, commands: TimelineCommands, home: Path, say: Say) -> None:
    began = time.monotonic()
    drafts = list(a_year(service.zone))
    for start in range(0, len(drafts), 500):
        service.journal.add_many(drafts[start : start + 500])
    made = commands.roll_up().facts["made"]
    took = time.monotonic() - began
    say(
        f"A year in {took:.1f} s, in a home of its own: {home}",
        f"{len(drafts)} raw entries of {YEAR} became {made} summaries: hours from entries, days\n"
        "from hours, weeks and months from days, the year from months. No model was asked: the\n"
        "numbers are counted, and every sentence stands in an entry.",
    )
    trends = service.timeline_trends(period="monthly")
    say("commonplace timeline trends --period monthly", _text_of(trends))


def _drill_down(commands: TimelineCommands, say: Say) -> str:
    """From the year to the decision; its ref."""
    for name, depth, why in _STEPS:
        words = f'"{name}"' if " " in name else name
        say(f"commonplace timeline show {words}", f"{why}\n\n{_shown(commands, name, depth)}")
    entries = commands.show(_STEPS[-1][0]).facts["down"]
    ref = str(next(x["ref"] for x in entries if x["text"].startswith(DECISION[:40])))
    why = "The raw entry itself, with its neighbours, and the way up again."
    say(f"commonplace timeline show {ref}", f"{why}\n\n{_shown(commands, ref)}")
    return ref


_STEPS = (
    ("2025", 1, "The year, from its months. Below it the way down, one step of it."),
    ("2025-10", 1, "One month, made from its days; a day on which nothing happened is no step."),
    ("2025-W41", 1, "A week is made from days too: weeks do not fit into months."),
    ("2025-10-07", 2, "One day, its hours, and the entries in them."),
    ("2025-10-07 14", 1, "One hour: what it says stands in these entries."),
)


def _ask(service: TimelineService, say: Say) -> None:
    search = service.toolset(lambda: service).tool("timeline_search")
    query = "what did we decide about Postgres in october"
    why = "A time in the question is read out of it. The demo searches by words alone."
    found = _text_of(search.call({"query": query, "limit": 2}))
    say(f"commonplace timeline search {query}", f"{why}\n\n{found}")


def _forget(service: TimelineService, commands: TimelineCommands, ref: str, say: Say) -> None:
    gone = _text_of(TimelineAmender(service).delete_entry(ref))
    left = [name for name, *_ in _STEPS if "Postgres" in _shown(commands, name)]
    say(
        f"commonplace timeline delete {ref}",
        "Deleting for privacy goes up through every summary: they are made again from what is\n"
        f"left.\n\n{gone}\nSummaries that still mention it: {', '.join(left) or 'none'}.",
    )


def a_year(zone: tzinfo) -> Iterator[TimelineDraft]:
    """The entries of the year, the same at each run: a few a day, weekends and August quiet."""
    chance = random.Random(YEAR)  # noqa: S311  a story, not a secret
    day = datetime(YEAR, 1, 1)  # noqa: DTZ001  wall time, turned into an instant below
    while day.year == YEAR:
        busy = 0.15 if day.weekday() > 4 or day.month == 8 else 0.85  # noqa: PLR2004  Friday, August
        if chance.random() < busy:
            for _ in range(chance.randint(1, 5)):
                yield _entry(day, chance, zone)
        day += timedelta(days=1)
    for minutes, action, text in _AN_HOUR:
        metadata = {"projects": ["bookings"], "tags": ["storage"], "action": action}
        at = from_local(_DECIDED_AT + timedelta(minutes=minutes), zone)
        # With a key its id is the same at each run.
        yield TimelineDraft(content=text, at=at, metadata=metadata, key=f"demo {minutes}")


def _entry(day: datetime, chance: random.Random, zone: tzinfo) -> TimelineDraft:
    open_now = [each for each in _PROJECTS if day.month in _MONTHS[each[1]]]
    project, _, things = chance.choice(open_now)
    action, text = chance.choice(_DONE)
    thing = chance.choice(things)
    at = day + timedelta(hours=chance.randint(8, 17), minutes=chance.randint(0, 59))
    return TimelineDraft(
        content=text.format(thing=f"{thing} of the {project}"),
        at=from_local(at, zone),
        metadata={"projects": [project], "tags": [thing], "action": action},
        key=f"demo {chance.random()}",
    )


def _shown(commands: TimelineCommands, name: str, depth: int | None = None) -> str:
    return _text_of(commands.show(name, depth=depth))


def _text_of(answer: Answer) -> str:
    """An answer's text, without its notes: they speak of the model that the demo does without."""
    return answer.text.partition("\n\nNote: ")[0]
