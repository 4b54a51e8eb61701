"""When entries of the notebook expire: kept in git, read alike in every clone."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.journals.notebook.test_forget import SECRET, forget
from tests.seeds import seeds

from commonplace.core.clock import render_instant
from commonplace.core.errors import NotFound
from commonplace.journals.notebook.format import (
    NEVER,
    entry_message,
    own_end,
    parse_message,
    ref_of,
    render_message,
    set_end_message,
    set_end_of,
)
from commonplace.journals.notebook.ledger import Ledger
from commonplace.journals.notebook.portable import PortableNotebook
from commonplace.verbs.forgetting.shingles import cutter, shingles_of

END = datetime(2027, 5, 9, 22, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def listed(team, which, section="door"):
    """The first lines of the entries that a list shows."""
    try:
        return [line.summary for line in team.notes[which].list_entries(section, length=99)]
    except NotFound:
        return []


def set_end(team, which, entry, at, section="door"):
    """Set when an entry expires, in one clone."""
    team.tick()
    return team.notes[which].set_end(f"{section}#{entry}", at)


def test_both_forms_are_read_as_they_were_written():
    """As lines that git's own tools read as trailers; what names no instant is no end."""
    entry_id = "01a20209-b353-7b55-ab87-5208f27de30f"
    message = entry_message(
        section="door", entry_id=entry_id, text="a", summary=None, work_context=None, expires=END
    )
    written = render_message(message).decode()
    assert "\nExpires: 2027-05-09T22:00:00+00:00\n" in written
    assert own_end(parse_message(written)) == END
    for end in (END, None):
        found = set_end_of(
            parse_message(render_message(set_end_message("a", entry_id, end)).decode())
        )
        assert found == (entry_id, end)
    assert own_end(parse_message(written.replace("2027-05-09T22:00:00+00:00", "soon"))) is None
    by_hand = f"Text.\n\nExpires: {END.isoformat()}\n"
    assert own_end(parse_message(by_hand)) is None
    assert parse_message(by_hand).text == by_hand.strip()
    for far, kept in (("0001-01-01", 1970), ("9999-12-31", 9999)):
        at = own_end(parse_message(written.replace("2027-05-09", far)))
        assert at.year == kept
        assert [render_instant(at, ZoneInfo(x)) for x in ("Asia/Tokyo", "America/Los_Angeles")]
    no_time = f"a\n\nCommonplace: expire\nExpires-Entry: {entry_id}\nExpires: soon\n"
    assert set_end_of(parse_message(no_time)) is None
    assert set_end_of(parse_message(no_time.replace("soon", NEVER))) == (entry_id, None)


def test_it_expires_in_every_clone_without_a_word_between_them(team):
    """A clone that never heard of its end otherwise; lists, neighbours, counts and refs alike."""
    team.write(0, "door", "It is blue.")
    gone = team.write(0, "door", SECRET, expires=team.now + HOUR)
    team.write(0, "door", "It is shut.")
    team.sync(0)
    team.sync(1)
    assert SECRET[:20] in listed(team, 1)[1]
    team.now += HOUR
    for which in (0, 1):
        notes = team.notes[which]
        assert listed(team, which) == ["It is shut.", "It is blue."]
        assert notes.read_section("door").entry_count == 2
        assert notes.toc()[0].entry_count == 2
        newest, oldest = notes.list_entries("door")
        assert notes.ledger.around("door", newest.id)[0].id == oldest.id
        with pytest.raises(NotFound, match="expired on"):
            notes.read_entry(f"door#{gone}")
        assert notes.read_kept_entry(f"door#{gone}").text == SECRET
    # Its file counts what the history holds, so that no clone changes it as time goes by.
    assert team.sync(0).sent == team.sync(1).sent == 0
    assert team.head(0) == team.head(1)
    assert "entry count: 3" in (team.place(1) / "door.md").read_text()


def test_what_is_taken_back_is_so_in_every_clone(team):
    """With the overview that came with it; what it had replaced was never replaced."""
    old = team.write(0, "door", "It is blue.")
    team.sync(0)
    team.sync(1)
    notes = team.notes[0]
    notes.write("door", "Wrong.", overview="It is red.", supersedes=old)
    gone = notes.read_section("door").last_entry.id
    team.sync(0)
    team.sync(1)
    assert notes.take_back(f"door#{gone}")[1]
    for which in (0, 1, 0):
        team.sync(which)
    for which in (0, 1):
        notes = team.notes[which]
        assert (listed(team, which), notes.read_section("door").overview) == (["It is blue."], "")
        assert (notes.ledger.find_successor(old), notes.ledger.list_left_replaced()) == (None, {})
        with pytest.raises(NotFound, match="was taken back"):
            notes.read_entry(f"door#{gone}")


@pytest.mark.parametrize("hours", [0.5, 3])
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_ends_the_later_counts_in_whatever_order_clones_sync(teams, first, hours):
    """The one that was set later, though it be sooner; both clones and a rebuilt ledger say so."""
    team = teams(("door", SECRET))
    (entry,) = team.ids
    set_end(team, 0, entry, team.now + HOUR)
    set_end(team, 1, entry, None)
    last = team.now + hours * HOUR
    set_end(team, 1, entry, last)
    for which in (first, 1 - first, first):
        team.sync(which)
    ends = [team.notes[x].read_kept_entry(f"door#{entry}").expires for x in (0, 1)]
    assert ends == [last, last]
    assert team.notes[0].ledger.digest() == team.notes[1].ledger.digest()


def test_a_clock_that_is_slow_does_not_undo_what_its_clone_decides_last(team):
    """Who knew of the other end decides after it."""
    entry = team.write(0, "door", SECRET)
    set_end(team, 0, entry, team.now + HOUR)
    team.sync(0)
    team.sync(1)
    team.now -= timedelta(days=1)
    set_end(team, 1, entry, None)
    team.now += timedelta(days=2)
    assert SECRET[:20] in listed(team, 1)[0]
    team.sync(1)
    team.sync(0)
    assert SECRET[:20] in listed(team, 0)[0]


def test_what_was_swept_is_whole_again_if_it_is_to_stay(team):
    """Its first line is read from git, though the ledger had lost it."""
    entry = team.write(0, "door", SECRET, expires=team.now + HOUR)
    team.now += HOUR
    ledger = team.notes[0].ledger
    ledger.catch_up()
    ledger.sweep([entry])
    held = (team.folder / "Ann.db").read_bytes()
    assert b"bakery" not in held
    assert ledger.list_ends() == []
    set_end(team, 0, entry, None)
    assert SECRET[:20] in listed(team, 0)[0]


def test_a_history_that_was_rewritten_keeps_the_ends(teams):
    """Of what was written since the last sync, in the clone that takes the new history."""
    team = teams(("door", SECRET), ("door", "It is blue."))
    entry, plain = team.ids
    own = team.write(1, "garden", "A pear tree.", expires=team.now + HOUR)
    other = team.write(1, "garden", "A plum tree.")
    set_end(team, 1, other, team.now + HOUR, "garden")
    set_end(team, 1, plain, team.now + HOUR)
    forget(team, 0, entry)
    team.git(0, "push", "--force", "-q", "origin", "main")
    team.sync(1, accept_loss=True)
    team.sync(0)
    team.now += HOUR + HOUR
    for which in (0, 1):
        assert (listed(team, which), listed(team, which, "garden")) == ([], [])
        assert {x.id for x in team.notes[which].ledger.list_expired()} == {own, other, plain}


def test_an_entry_by_hand_expires_though_its_history_is_rewritten(team):
    """Its id follows from a file that is changed then: it is given that id for good."""
    team.hand(0, "By hand: the lock is new.", door=f"{SECRET}\n")
    (line,) = team.notes[0].list_entries("door")
    assert line.id
    set_end(team, 0, line.id, team.now + HOUR)
    gone = team.write(0, "door", SECRET)
    forget(team, 0, gone)
    assert "bakery" not in team.git(0, "log", "-p")
    assert listed(team, 0)[-1] == "By hand: the lock is new."
    team.now += HOUR
    assert "By hand: the lock is new." not in listed(team, 0)


def test_an_entry_by_hand_stays_in_both_its_sections(team):
    """What is cut elsewhere leaves its id, and so it keeps its place in either."""
    team.hand(0, "The lock is new.", door="A lock.\n", garden="A gate.\n")
    (line,) = team.notes[0].list_entries("door")
    set_end(team, 0, line.id, team.now + HOUR)
    forget(team, 0, team.write(0, "door", SECRET))
    assert "bakery" not in team.git(0, "log", "-p")
    assert (listed(team, 0)[-1], listed(team, 0, "garden")) == (line.summary, [line.summary])
    assert [x.id for x in team.notes[0].list_entries("garden")] == [line.id]
    team.now += HOUR
    assert line.summary not in listed(team, 0) + listed(team, 0, "garden")


def test_an_entry_by_hand_that_took_out_what_is_cut_stays_expired(team):
    """Once nothing is left there to take out, it is read as an entry of the other section alone."""
    team.hand(0, "The lock is new.", door=f"A lock.\n\n{SECRET}\n")
    forgotten = cutter(shingles_of(SECRET))(f"A lock.\n\n{SECRET}\n".encode()).decode()
    team.hand(0, "Say less.", door=forgotten, garden="A gate.\n")
    (line,) = team.notes[0].list_entries("garden")
    set_end(team, 0, line.id, team.now + HOUR, "garden")
    team.now += HOUR
    forget(team, 0, team.write(0, "door", SECRET))
    assert listed(team, 0, "garden") == []


@pytest.mark.parametrize("way", ["own", "set"])
def test_a_blank_ledger_shows_nothing_of_it(team, way):
    """It is read from the history, which knows what has expired."""
    end = team.now + HOUR
    entry = team.write(0, "door", SECRET, **({"expires": end} if way == "own" else {}))
    if way == "set":
        set_end(team, 0, entry, end)
    team.write(0, "door", "It is blue.")
    team.notes[0].pack()
    team.now += HOUR
    team.notes[0].close()
    (team.folder / "Ann.db").unlink()
    assert listed(team, 0) == ["It is blue."]


def test_a_rebase_by_hand_keeps_both_kinds(teams):
    """A commit that says when an entry expires changes no file, and git keeps it all the same."""
    team = teams(("door", "It is blue."))
    team.write(0, "garden", "A pear tree.")
    team.sync(0)
    own = team.write(1, "door", SECRET, expires=team.now + HOUR)
    other = team.write(1, "door", "It is shut.")
    set_end(team, 1, other, team.now + HOUR)
    team.git(1, "pull", "-q", "--rebase", "origin", "main")
    team.sync(1)
    team.now += 2 * HOUR
    assert listed(team, 1) == ["It is blue."]
    assert {x.id for x in team.notes[1].ledger.list_expired()} == {own, other}


def test_an_export_of_a_swept_notebook_has_no_word_of_it(team):
    """The commit stays, with what it changed; the time of what is yet to expire is exported."""
    gone = team.write(0, "door", SECRET, expires=team.now + HOUR)
    kept = team.write(0, "door", "It is blue.")
    set_end(team, 0, kept, END)
    team.now += HOUR
    items = [*PortableNotebook(team.notes[0]).export_items(None)]
    assert len(items) == 3
    assert "bakery" not in "".join(item.message for item in items)
    assert {x.ref: x.expires for x in items if x.expires} == {ref_of("door", kept): END}
    assert ref_of("door", gone) not in {x.ref for x in items}


@pytest.mark.parametrize("seed", seeds(1, long=(0, 2, 3), whole=range(4, 12)))
def test_a_ledger_that_followed_says_what_one_built_at_once_says(teams, seed):
    """Whatever was written, ended, moved, synced and rebased, in whatever order."""
    chance = random.Random(seed)
    team = teams(("door", "First."))
    entries = team.ids
    for number in range(14):
        which = chance.randrange(2)
        act = chance.choice(["write", "ending", "end", "end", "never", "sync", "sweep"])
        end = team.now + chance.choice([1, 5, 60]) * timedelta(minutes=1)
        if act in {"write", "ending"}:
            more = {"expires": end} if act == "ending" else {}
            entries.append(team.write(which, "door", f"Number {number}.", **more))
        elif act == "sync":
            team.sync(which)
        elif act == "sweep":
            team.now += timedelta(minutes=2)
            notes = team.notes[which]
            notes.ledger.catch_up()
            notes.ledger.sweep([x.id for x in notes.ledger.list_expired()])
        else:
            entry = chance.choice(entries)
            if team.notes[which].ledger.by_id(entry):
                set_end(team, which, entry, None if act == "never" else end)
    for which in (0, 1, 0):
        team.sync(which)
    found = []
    for which in (0, 1):
        notes = team.notes[which]
        notes.ledger.catch_up()
        built = Ledger(notes.repo, team.folder / f"built{which}.db", notes.clock)
        built.catch_up()
        assert built.digest() == notes.ledger.digest()
        assert built.newest("door", length=99) == notes.ledger.newest("door", length=99)
        found.append(listed(team, which))
        built.close()
    assert found[0] == found[1]
