"""A home that an export was imported into is the home that was exported, to every search."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.seeds import seeds
from tests.verbs.recall_world import RecallWorld, ask, refs
from tests.verbs.test_amend import EVERY
from tests.verbs.test_as_of import DAY, TOOLSETS, Writer, answers, instant

from commonplace.verbs.export.manifest import VERSION
from commonplace.verbs.export.reading import open_export

KEPT = Path(__file__).parent / "exports"
"""An export of each version of the form that was ever released."""

SEEDS = seeds(1, long=range(2, 5), whole=range(5, 12))


@pytest.fixture
def worlds(tmp_path):
    made = [RecallWorld(tmp_path / name) for name in ("here", "there")]
    for each in made:
        each.home.mkdir(parents=True)
    yield made
    for each in made:
        each.close()


def content_of(folder):
    """Each file of a folder by its name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def opened(world):
    """An app of the world, at work in the one project of both."""
    project, path = world.folder.parent / "project", str(world.chronicle_path)
    return world.open(str(project), COMMONPLACE_TOOLSETS=TOOLSETS, CHRONICLE_DB_PATH=path)


def written(world, seed, *, steps):
    """An app after a life of writing, replacing and deleting in every journal."""
    app = opened(world)
    writer, chance = Writer(world, seed), random.Random(seed)
    for _ in range(steps):
        writer.step(app, backdates_timeline=True)
        journal = chance.choice(EVERY)
        if journal != "notebook" and writer.holds[journal] and chance.random() < 0.1:
            app.amend.delete(writer.holds[journal].pop())
    app.timeline.service().catch_up()
    app.filing.sweep()
    world.clock.advance(60)
    return app


def said(world, app):
    """What every search answers, the place of the world left out."""
    return json.dumps(answers(app), default=str).replace(str(world.folder), "…")


def known(app, then):
    """The entries that were known then, less the summaries, which are made again."""
    found = []
    while more := refs(ask(app, "list_by_time", limit=50, start=len(found), as_of=then)):
        found += more
    assert found
    return [ref for ref in found if "rollup_" not in ref]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_comes_back_answers_as_before(worlds, tmp_path, seed):
    """Each search, and what was known at an earlier time; exported again it is the same bytes."""
    here, there = worlds
    app = written(here, seed, steps=60)
    app.exporting().export(tmp_path / "first")
    there.clock.at = here.clock.at
    other = opened(there)
    done = other.exporting().take(tmp_path / "first")
    assert done.new == {name: count for name, count in done.journals.items() if count}
    other.timeline.service().catch_up()
    other.filing.sweep()
    other.exporting().export(tmp_path / "again")
    assert content_of(tmp_path / "first") == content_of(tmp_path / "again")
    assert said(there, other) == said(here, app)
    here.clock.advance(-2 * DAY)
    then = instant(here)
    assert known(other, then) == known(app, then)


def test_a_part_of_an_export_is_what_is_not_older(worlds, tmp_path):
    """With `since`, no line and no page holds an entry from before, and an import takes it."""
    here, there = worlds
    app = written(here, 5, steps=60)
    start = app.clock().replace(hour=0, minute=0, second=0, microsecond=0)
    app.exporting().export(tmp_path / "late", since=start)
    other = opened(there)
    portables = {each.name: each.portable() for each in other.journals}
    with open_export(tmp_path / "late") as export:
        found = [
            item
            for name, portable in portables.items()
            for item in export.items(name, portable.item_type)
        ]
    assert found
    assert all(item.at >= start for item in found)
    done = other.exporting().take(tmp_path / "late")
    assert sum(done.new.values()) == len(found)


@pytest.mark.parametrize("kept", sorted(KEPT.iterdir()), ids=lambda folder: folder.name)
def test_an_export_of_every_version_is_read(worlds, tmp_path, kept):
    """All of it is there then, under its refs, at its times."""
    app = opened(worlds[0])
    with open_export(kept) as export:
        held = {
            name: [*export.items(name, wiring.portable().item_type)]
            for name, wiring in ((each.name, each) for each in app.journals)
        }
    assert app.exporting().take(kept).new == {name: len(items) for name, items in held.items()}
    there = {each.name: [*each.portable().export_items(None)] for each in app.journals}
    for name, items in held.items():
        assert [(x.ref, x.at) for x in there[name]] == [(x.ref, x.at) for x in items]
    app.filing.sweep()
    assert "transcripts:claude-code/s1#1" in refs(ask(app, "recall", query="a quiet harbour"))


def test_the_form_that_is_written_is_the_one_that_was_released(worlds, tmp_path):
    """What changes a byte of it is another version, of which an export is kept as well."""
    kept = KEPT / f"version-{VERSION}"
    app = worlds[0].open(COMMONPLACE_TIMEZONE="UTC", CHRONICLE_DB_PATH=str(tmp_path / "c.db"))
    app.exporting().take(kept)
    app.exporting().export(tmp_path / "again")
    lines = {
        name: text for name, text in content_of(kept).items() if name.endswith("entries.jsonl")
    }
    again = content_of(tmp_path / "again")
    assert {name: again[name] for name in lines} == lines


def test_what_was_looked_at_travels_with_an_export(worlds, tmp_path):
    """Of the journals that it holds: what was new here is new there, and nothing else."""
    here, there = worlds
    app = opened(here)
    refs = [ask(app, "add_entry", message=f"Thing {n}").facts["ref"] for n in range(3)]
    app.today().seen.keep(refs[:2], app.clock())
    app.today().seen.keep(["private:user/x"], app.clock())
    app.exporting().export(tmp_path / "out", journals=["chronicle"])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert set(manifest["seen"]) == {"", *refs[:2]}
    there.clock.at = here.clock.at
    other = opened(there)
    other.exporting().take(tmp_path / "out")
    other.filing.sweep()
    news = other.today().news()
    assert [hit.doc.ref for each in news.projects for hit in each.hits] == refs[2:]


def test_a_time_that_is_none_is_not_exported(worlds, tmp_path):
    """As another program may have written it where we keep what was seen."""
    app = opened(worlds[0])
    ask(app, "add_entry", message="Thing")
    app.today().seen.keep(["chronicle:x"], app.clock())
    path = app.folder / "seen" / "entries.json"
    path.write_text('{"chronicle:x": NaN, "chronicle:y": Infinity, "chronicle:z": 5}', "utf-8")
    app.exporting().export(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["seen"] == {"chronicle:z": 5.0}
