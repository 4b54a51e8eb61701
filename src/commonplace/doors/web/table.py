"""THE TABLE of pages: a row for each address, in strings; one more page is one more row.

Imports no page: each is imported when it is first asked for.
"""

from __future__ import annotations

from typing import NamedTuple


class PageRow(NamedTuple):
    """One address and what answers it.

    Args:
        name: What templates call it: `url("entry", ref=…)`.
        path: Its address, with `{names}` for what varies.
        handler: `module:function`; it takes a `Visit` and returns a `WebPage`, `Redirect` or
            `Download`.
        title: What the navigation calls it; empty for what is not listed there.
        group: Which of the groups of the navigation it stands in.
        writes: Whether it is asked by POST and changes something; else it is asked by GET.
        is_readers: Whether a visitor who may only read may ask for it too.
        is_machines: Whether it is about the machine, so that no served user sees or changes it.
    """

    name: str
    path: str
    handler: str
    title: str = ""
    group: int = 0
    writes: bool = False
    is_readers: bool = False
    is_machines: bool = False


_PAGES = "commonplace.doors.web.pages"

PAGES: tuple[PageRow, ...] = (
    PageRow("home", "/", f"{_PAGES}.today:home", "Today"),
    PageRow("seen", "/today/seen", f"{_PAGES}.today:seen", writes=True),
    PageRow("replace", "/today/replaced", f"{_PAGES}.today:replace_former", writes=True),
    PageRow("finish", "/today/done", f"{_PAGES}.today:finish", writes=True),
    PageRow("search", "/search", f"{_PAGES}.search:search", "Search"),
    PageRow("calendar", "/calendar", f"{_PAGES}.calendar:today", "Calendar"),
    PageRow("period", "/calendar/{key}", f"{_PAGES}.calendar:period"),
    PageRow("editor", "/write", f"{_PAGES}.writing:editor"),
    PageRow("write", "/written", f"{_PAGES}.writing:write", writes=True),
    PageRow("draft", "/draft", f"{_PAGES}.writing:keep_draft", writes=True),
    PageRow("chronicle", "/chronicle", f"{_PAGES}.chronicle:chronicle", "Chronicle", 1),
    PageRow("figure", "/chronicle/figure", f"{_PAGES}.chronicle:figure"),
    PageRow("notebook", "/notebook", f"{_PAGES}.notebook:notebook", "Notebook", 1),
    PageRow("section", "/notebook/section", f"{_PAGES}.notebook:section"),
    PageRow("clash", "/notebook/clash", f"{_PAGES}.notebook:clash"),
    PageRow("settle", "/notebook/settle", f"{_PAGES}.notebook:settle", writes=True),
    PageRow("timeline", "/timeline", f"{_PAGES}.timeline:timeline", "Timeline", 1),
    PageRow("memory", "/memory", f"{_PAGES}.memory:memory", "Memory", 1),
    PageRow("users", "/memory/users", f"{_PAGES}.memory:users", is_machines=True),
    PageRow("tick", "/memory/tick", f"{_PAGES}.memory:tick", writes=True),
    PageRow("transcripts", "/transcripts", f"{_PAGES}.transcripts:sessions", "Transcripts", 1),
    PageRow("session", "/transcripts/session", f"{_PAGES}.transcripts:session"),
    PageRow("inputs", "/transcripts/inputs", f"{_PAGES}.transcripts:inputs"),
    PageRow("health", "/health", f"{_PAGES}.health:health", "Health", 2),
    PageRow("examine", "/health/doctor", f"{_PAGES}.health:examine", is_machines=True),
    PageRow("repair", "/health/repair", f"{_PAGES}.health:repair", writes=True, is_machines=True),
    PageRow("back_up", "/health/backup", f"{_PAGES}.health:back_up", writes=True, is_machines=True),
    PageRow("export", "/health/export", f"{_PAGES}.health:export", writes=True),
    PageRow(
        "settings", "/settings", f"{_PAGES}.settings:settings", "Settings", 2, is_machines=True
    ),
    PageRow("set", "/settings/set", f"{_PAGES}.settings:put", writes=True, is_machines=True),
    PageRow("entry", "/entry", f"{_PAGES}.entry:entry"),
    PageRow("edit", "/entry/edit", f"{_PAGES}.entry:edit"),
    PageRow("save", "/entry/save", f"{_PAGES}.entry:save", writes=True),
    PageRow("draft_entry", "/entry/draft", f"{_PAGES}.entry:keep_draft", writes=True),
    PageRow("ask_delete", "/entry/delete", f"{_PAGES}.entry:ask_delete"),
    PageRow("ask_undo", "/entry/undo", f"{_PAGES}.entry:ask_undo"),
    PageRow("undo", "/entry/undone", f"{_PAGES}.entry:undo", writes=True),
    PageRow("delete", "/entry/deleted", f"{_PAGES}.entry:delete", writes=True),
    PageRow("plan_forgetting", "/entry/forget", f"{_PAGES}.forgetting:plan"),
    PageRow("forget", "/entry/forgotten", f"{_PAGES}.forgetting:forget", writes=True),
)

OF_PROGRAMS: tuple[PageRow, ...] = (
    PageRow("programs", "/programs", f"{_PAGES}.programs:programs", "Programs", 2),
    PageRow(
        "end_program", "/programs/ended", f"{_PAGES}.programs:end", writes=True, is_readers=True
    ),
)
"""The pages that are there where programs of others sign in."""

_ROWS = {row.name: row for row in (*PAGES, *OF_PROGRAMS)}


def row_of(name: str) -> PageRow:
    """The row of a page. Raises: KeyError."""
    return _ROWS[name]
