"""Entries of the notebook that expire: no answer shows them, and git's history still holds them."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from datetime import timedelta

import pytest
from tests.seeds import seeds
from tests.verbs.recall_world import ALL, ask, refs
from tests.verbs.test_amend import superseding
from tests.verbs.test_as_of import shown, time_of

from commonplace.core.errors import Conflict, Denied, Invalid, NotFound
from commonplace.core.values import Put, Since
from commonplace.journals.transcripts.message import Message

SAID = "The quokka door opens with four seven one one, the keeper said so to Ann last night."
KEPT = "The quokka house is painted green."


def write(app, text, **more):
    """The ref of a new entry of the notebook."""
    return ask(app, "journal_write", path="zoo/night", entry=text, **more).facts["ref"]


def holders(world):
    """The files below the home that hold the text, those of git left out: it packs them."""
    files = [path for path in world.home.rglob("*") if path.is_file()]
    return [path for path in files if b"four seven" in path.read_bytes()]


def passing(world, days):
    """Some days go by."""
    world.clock.advance(days * 86_400)


def answers(app):
    """What each tool that reads answers in words."""
    notebook = "zoo/night"
    asked = [
        ("recall", {"query": "quokka door four seven"}),
        ("list_by_time", {}),
        ("journal_search", {"content": "quokka door four seven"}),
        ("journal_list_entries", {"path": notebook}),
        ("journal_read", {"id": notebook}),
        ("journal_toc", {}),
        ("open_ref", {"ref": f"notebook:{notebook}"}),
    ]
    return {tool: ask(app, tool, **more) for tool, more in asked}


@pytest.mark.parametrize("way", ["at once", "later", "by a tool"])
def test_no_answer_shows_it_once_its_time_has_come(world, app, way):
    """Whichever way its end was set; what stands beside it stays, and is counted alone."""
    kept = write(app, KEPT)
    if way == "by a tool":
        answer = ask(app, "journal_write", path="zoo/night", entry=SAID, expires="in 3 days")
        ref = answer.facts["ref"]
        assert "It expires 2026-11-24 15:19." in answer.text
    elif way == "at once":
        end = world.clock() + timedelta(days=3)
        written = app.notebook.service().notebook.write("zoo/night", SAID, expires=end)
        app.notebook.service().note_ends()
        app.notebook.service().file(written)
        ref = written.entry.ref
    else:
        ref = write(app, SAID)
        app.expiring.expire(ref, world.clock() + timedelta(days=3))
    assert "four seven" in answers(app)["recall"].text
    assert holders(world)
    passing(world, 3)
    given = answers(app)
    assert [tool for tool, answer in given.items() if "four seven" in answer.text] == []
    assert [tool for tool, answer in given.items() if ref in answer.text] == []
    assert refs(given["recall"]) == [kept]
    assert given["journal_toc"].facts["subsections"][0]["below"] == 1
    assert "1 entry" in given["journal_read"].text
    assert given["journal_list_entries"].facts["count"] == 1
    assert app.expiring.list_expiring() == []
    assert holders(world) == []


def test_its_ref_says_what_became_of_it_and_what_removes_it(world, app):
    """Neither the text nor its first line is in the error; a correction is refused likewise."""
    ref = write(app, SAID, expires="tomorrow")
    passing(world, 2)
    for tool, more in (("open_ref", {"ref": ref}), ("journal_read", {"id": ref})):
        with pytest.raises(NotFound) as caught:
            ask(app, tool, **more)
        assert "expired on 22 November 2026; git's history still holds it." in caught.value.message
        assert f"`commonplace forget {ref} --rewrite-history`" in caught.value.hint
        assert "quokka" not in str(caught.value)
    with pytest.raises(NotFound, match="expired on"):
        ask(app, "amend", ref=ref, text="another")
    with pytest.raises(NotFound, match="expired on"):
        write(app, "another", supersedes=ref)
    key = {"idempotency_key": "once"}
    write(app, SAID, expires="tomorrow", **key)
    passing(world, 2)
    with pytest.raises(NotFound, match="expired on"):
        write(app, SAID, **key)


def test_what_was_said_in_a_session_in_the_same_words_goes_too(world):
    """As of any entry that expires; the end of the session that says other words stays."""
    app = world.open(COMMONPLACE_TOOLSETS=f"{ALL},transcripts")
    at = time_of(world.clock().timestamp())
    turns = [Message(id="1", role="user", at=at, text=SAID)]
    turns.append(Message(id="2", role="user", at=at, text="And the ferry?"))
    app.transcripts.store.append("claude-code", "s", turns)
    write(app, SAID, expires="tomorrow")
    assert len(holders(world)) > 1
    passing(world, 2)
    assert "four seven" not in ask(app, "recall", query="quokka four seven ferry").text
    assert holders(world) == []
    assert [x.text for x in app.transcripts.store.read("claude-code", "s")] == ["And the ferry?"]


def test_it_may_be_taken_back_before_and_after(world, app):
    """The history still has it, so a person who set the wrong time loses nothing."""
    ref = write(app, SAID, expires="tomorrow")
    assert app.expiring.cancel(ref)
    passing(world, 2)
    assert refs(ask(app, "recall", query="quokka")) == [ref]
    app.expiring.expire(ref, world.clock() + timedelta(hours=1))
    passing(world, 1)
    assert refs(ask(app, "recall", query="quokka")) == []
    assert app.expiring.cancel(ref)
    assert refs(ask(app, "recall", query="quokka")) == [ref]
    assert SAID in ask(app, "open_ref", ref=ref).text
    listed = ask(app, "journal_list_entries", path="zoo/night").facts["entries"]
    assert "four seven" in listed[0]["summary"]
    assert not app.expiring.cancel(ref)


def test_the_same_end_again_writes_nothing(world, app):
    """Set twice or in a write that is repeated, there is one commit."""
    more = {"expires": "2026-12-24", "idempotency_key": "once"}
    ref = write(app, SAID, **more)
    head = app.notebook.journal.repo.head().commit
    assert write(app, SAID, **more) == ref
    app.expiring.expire(ref, dict(app.expiring.list_expiring())[ref])
    assert app.notebook.journal.repo.head().commit == head
    message = app.notebook.journal.repo.git.run(["log", "-1", "--format=%B"]).out.decode()
    assert "Expires: 2026-12-24T08:00:00+00:00\n" in message


def test_a_correction_expires_with_what_it_corrects(world, app):
    """In the commit of the new entry; a write with supersedes is a new fact without an end."""
    ref = write(app, SAID, expires="in 3 days")
    done = ask(app, "amend", ref=ref, text=f"{SAID} Twice.")
    assert "It expires 2026-11-24 15:19." in done.text
    new = write(app, KEPT, supersedes=done.facts["ref"])
    passing(world, 3)
    assert refs(ask(app, "recall", query="quokka")) == [new]
    assert holders(world) == []


def test_of_a_chain_what_is_left_names_what_it_stands_for(world, app):
    """The middle one has expired: the last names the first as replaced, and the first the last."""
    text = "The quokka API listens on port 8000."
    first = write(app, text, overview="Port 8000.")
    passing(world, 1)
    middle = superseding(app, "notebook", first, "The quokka API listens on port 9000.")
    app.expiring.expire(middle, world.clock() + timedelta(days=3))
    passing(world, 1)
    last = superseding(app, "notebook", middle, "The quokka API listens on port 7000.")
    passing(world, 3)
    answer = ask(app, "recall", query="quokka API listens")
    assert {first, last} <= set(refs(answer))
    assert middle not in refs(answer)
    found = {x["ref"]: x for x in answer.facts["results"]}
    assert found[first]["replaced_by"]["ref"] == last
    assert found[last]["replaces"]["ref"] == first
    assert ask(app, "open_ref", ref=last).facts["supersedes"] == first
    assert ask(app, "open_ref", ref=first).facts["superseded_by"] == last
    overview = ask(app, "journal_read", id="zoo/night").text
    assert f"{first} of 21 November 2026 was replaced by {last}" in overview
    assert middle not in overview


def test_an_overview_and_a_bad_time_are_refused(world, app):
    """An overview says what its history keeps; a time that is past is none to come."""
    write(app, KEPT, overview="The quokka sleeps.")
    with pytest.raises(Denied, match="it is an overview"):
        app.expiring.expire("notebook:zoo/night", world.clock() + timedelta(days=1))
    head = app.notebook.journal.repo.head().commit
    with pytest.raises(Invalid, match="expires"):
        write(app, SAID, expires="yesterday")
    assert app.notebook.journal.repo.head().commit == head


@pytest.mark.parametrize("moved", [False, True])
def test_an_answer_as_of_then_is_that_of_a_home_without_it(world, app, moved):
    """What has expired is gone from every time; a built index says the same as one that followed."""
    write(app, KEPT)
    passing(world, 1)
    write(app, SAID, expires="in 3 days")
    passing(world, 1)
    if moved:
        app.notebook.service().notebook.move("zoo/night", "zoo/dusk")
        app.filing.catch_up()
    passing(world, 3)
    followed = {
        when: shown(ask(app, "recall", query="quokka door four seven", **more))
        for when, more in (("now", {}), ("then", {"as_of": "2026-11-23"}))
    }
    assert len(followed["then"][1]["results"]) == 1
    app.index.clear()
    app.filing.sweep()
    for when, more in (("now", {}), ("then", {"as_of": "2026-11-23"})):
        built = shown(ask(app, "recall", query="quokka door four seven", **more))
        assert built == followed[when]
    assert "keeper" not in str(followed)
    assert holders(world) == []


def test_an_index_that_is_never_swept_holds_nothing_of_it(world, app):
    """Its source drops what has expired, though no command came that sweeps."""
    ref = write(app, SAID, expires="tomorrow")
    source = app.notebook.sources()[0]
    mark = source.mark()
    passing(world, 2)
    assert source.mark() != mark
    changes = [*source.scan(Since(mark=mark, stamps=lambda _: {ref: "x"}))]
    assert [each.ref for each in changes] == [ref]
    assert not any(isinstance(each, Put) for each in changes)


def test_a_summary_of_the_timeline_leaves_it_out(world):
    """One that quoted it is made again."""
    app = world.open(COMMONPLACE_TOOLSETS=ALL, COMMONPLACE_TIMELINE_FEED="notebook")
    write(app, KEPT)
    write(app, SAID, expires="in 3 days")
    passing(world, 1)
    app.timeline.service().feed()
    app.timeline.rollups.catch_up()
    assert holders(world)
    passing(world, 3)
    ask(app, "recall", query="quokka")
    assert holders(world) == []


def test_its_time_travels_in_an_export(world, app, tmp_path):
    """What has expired is exported without its text; what is to expire expires there as well."""
    kept = write(app, KEPT, expires="in 30 days")
    write(app, SAID, expires="tomorrow")
    passing(world, 2)
    app.sweep_expired()
    app.exporting().export(tmp_path / "out")
    held = b"".join(x.read_bytes() for x in (tmp_path / "out").rglob("*") if x.is_file())
    assert b"four seven" not in held
    other = type(world)(tmp_path / "other")
    other.folder.mkdir()
    other.clock.at = world.clock.at
    taken = other.open(COMMONPLACE_TOOLSETS=ALL)
    try:
        taken.exporting().take(tmp_path / "out")
        assert refs(ask(taken, "recall", query="quokka")) == [kept]
        assert [ref for ref, _ in taken.expiring.list_expiring()] == [kept]
        passing(other, 40)
        assert refs(ask(taken, "recall", query="quokka")) == []
    finally:
        other.close()


def test_doctor_names_what_the_history_still_holds(world, app):
    """And nothing of it once a person has removed it there."""
    ref = write(app, SAID, expires="tomorrow")
    write(app, KEPT)
    assert not any("Expired" in str(x) for x in app.notebook.problems())
    passing(world, 2)
    app.sweep_expired()
    (found,) = [x for x in app.notebook.problems() if "Expired" in str(x)]
    assert f"Expired or taken back, and still in git's history: {ref}." in found
    service = app.forgetting()
    plan = service.plan([ref], kept_days=0)
    assert [each.text for each in plan.entries] == [""]
    assert service.carry_out(plan).is_clean
    assert not any("Expired" in str(x) for x in app.notebook.problems())
    objects = ["cat-file", "--batch-all-objects", "--batch"]
    assert b"four seven" not in app.notebook.journal.repo.git.run(objects).out


def test_a_notebook_that_is_away_shows_nothing_and_is_swept_once_it_is_back(world, app):
    """As on a disk that was taken out."""
    write(app, SAID, expires="tomorrow")
    folder = app.notebook.journal.folder
    folder.rename(folder.with_name("away"))
    passing(world, 2)
    assert refs(ask(app, "recall", query="quokka")) == []
    assert len(app.expiring.book.read()) == 1
    folder.with_name("away").rename(folder)
    assert refs(ask(app, "recall", query="quokka")) == []
    assert app.expiring.book.read() == {}
    assert holders(world) == []


def test_one_whose_notebook_is_gone_may_be_given_up(world, app):
    """Else every command would look for it for ever."""
    ref = write(app, SAID, expires="tomorrow")
    shutil.rmtree(app.notebook.journal.folder)
    passing(world, 2)
    app.sweep_expired()
    assert app.expiring.cancel(ref)
    assert app.expiring.book.read() == {}


@pytest.mark.parametrize("seed", seeds(2, long=(1, 3, 4), whole=range(5, 11)))
def test_an_index_that_followed_holds_what_one_built_at_once_holds(world, app, seed):
    """Whatever was written, replaced, moved, ended and brought back, and whenever it was filed."""
    chance = random.Random(seed)
    service = app.notebook.service()
    known = [write(app, KEPT, overview="It is green.")]
    names = ["zoo/night"]
    for number in range(30):
        world.clock.advance(chance.randint(1, 12) * 3600)
        end = world.clock() + timedelta(hours=chance.randint(1, 40))
        act = chance.choice(["write", "ending", "end", "stay", "supersede", "move", "search"])
        ref = chance.choice(known)
        with suppress(NotFound, Conflict):
            if act in {"write", "ending"}:
                expires = end if act == "ending" else None
                made = service.notebook.write(names[-1], f"Quokka {number}.", expires=expires)
                service.note_ends()
                known.append(made.entry.ref)
            elif act == "end":
                app.expiring.expire(ref, end)
            elif act == "stay":
                app.expiring.cancel(ref)
            elif act == "supersede":
                made = service.notebook.supersede(ref, f"Now {number}.", section=names[-1])
                known.append(made.entry.ref)
            elif act == "move":
                names.append(f"zoo/{number}")
                service.notebook.move(names[-2], names[-1])
            else:
                ask(app, "recall", query="quokka")
    app.sweep_expired()
    app.filing.catch_up()
    followed = filed(app)
    app.index.clear()
    app.filing.sweep()
    assert filed(app) == followed
    over = {line.ref for line in app.notebook.journal.ledger.list_expired()}
    assert over
    assert not over & followed.keys()


def filed(app):
    """The stamp of each doc of the notebook that the index holds."""
    return dict(app.index.known().stamps("notebook:"))
