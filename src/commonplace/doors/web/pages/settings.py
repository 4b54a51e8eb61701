"""The settings: each with its value, its origin and its meaning, changed where the file decides.

Never knows a setting by name, and never writes one but as `commonplace config set` does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.config.settings import (
    NARROWED_BY,
    read_settings,
    unset_setting,
    user_file,
    write_setting,
)
from commonplace.config.table import SETTINGS
from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.doors.shown_settings import (
    HIDDEN,
    choices_of,
    file_decides,
    find_row,
    overruled,
    text_of,
    typed_text,
    value_of,
)
from commonplace.doors.web.visit import Redirect, UndoOffer, WebPage, status_of

if TYPE_CHECKING:
    from commonplace.config.table import Setting, Settings
    from commonplace.doors.web.visit import Visit

_SECTIONS = {
    "": "General",
    "private": "Private journal",
    "database": "Database of memory",
    "serve": "Server of many users",
    "encoder": "Search by meaning",
    "llm": "Language model",
    "brief": "What a session is told",
}
_DEFAULT = "default"


def settings(visit: Visit) -> WebPage:
    """Every setting, as a command that begins now would read it; those that are looked for."""
    return _page(visit, opened=visit.value("open"), sought=visit.value("q"))


def put(visit: Visit) -> Redirect | WebPage:
    """Set one in the user's file, or take it out of there so that its default holds again."""
    row, file = find_row(visit.value("key")), user_file()
    value, is_default = visit.value("value"), visit.value("do") == _DEFAULT
    before, _ = _read(visit)
    try:
        if not file_decides(row, before, file):
            what = f"{row.key} is set by {before.origins[row.key]}."
            raise Invalid(what, hint="Change it there.")
        if is_default:
            unset_setting(row.key, file)
        else:
            write_setting(row.key, value, file, cwd=_cwd(), home=visit.app.user_home)
    except CommonplaceError as exc:
        typed = "" if row.is_secret else value
        return _page(visit, opened=row.key, typed=typed, problem=exc)
    now, _ = _read(visit)
    said = _shown(visit, row, now) or "not set"
    notes = [f"{row.key} is {said} again." if is_default else f"{row.key} is {said} from now on."]
    if not is_default:
        notes += overruled(row, now, file)
    offer = _back(visit, row, before, file)
    # By its name in the query too: not every browser opens the group that a fragment lies in.
    to = f"{visit.url('settings', open=row.key)}#{row.key}"
    return Redirect(to=to, notes=notes, offer=offer)


def _back(visit: Visit, row: Setting, before: Settings, file: Path) -> UndoOffer | None:
    """What sets it as it was; None where its value is shown to nobody."""
    if row.is_secret:
        return None
    if not before.origins[row.key].startswith(f"{file} "):
        return UndoOffer(page="set", fields={"key": row.key, "do": _DEFAULT})
    if _shown(visit, row, before) == HIDDEN:
        return None
    text = typed_text(row, value_of(row, before))
    return UndoOffer(page="set", fields={"key": row.key, "value": text})


def _page(
    visit: Visit,
    *,
    opened: str = "",
    sought: str = "",
    typed: str = "",
    problem: CommonplaceError | None = None,
) -> WebPage:
    """The settings in groups, of which those are open that somebody looks for.

    Args:
        visit: Of whom.
        opened: The key of one whose group is open: it was changed, or its change refused.
        sought: Words of those to be shown; empty for all.
        typed: The value that was refused.
        problem: Why it was refused.
    """
    read, why = _read(visit)
    groups = _groups(visit, read, sought)
    return WebPage(
        template="settings.html",
        title="Settings",
        values={
            "current": "settings",
            "groups": [
                (title, rows, bool(sought) or any(x["key"] == opened for x in rows))
                for title, rows in groups.items()
            ],
            "sought": sought,
            "file": str(user_file()),
            "refused": opened if problem else "",
            "typed": typed,
            "problem": visit.explained(problem or why),
        },
        status=status_of(problem, refused=400),
    )


def _groups(visit: Visit, read: Settings, sought: str) -> dict[str, list[dict[str, Any]]]:
    """The settings that have the words that are sought, by their sections."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in SETTINGS:
        name = row.key.rpartition(".")[0]
        title = _SECTIONS.get(name, name.capitalize())
        one = _row(visit, row, read)
        said = " ".join([title, row.key, row.help, row.env, one["value"]]).casefold()
        if all(word in said for word in sought.casefold().split()):
            groups.setdefault(title, []).append(one)
    return groups


def _row(visit: Visit, row: Setting, read: Settings) -> dict[str, Any]:
    """A setting as the page shows it; the value of its field is empty where it is not shown."""
    file, origin = user_file(), read.origins[row.key]
    shown, here = _shown(visit, row, read), _shown(visit, row, visit.app.settings)
    first, _, narrowed = origin.partition(NARROWED_BY)
    return {
        "key": row.key,
        "help": row.help,
        "value": shown,
        "origin": "your file" if first.startswith(f"{file} ") else first,
        "narrowed": narrowed,
        "is_set": first != _DEFAULT,
        "may_change": file_decides(row, read, file),
        "env": row.env,
        "is_environment": first.startswith("environment "),
        "in_file": first.startswith(f"{file} "),
        "typed": "" if shown == HIDDEN else typed_text(row, value_of(row, read)),
        "is_hidden": shown == HIDDEN or row.is_secret,
        "choices": choices_of(row),
        "of_this_page": here if here != shown else "",
    }


def _shown(visit: Visit, row: Setting, read: Settings) -> str:
    """The value as it is shown; of one that holds a secret, only that it is set."""
    value = value_of(row, read)
    texts = value if isinstance(value, list) else [text_of(value)]
    return HIDDEN if any(visit.shown(each) != each for each in texts) else ", ".join(texts)


def _read(visit: Visit) -> tuple[Settings, CommonplaceError | None]:
    """What a command of this folder reads now: what was set since this page began counts.

    Where something that is set cannot be meant: what the page began with, and why.
    """
    try:
        return read_settings(cwd=_cwd(), home=visit.app.user_home), None
    except CommonplaceError as exc:
        return visit.app.settings, exc


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError as exc:
        raise Unavailable("The working directory is gone.", hint="Start the page again.") from exc
