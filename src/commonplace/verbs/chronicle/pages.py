"""Chronicle's resources and prompts: pages a host may fetch or offer to begin with.

Never writes, and opens the journal only when a page is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.clock import period, to_local
from commonplace.core.spaces import by_member
from commonplace.journals.chronicle.event import author_of
from commonplace.verbs.answers import time_of
from commonplace.verbs.chronicle.service import ChronicleService
from commonplace.verbs.chronicle.story import event_facts, message_of
from commonplace.verbs.toolset import Prompt, Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.journals.chronicle.journal import Event
    from commonplace.verbs.toolset import Toolset

_RECENT = 10
_TODAY = 1000


def with_pages(opens: Callable[[], ChronicleService]) -> Toolset:
    """Chronicle's tools, with four pages of what the log holds and three texts for its user."""
    return replace(ChronicleService.toolset(opens), resources=_resources(opens), prompts=_prompts())


def _resources(opens: Callable[[], ChronicleService]) -> tuple[Resource, ...]:
    return (
        Resource(
            uri="chronicle://recent-activity",
            title="Recent activity",
            description="The last 10 entries of the log, with everything known of them.",
            media_type="application/json",
            read=lambda: recent_activity(opens()),
        ),
        Resource(
            uri="chronicle://tags",
            title="Tags",
            description="Every tag with how often it was used, most frequent first.",
            media_type="application/json",
            read=lambda: tags(opens()),
        ),
        Resource(
            uri="chronicle://today-summary",
            title="Today",
            description="What was logged today, by tag, with time ranges.",
            media_type="text/markdown",
            read=lambda: today_summary(opens()),
        ),
        Resource(
            uri="chronicle://project-context",
            title="This project",
            description="The project's .chronicle, if there is one, and what was done here lately.",
            media_type="application/json",
            read=lambda: project_context(opens()),
        ),
    )


def _prompts() -> tuple[Prompt, ...]:
    return (
        Prompt(
            name="chronicle-getting-started",
            title="Getting started with chronicle",
            description="When to log, what to log, and how to find it again.",
            write=lambda: _text("chronicle-getting-started.md"),
        ),
        Prompt(
            name="daily-standup",
            title="Daily standup",
            description="What was done since the last working day, what is next, what is stuck.",
            write=lambda: _text("daily-standup.md"),
        ),
        Prompt(
            name="weekly-review",
            title="Weekly review",
            description="The week by project: what was finished, decided and learned.",
            write=lambda: _text("weekly-review.md"),
        ),
    )


def _text(name: str) -> str:
    return (Path(__file__).parent / "prompts" / name).read_text("utf-8")


def recent_activity(verbs: ChronicleService) -> str:
    """The newest entries as JSON."""
    events = verbs.chronicle.list_events(limit=_RECENT).events
    return _json({"entries": [event_facts(event) for event in events], "count": len(events)})


def tags(verbs: ChronicleService) -> str:
    """Tag to count as JSON, most frequent first, then by name."""
    return _json({count.tag: count.count for count in verbs.chronicle.list_tags()})


def today_summary(verbs: ChronicleService) -> str:
    """The owner's day by tag, as Markdown; an entry of several tags stands under its first."""
    today = period(verbs.clock(), "day", verbs.zone)
    events = verbs.chronicle.list_events(limit=_TODAY, within=today).events
    day = to_local(verbs.clock(), verbs.zone).date()
    if not events:
        return f"# {day}\n\nNothing was logged yet.\n"
    groups: dict[str, list[Event]] = {}
    for event in sorted(events, key=lambda event: (event.instant, event.place)):
        groups.setdefault(next(iter(event.own_tags), "untagged"), []).append(event)
    parts = [f"# {day}", *(_group(tag, group, verbs) for tag, group in groups.items())]
    return "\n\n".join(parts) + "\n"


def _group(tag: str, events: list[Event], verbs: ChronicleService) -> str:
    times = [time_of(event.at, verbs.zone) for event in events]
    span = times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"
    messages = (f"{message_of(x, indent=2)}{by_member(author_of(x))}" for x in events)
    lines = [f"- {time} {message}" for time, message in zip(times, messages, strict=True)]
    return f"## {' '.join(tag.split())} ({span}, {len(events)})\n\n" + "\n".join(lines)


def project_context(verbs: ChronicleService) -> str:
    """What `.chronicle` says here, and the latest entries of just this project, as JSON."""
    config = verbs.log_config()
    here = str(verbs.project) if verbs.project else None
    events = verbs.chronicle.list_events(limit=_RECENT, directory=here).events if here else ()
    return _json(
        {
            "directory": here,
            "has_project_config": config is not None,
            "project_root": str(config.root) if config else None,
            "config": None
            if config is None
            else {
                "local_logging": config.local_logging,
                "log_dir": config.log_dir,
                "log_format": config.log_format,
                "allowed": verbs.trusted.is_allowed(config),
            },
            "entries": [event_facts(event) for event in events],
        }
    )


def _json(facts: Mapping[str, object]) -> str:
    return json.dumps(facts, ensure_ascii=False, indent=2)
