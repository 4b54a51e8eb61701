"""Owns having a model put rollups into words: which, one at a time, and what becomes of a failure.

Never holds a transaction while a model is asked, and stores a text only where the rollup is still
made from the same: a process that is killed in between loses that one answer and nothing else.
"""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import render_time
from commonplace.core.errors import Denied, Invalid, Unavailable
from commonplace.core.rollups import Material, NoSummary, PeriodBefore, Summary
from commonplace.core.text import screening
from commonplace.journals.timeline.due_periods import note_change, span_at, span_of_row
from commonplace.journals.timeline.entry import (
    LEVELS,
    content_hash,
    is_within_calendar,
    render_metadata,
)
from commonplace.journals.timeline.figures import parse_figures
from commonplace.journals.timeline.queries import entry_of
from commonplace.journals.timeline.rollup_input import (
    facts_of,
    gather,
    parse_points,
    read_fed,
    without_replaced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.core.clock import Level
    from commonplace.core.rollups import Summariser
    from commonplace.journals.timeline.due_periods import PeriodSpan
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.ports import TimelineRows
    from commonplace.journals.timeline.rollup_input import RollupInput
    from commonplace.journals.timeline.rollups import Rollups

Progress: TypeAlias = "Callable[[int, int], None]"

CLAIM = timedelta(minutes=15)
"""How long a rollup is one process's: longer than any model may take."""

RECENT: Mapping[Level, timedelta] = {
    "hour": timedelta(days=75),
    "day": timedelta(days=75),
    "week": timedelta(days=40),
    "month": timedelta(days=40),
}
"""What ended so lately comes before all else. A month that did has no day that is older than the
days here, so that it is asked for once."""

_TICK = timedelta(microseconds=1)

MOST_FAILURES = 3
"""After so many failures at a period a model that failed is not asked again; another is, once."""

MOST_IN_A_ROW = 3
"""After so many periods that got no summary, one after the other, it is the model's fault."""


class LevelSummariser(Struct, frozen=True, kw_only=True):
    """A summariser, and the levels it is asked for."""

    summariser: Summariser
    levels: tuple[Level, ...]


class ModelRun(Struct, kw_only=True):
    """What a run did.

    Attributes:
        stopped: Why it ended before everything was put into words; else empty.
        poisoned: Periods that are left alone until they change, by their keys.
    """

    done: int = 0
    failed: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    stopped: str = ""
    poisoned: list[str] = field(default_factory=list)


class _Gathered(Struct, frozen=True, kw_only=True):
    """What a rollup is made from.

    Attributes:
        token: What the rollup has of that, while it is made from the same.
        material: As the model is shown it, with the period before.
    """

    found: RollupInput
    token: bytes
    material: Material


class _RunState(Struct, kw_only=True):
    """How far a run may go.

    Attributes:
        failed: What it has tried, and tries no second time.
    """

    most: int | None
    ends: float | None
    progress: Progress | None
    failed: set[int] = field(default_factory=set)
    result: ModelRun = field(default_factory=ModelRun)


class ModelTexts:
    """Puts one owner's rollups into a model's words. Any number of processes may do so at once.

    Args:
        writers: One for each level at the most; a level without one keeps its extractive text.
    """

    def __init__(
        self,
        rollups: Rollups,
        writers: Sequence[LevelSummariser],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rollups = rollups
        self._journal = rollups.journal
        self._writers = writers
        self._monotonic = monotonic

    def run(
        self,
        *,
        most: int | None = None,
        within_s: float | None = None,
        progress: Progress | None = None,
    ) -> ModelRun:
        """Put into words what has only an extractive text, smaller periods before larger.

        The last weeks come first: under a cap a long past takes days, and is read less. What a new
        text makes stale is rolled up again before its own turn, so that each is asked for once.

        Args:
            most: stop after so many.
            within_s: begin no more after so long.
            progress: called with how many are in words, and how many have an extractive text still.

        Raises:
            Unavailable where the journal cannot be read or written.
        """
        ends = None if within_s is None else self._monotonic() + within_s
        run = _RunState(most=most, ends=ends, progress=progress)
        now = self._journal.clock()
        recent = {level: render_time(now - kept) for level, kept in RECENT.items()}
        for since in (recent, dict.fromkeys(LEVELS, "")):
            for level, start in since.items():
                writer = next((x for x in self._writers if level in x.levels), None)
                if writer is not None and not run.result.stopped:
                    self._rollups.catch_up()
                    self._write_level(level, writer.summariser, start, run)
        # What the new texts made stale has its extractive text again.
        self._rollups.catch_up()
        return run.result

    def _write_level(
        self, level: Level, summariser: Summariser, start: str, run: _RunState
    ) -> None:
        """The rollups of a level that end after an instant, the oldest first."""
        result = run.result
        # Progress counts all that have an extractive text, whether or not a model will be asked.
        levels = json.dumps([LEVELS.index(x) + 1 for each in self._writers for x in each.levels])
        after = (start, 0, 0)
        in_a_row = 0
        while not result.stopped and (run.most is None or result.done < run.most):
            if run.ends is not None and self._monotonic() >= run.ends:
                result.stopped = "The time that was given is up."
                return
            entry = self._next(level, summariser.generator, after)
            if entry is None:
                return
            after = (render_time(entry.end), entry.level, entry.seq)
            if entry.seq in run.failed:
                continue
            failed = result.failed
            self._write(entry, summariser, result)
            if run.progress is not None:
                ((left,),) = self._journal.database.ask("count_upgradable", levels=levels)
                run.progress(result.done, int(left))
            if result.failed == failed:
                in_a_row = 0
                continue
            run.failed.add(entry.seq)
            in_a_row += 1
            if in_a_row == MOST_IN_A_ROW:
                result.stopped = f"{in_a_row} periods in a row got no usable summary."

    def _next(
        self, level: Level, generator: str, after: tuple[str, int, int]
    ) -> TimelineEntry | None:
        """The next rollup of a level that has only an extractive text."""
        end, number, seq = after
        found = self._journal.database.ask(
            "upgradable",
            generator=generator,
            levels=json.dumps([LEVELS.index(level) + 1]),
            most=MOST_FAILURES,
            now=render_time(self._journal.clock()),
            after_end=end,
            after_level=number,
            after_seq=seq,
        )
        if not found:
            return None
        (row,) = self._journal.database.ask("by_seq", seq=found[0][0])
        return entry_of(row)

    def _write(self, entry: TimelineEntry, summariser: Summariser, result: ModelRun) -> None:
        """One rollup, if it is not another's, and still made from what is there."""
        gathered = self._gathered(entry)
        if gathered is None:
            return
        found, material = gathered.found, gathered.material
        if not summariser.takes(material) or not (until := self._claim(entry)):
            return
        began = self._monotonic()
        failure, summary = "", Summary(text="", generator=summariser.generator)
        done = False
        try:
            with screening(self._journal.screen.shown):
                summary = summariser.summarise(material)
            done = self._commit(entry, gathered, summary, until)
        except (Unavailable, Denied) as exc:
            failure, result.stopped = "no answer", exc.summary
            self._unclaim(entry, until)
        except Invalid as exc:
            failure = "no summary"
            result.failed += 1
            summary = exc.spent if isinstance(exc, NoSummary) else summary
            if self._note_failure(entry, gathered.token, summary, until) >= MOST_FAILURES:
                result.poisoned.append(found.key)
        except BaseException:
            self._unclaim(entry, until)
            raise
        took = self._monotonic() - began
        self._rollups.log(found, summary, took_s=took, done=done, failure=failure)
        result.done += done
        result.tokens += summary.tokens_in + summary.tokens_out
        if summary.cost_usd is None or result.cost_usd is None:
            result.cost_usd = None
        else:
            result.cost_usd += summary.cost_usd

    def _gathered(self, entry: TimelineEntry) -> _Gathered | None:
        """What a rollup is made from, and the period before it; None where it is due."""
        with self._journal.database.reading() as conn:
            if conn is None:
                return None
            times = (render_time(entry.start), render_time(entry.end))
            span = span_of_row(entry.zone_name, entry.level, *times)
            with conn.snapshot():
                found = gather(conn, span, self._journal.owner)
                is_due = self._rollups.rows.mark_of(conn, span) is not None
                facts = conn.run("rollup_facts", {"seq": entry.seq}).fetchone()
                before = self._before(conn, span, entry)
        if facts is None or is_due:
            return None
        found = without_replaced(found, self._journal.replaced)
        if found.missing:
            # Retention has deleted smaller ones.
            found = self._rollups.compute_input(span, whole=True)
        else:
            found = read_fed(found, self._rollups.feed)
        if not found.items:
            return None
        material = replace(found.material(self._journal.owner), before=before)
        return _Gathered(found=found, token=facts[1], material=material)

    def _before(
        self, conn: TimelineRows, span: PeriodSpan, entry: TimelineEntry
    ) -> PeriodBefore | None:
        """The period before a rollup's; None where it is due, holds nothing, or must not be told.

        What quotes private text is told where the rollup itself does: no model elsewhere sees it.
        """
        at, rows = span.start - _TICK, self._rollups.rows
        earlier = span_at(at, span.level, span.zone) if is_within_calendar(at) else span
        found = None if earlier == span else rows.find(conn, earlier)
        if found is None or rows.mark_of(conn, earlier) is not None:
            return None
        facts, own = (conn.run("rollup_facts", {"seq": x.seq}).fetchone() for x in (found, entry))
        if facts is None or own is None or facts[6] > own[6]:
            return None
        figures = parse_figures(json.loads(facts[3]))
        material = Material(
            owner=self._journal.owner,
            level=span.level,
            key=facts[0],
            period=earlier.interval,
            zone=span.zone,
            items=(),
            figures=figures,
        )
        points = parse_points(facts[4])
        return PeriodBefore(material=material, points=points) if figures.entries else None

    def _claim(self, entry: TimelineEntry) -> str:
        """Until when the rollup is ours, by which it is let go; empty where it is another's."""
        now = self._journal.clock()
        until = render_time(now + CLAIM)
        asked = {"seq": entry.seq, "now": render_time(now), "until": until}
        with self._journal.database.writing() as conn:
            return until if conn.run("claim", asked).rowcount == 1 else ""

    def _unclaim(self, entry: TimelineEntry, until: str) -> None:
        with self._journal.database.writing() as conn:
            conn.run("unclaim", {"seq": entry.seq, "until": until})

    def _note_failure(
        self, entry: TimelineEntry, token: bytes, summary: Summary, until: str
    ) -> int:
        """Count a failure of this material; how many there are now."""
        asked = {"seq": entry.seq, "generator": summary.generator, "until": until}
        with self._journal.database.writing() as conn:
            conn.run("note_failure", {**asked, "input_hash": token})
            facts = conn.run("rollup_facts", {"seq": entry.seq}).fetchone()
        return 0 if facts is None else int(facts[5])

    def _commit(
        self, entry: TimelineEntry, gathered: _Gathered, summary: Summary, until: str
    ) -> bool:
        """Store a text; False where the rollup is made from something else by now.

        So it is where the period before it says something else, of which the text may tell.
        """
        journal, found = self._journal, gathered.found
        now = journal.clock()
        tokens = summary.tokens_in + summary.tokens_out
        facts = facts_of(found, generator=summary.generator, model=summary.model, tokens=tokens)
        metadata = render_metadata(facts)
        hashed = content_hash(summary.text, metadata, entry.entry_type, render_time(entry.at))
        text = {
            "seq": entry.seq,
            "content": summary.text,
            "metadata": metadata,
            "hash": hashed,
            "now": render_time(now),
            "input_hash": gathered.token,
        }
        with journal.database.writing() as conn:
            if self._before(conn, found.span, entry) != gathered.material.before:
                conn.run("unclaim", {"seq": entry.seq, "until": until})
                return False
            if not conn.run("set_text", text).rowcount:
                return False
            conn.run("set_generator", {"seq": entry.seq, "generator": summary.generator})
            change = note_change(conn, entry.seq)
            journal.due_periods.mark_spans(
                conn, journal.due_periods.above(found.span), change=change
            )
        return True
