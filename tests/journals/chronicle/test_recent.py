"""What a hook reads of chronicle is what chronicle's own modules find."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cases import cases

from commonplace.core.errors import CommonplaceError
from commonplace.journals.chronicle.places import resolve_chronicle
from commonplace.journals.chronicle.recent import find_database, list_recent

CONFIGS = [
    None,
    {},
    {"backend": "sqlite"},
    {"backend": "markdown"},
    {"backend": "markdown", "data_dir": "~/notes"},
    {"data_dir": "~/elsewhere"},
    {"data_dir": "~"},
    {"data_dir": ""},
    {"data_dir": "/srv/chronicle"},
    {"data_dir": "relative"},
    {"data_dir": 5},
    {"backend": "postgres"},
    [],
    "text",
]


def resolved(named):
    """What `resolve_chronicle` finds, as a hook needs it: the path of a database, else None."""
    folders = {x: os.environ.get(x) for x in ("XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    try:
        place = resolve_chronicle(
            db_path=Path(named) if named else None,
            config_home=Path(folders["XDG_CONFIG_HOME"]) if folders["XDG_CONFIG_HOME"] else None,
            data_home=Path(folders["XDG_DATA_HOME"]) if folders["XDG_DATA_HOME"] else None,
            home=Path.home(),
        )
    except CommonplaceError:
        return None
    return str(place.path) if place.form == "database" else None


@cases("has_xdg", [True, False])
@cases("config", CONFIGS)
def test_the_database_is_found_where_chronicle_has_it(config, has_xdg, monkeypatch):
    """By its own configuration, or by convention; a tree and a broken configuration have none."""
    if not has_xdg:
        monkeypatch.delenv("XDG_CONFIG_HOME")
        monkeypatch.delenv("XDG_DATA_HOME")
    path = Path.home() / ".config" / "chronicle" / "config.json"
    path.unlink(missing_ok=True)
    if config is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config))
    assert find_database(None, os.environ, str(Path.home())) == resolved(None)


def test_a_place_that_is_named_comes_first(tmp_path):
    """A folder is a tree."""
    file, folder = str(tmp_path / "log.db"), str(tmp_path)
    for named in (file, folder):
        assert find_database(named, os.environ, str(Path.home())) == resolved(named)


def test_a_database_that_is_not_there_holds_nothing(tmp_path):
    """And is not made."""
    assert list_recent(str(tmp_path / "no.db"), ["/"], limit=5, is_of=bool) == []
    assert not (tmp_path / "no.db").exists()
