"""What a forked rollout of Codex repeats is kept once, and what was said in the fork is kept."""

from __future__ import annotations

import pytest
from tests.journals.transcripts.originals import (
    add_lines,
    clock,
    codex_message,
    codex_meta,
    codex_session,
    codex_turn,
    write_lines,
)

from commonplace.core.redact import Screen
from commonplace.journals.transcripts.copying import Kept, copy_new
from commonplace.journals.transcripts.store import TranscriptStore

PARENT, FORK, GRANDCHILD = (codex_session(second) for second in (0, 100, 200))
SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}


@pytest.fixture
def store(tmp_path):
    made = TranscriptStore(str(tmp_path / "transcripts"), screen=Screen(lambda: b"k" * 32))
    yield made
    made.close()


def rollout(folder, session, *lines):
    return write_lines(folder / f"rollout-2026-11-22T10-00-00-{session}.jsonl", *lines)


def meta(session, *, second=0, **more):
    return codex_meta(session, **more) | {"timestamp": clock(second)}


def turn(began, *said, second, ids=""):
    """A turn of the user's words and an answer to each, written at a second."""
    lines = [codex_turn(began, second=second)]
    for number, text in enumerate(said):
        own = f"msg_{ids}{began:08}{number:020}" if ids else ""
        lines.append(codex_message(text, own=own, second=second))
        lines.append(codex_message("Done.", role="assistant", own="msg_1", second=second + 1))
    return lines


def parent_lines():
    return [
        meta(PARENT),
        *turn(1, "Plan the move.", second=1),
        *turn(11, "ok", second=11),
        *turn(21, "ok", second=21),
    ]


def copied_lines(second=100, ids=""):
    """The same as Codex copies them: written at once, with the turns' own ids."""
    return [
        meta(PARENT, second=second),
        *turn(1, "Plan the move.", second=second, ids=ids),
        *turn(11, "ok", second=second, ids=ids),
        *turn(21, "ok", second=second, ids=ids),
    ]


def fork_lines(*said, ids=""):
    begun = meta(FORK, second=100, forked_from_id=PARENT)
    return [begun, *copied_lines(ids=ids), *turn(100, *said, second=100)]


def copy(store, *paths, subagents=False):
    kept = Kept(subagents=subagents)
    return [copy_new(store, "codex", path, kept=kept).copied for path in paths]


def asked(store):
    """What users are kept to have said, by session."""
    return {
        x.name: [m.text for m in store.read("codex", x.name) if m.role == "user"]
        for x in store.sessions()
    }


SAID = ["Plan the move.", "ok", "ok"]


@pytest.mark.parametrize("ids", ["", "new"])
@pytest.mark.parametrize("parent_first", [True, False])
def test_a_fork_repeats_nothing(store, tmp_path, ids, parent_first):
    """Without ids, or with new ones; also what the user says there again, right away."""
    parent = rollout(tmp_path, PARENT, *parent_lines())
    fork = rollout(tmp_path, FORK, *fork_lines("Plan the move.", "And the boxes?", ids=ids))
    copy(store, *((parent, fork) if parent_first else (fork, parent)))
    own = ["Plan the move.", "And the boxes?"]
    found = asked(store)
    assert found.pop(FORK) == (own if parent_first else SAID + own)
    assert found == ({PARENT: SAID} if parent_first else {})
    times = [m.at for m in store.read("codex", PARENT if parent_first else FORK)]
    assert times[:6:2] == [clock(1), clock(11), clock(21)]


def test_a_rollout_that_codex_rewrote_repeats_nothing(store, tmp_path):
    """`codex migrate-rollouts` leaves out the parent's first line, and keeps what was copied."""
    parent = rollout(tmp_path, PARENT, *parent_lines())
    lines = fork_lines("ok")
    copy(store, parent, rollout(tmp_path, FORK, *lines))
    lines[0]["ordinal"] = 0
    copy(store, rollout(tmp_path, FORK, lines[0], *lines[2:]))
    paginated = meta(GRANDCHILD, second=200, forked_from_id=PARENT, history_base={})
    copy(store, rollout(tmp_path, GRANDCHILD, paginated, *turn(200, "ok", second=200)))
    assert asked(store) == {PARENT: SAID, FORK: ["ok"], GRANDCHILD: ["ok"]}


def test_the_fork_of_a_fork_repeats_nothing(store, tmp_path):
    """It has the lines of both."""
    parent = rollout(tmp_path, PARENT, *parent_lines())
    fork = rollout(tmp_path, FORK, *fork_lines("And the boxes?"))
    begun = meta(GRANDCHILD, second=200, forked_from_id=FORK)
    lines = [
        begun,
        meta(FORK, second=200),
        *copied_lines(200),
        *turn(100, "And the boxes?", second=200),
        *turn(201, "And the lamps?", second=201),
    ]
    copy(store, rollout(tmp_path, GRANDCHILD, *lines), fork, parent)
    assert asked(store) == {GRANDCHILD: [*SAID, "And the boxes?", "And the lamps?"]}
    copy(store, rollout(tmp_path, GRANDCHILD, *lines[:-2]), fork, parent)
    assert sum(map(len, asked(store).values())) == 5


@pytest.mark.parametrize("place", ["day", "archive", "packed"])
def test_the_parent_is_found_where_codex_keeps_it(store, tmp_path, place):
    """In the folder of its day, in the archive, packed."""
    folder = tmp_path / "sessions" / "2026" / "12" / "24"
    fork = rollout(folder, FORK, *fork_lines("And the boxes?"))
    day = tmp_path / "sessions" / "2026" / "11" / "22"
    elsewhere = tmp_path / "archived_sessions"
    parent = rollout(elsewhere if place == "archive" else day, PARENT, *parent_lines())
    if place == "packed":
        zstd = pytest.importorskip("backports.zstd")
        packed = zstd.compress((tmp_path / parent).read_bytes())
        (day / f"rollout-2026-11-22T10-00-00-{PARENT}.jsonl.zst").write_bytes(packed)
        (day / f"rollout-2026-11-22T10-00-00-{PARENT}.jsonl").unlink()
        parent += ".zst"
    copy(store, fork, parent)
    assert asked(store) == {FORK: [*SAID, "And the boxes?"]}


def test_a_parent_that_is_not_there_is_kept_once(store, tmp_path):
    """By the first of its forks; where it comes later, nothing of it is kept twice."""
    fork = rollout(tmp_path, FORK, *fork_lines("And the boxes?"))
    other = [meta(GRANDCHILD, second=200), *copied_lines(200), *turn(200, "Other.", second=200)]
    second = rollout(tmp_path, GRANDCHILD, *other)
    copy(store, fork, second)
    assert asked(store) == {FORK: [*SAID, "And the boxes?"], GRANDCHILD: ["Other."]}
    assert [m.at for m in store.read("codex", FORK)][:6:2] == [clock(1), clock(11), clock(21)]
    late = rollout(tmp_path, PARENT, *parent_lines(), *turn(31, "ok", second=31))
    third = rollout(tmp_path, codex_session(300), meta(codex_session(300)), *copied_lines(300))
    copy(store, third, late)
    assert asked(store)[PARENT] == ["ok"]
    assert sum(map(len, asked(store).values())) == 6


def test_a_parent_of_which_only_our_copy_is_left_is_not_repeated(store, tmp_path):
    """Its secrets are replaced there."""
    token = "ghp_" + "a1B2" * 9
    said = turn(1, f"Use {token}.", second=1)
    parent = rollout(tmp_path, PARENT, meta(PARENT), *said)
    copy(store, parent)
    (tmp_path / parent).unlink()
    begun = [meta(FORK, second=100), meta(PARENT, second=100)]
    again = turn(1, f"Use {token}.", second=100)
    fork = rollout(tmp_path, FORK, *begun, *again, *turn(101, "Go.", second=101))
    copy(store, fork)
    assert asked(store)[FORK] == ["Go."]


@pytest.mark.parametrize("is_there", [True, False])
def test_what_was_deleted_does_not_come_back_by_a_fork(store, tmp_path, is_there):
    """A session as a whole, whether or not Codex still has it."""
    parent = rollout(tmp_path, PARENT, *parent_lines())
    copy(store, parent)
    store.delete("codex", PARENT)
    if not is_there:
        (tmp_path / parent).unlink()
    copy(store, rollout(tmp_path, FORK, *fork_lines("And the boxes?")))
    assert asked(store) == {FORK: ["And the boxes?"]}


@pytest.mark.parametrize("subagents", [True, False])
def test_a_sub_agent_repeats_nothing(store, tmp_path, subagents):
    """With a copy or with its parent's first line alone; what it leaves out of its own is counted."""
    parent = rollout(tmp_path, PARENT, *parent_lines())
    begun = meta(FORK, second=100, source=SPAWNED, thread_source="subagent")
    own = turn(100, "Look.", second=100)
    whole = rollout(tmp_path, FORK, begun, *copied_lines(), *own)
    bare = rollout(
        tmp_path,
        GRANDCHILD,
        meta(GRANDCHILD, second=200, source=SPAWNED),
        meta(PARENT, second=200),
        *turn(200, "Look there.", second=200),
    )
    copy(store, parent)
    kept = Kept(subagents=subagents)
    done = [copy_new(store, "codex", path, kept=kept) for path in (whole, bare)]
    assert [x.copied for x in done] == ([2, 2] if subagents else [0, 0])
    counts = [{x.kind: n for x, n in each.left_out.items()} for each in done]
    left_out = {} if subagents else {"message of a sub-agent": 2}
    assert counts == [left_out, left_out]
    assert asked(store)[PARENT] == SAID
    sides = {m.sidechain for m in store.read("codex", FORK)}
    assert sides == ({True} if subagents else set())


def test_where_no_turn_says_when_it_was_begun_the_time_of_the_lines_does(store, tmp_path):
    """The first versions had no turns: a copy is written at once, and nobody types so soon."""
    words = [codex_message(text, second=second) for text, second in (("One.", 1), ("Two.", 9))]
    parent = rollout(tmp_path, PARENT, meta(PARENT), *words)
    again = [codex_message(text, second=100) for text in ("One.", "Two.")]
    own = codex_message("One.", second=130)
    fork = rollout(tmp_path, FORK, meta(FORK, second=100), meta(PARENT, second=100), *again, own)
    copy(store, parent, fork)
    assert asked(store) == {PARENT: ["One.", "Two."], FORK: ["One."]}


def test_turns_whose_ids_have_no_time_say_when_they_were_begun(store, tmp_path):
    """As those of the first versions that had ids."""
    uuid = "{:08x}-{:04x}-4000-8000-000000000001"
    once = [codex_turn(1, second=1, uuid=uuid), codex_message("One.", second=1)]
    again = [codex_turn(1, second=100, uuid=uuid), codex_message("One.", second=100)]
    own = [codex_turn(101, second=101, uuid=uuid), codex_message("One.", second=101)]
    parent = rollout(tmp_path, PARENT, meta(PARENT), *once)
    fork = rollout(tmp_path, FORK, meta(FORK, second=100), meta(PARENT, second=100), *again, *own)
    copy(store, fork, parent)
    assert asked(store) == {FORK: ["One.", "One."]}


@pytest.mark.parametrize("is_there", [True, False])
def test_it_does_not_matter_in_which_pieces_a_fork_is_read(store, tmp_path, is_there):
    """Line by line as it is written, in copies that are limited, and from its beginning again."""
    parent = rollout(tmp_path, PARENT, *parent_lines())
    if is_there:
        copy(store, parent)
    (tmp_path / parent).unlink(missing_ok=not is_there)
    if is_there:
        parent = rollout(tmp_path, PARENT, *parent_lines())
    lines = fork_lines("ok", "And the boxes?")
    fork = rollout(tmp_path, FORK, lines[0])
    for line in lines[1:]:
        add_lines(fork, line)
        copy(store, fork)
    wanted = ([] if is_there else SAID) + ["ok", "And the boxes?"]
    assert asked(store)[FORK] == wanted
    again = rollout(tmp_path / "2026", FORK, *lines)
    rounds = 0
    while copy_new(store, "codex", again, kept=Kept(), limit_bytes=300).has_more:
        rounds += 1
    assert rounds > 3
    assert asked(store)[FORK] == wanted


@pytest.mark.parametrize(
    "line",
    [
        {"id": None},
        {"id": "../x"},
        {"id": FORK},
        {"id": "é"},
        {"id": "ffffffff-ffff-7fff-bfff-ffffffffffff"},
        {},
    ],
)
def test_what_names_no_parent_is_read_as_it_stands(store, tmp_path, line):
    """A first line of another session whose id is none, a path, or the fork's own."""
    copied = meta("x", second=100)
    copied["payload"] = line
    fork = rollout(tmp_path, FORK, meta(FORK, second=100), copied, *turn(1, "A.", second=100))
    assert copy(store, fork) == [2]


def test_forks_of_each_other_end(store, tmp_path):
    """No Codex writes them; what they say is kept."""
    one = rollout(tmp_path, PARENT, meta(PARENT), meta(FORK), *turn(-1, "A.", second=100))
    two = rollout(tmp_path, FORK, meta(FORK), meta(PARENT), *turn(-1, "B.", second=200))
    assert copy(store, one, two) == [2, 2]
