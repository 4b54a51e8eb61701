"""The toolsets of many owners: one list, and each call on its own owner's journals."""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_types import CreateMessageResult, TextContent
from msgspec.structs import replace
from server.tests.http.test_isolation import READS, WRITES
from server.tests.http_world import home
from tests.patience import PATIENCE_S

from commonplace.app import App, Apps
from commonplace.config.settings import read_settings
from commonplace.core import standstill
from commonplace.core.errors import CommonplaceError, Internal
from commonplace.core.files import locked
from commonplace.doors.mcp_offer import McpOffer
from commonplace.verbs.session import Session, current_session, within
from commonplace_server.http.concurrency import QUESTIONS_OF_ONE, ConcurrencyLimit
from commonplace_server.http.per_owner import PerOwner
from commonplace_server.http.preload import AGAIN_S, WarmedApps
from commonplace_server.mcp.server import make_server
from commonplace_testing.language import ScriptedLanguage


@pytest.fixture
def apps(words_only):
    settings = read_settings(flags={"toolsets": "all"}, cwd=Path.cwd(), home=Path.home())
    opened = Apps(settings, user_home=Path.home())
    yield opened
    opened.close()


@pytest.fixture
def sample(apps):
    return App(apps.settings, user_home=None, shared=apps.shared).toolsets()


def test_a_call_is_its_sessions_owners(apps, sample):
    """And nobody's where no session is set."""
    shared = PerOwner(apps, sample, concurrency=ConcurrencyLimit()).toolsets
    save, found = shared["memory-write"].tool("memory_save"), shared["memory"].tool("memory_search")
    with within(Session("ann")):
        save.call({"kind": "todo", "title": "Buy cables"})
        assert "cables" in found.call({"query": "cables"}).text
    with within(Session("bob")):
        assert "Buy" not in found.call({"query": "cables"}).text
    with pytest.raises(Internal, match="without an owner"):
        found.call({"query": "cables"})
    assert current_session() is None


def test_what_expires_is_noted_for_its_owner(apps, sample):
    """And for nobody else, whoever's toolsets lent their schemas."""
    shared = PerOwner(apps, sample, concurrency=ConcurrencyLimit()).toolsets
    save = shared["private"].tool("process_thoughts")
    with within(Session("ann")):
        ref = save.call({"feelings": "Glad.", "expires": "in 2 days"}).facts["ref"]
    noted = {}
    for owner in ("ann", apps.settings.owner):
        with apps.using(owner) as app:
            noted[owner] = ref in app.expiry_book.find([ref])
    assert noted == {"ann": True, apps.settings.owner: False}


def test_all_of_each_toolset_is_there_under_its_own_words(apps, sample):
    """HostNames, schemas, effects, aliases, resources and prompts are those of any owner."""
    shared = PerOwner(apps, sample, concurrency=ConcurrencyLimit()).toolsets
    for toolset in sample:
        same = shared[toolset.name]
        assert same.instructions == toolset.instructions
        assert [
            (x.name, x.description, x.schema, x.effects, x.aliases, x.samples) for x in same.tools
        ] == [
            (x.name, x.description, x.schema, x.effects, x.aliases, x.samples)
            for x in toolset.tools
        ]
        with within(Session("ann")):
            assert all(isinstance(x.read(), str) for x in same.resources)
            assert [x.write() for x in same.prompts] == [x.write() for x in toolset.prompts]


def test_the_clients_model_is_asked_few_questions_at_a_time(apps, sample):
    """While so many of its owner wait, a call does without; another owner's is asked."""
    concurrency = ConcurrencyLimit()
    merge = PerOwner(apps, sample, concurrency=concurrency).toolsets["notebook"]
    merge = merge.tool("journal_synthesize_conflict")
    sides = {"section": "api", "version_a": "A.\n\nB.", "version_b": "A.\n\nC."}
    model = ScriptedLanguage("A.\n\nB.\n\nC.")
    with ExitStack() as waiting:
        for _ in range(QUESTIONS_OF_ONE):
            waiting.enter_context(concurrency.asking("ann", object()))
        with within(Session("ann")):
            told = merge.call(sides, sampler=model).facts
        assert told["made_by"] == "merge"
        assert "4 questions open already" in told["notes"][0]
        with within(Session("bob")):
            assert merge.call(sides, sampler=model).facts["made_by"] == "client"
    with within(Session("ann")):
        assert merge.call(sides, sampler=model).facts["made_by"] == "client"
        assert merge.call(sides).facts["made_by"] == "merge"


@pytest.mark.parametrize(("mode", "made_by"), [("legacy", "merge"), ("2026-07-28", "client")])
def test_an_answer_that_comes_with_the_call_is_waited_for_by_nobody(apps, sample, mode, made_by):
    """Since 2026-07-28 a client is asked by the end of a call: it is paid for, and taken."""
    concurrency = ConcurrencyLimit()
    server = make_server(
        McpOffer(
            [PerOwner(apps, sample, concurrency=concurrency).toolsets["notebook"]], structured=True
        )
    )
    asked = []

    async def model(_context, params):
        asked.append(params)
        content = TextContent(type="text", text="A.\n\nB.\n\nC.")
        return CreateMessageResult(role="assistant", content=content, model="ours-1")

    async def merged():
        sides = {"section": "api", "version_a": "A.\n\nB.", "version_b": "A.\n\nC."}
        async with Client(server, mode=mode, sampling_callback=model) as client:
            return await client.call_tool("journal_synthesize_conflict", sides)

    with ExitStack() as waiting, within(Session("ann")):
        for _ in range(QUESTIONS_OF_ONE):
            waiting.enter_context(concurrency.asking("ann", object()))
        told = anyio.run(merged).structured_content
    assert told["made_by"] == made_by
    assert len(asked) == (made_by == "client")


class FakeApps:
    """Gives each owner an app that only notes that it was warmed up, and that this failed."""

    def __init__(self):
        self.open = {}
        self.seen = []
        self.warmed = threading.Semaphore(0)
        self.may_warm = threading.Event()
        self.may_warm.set()
        self.work = lambda: None

    @contextmanager
    def using(self, owner):
        if owner not in self.open:
            self.open[owner] = FakeApp(self, owner)
        yield self.open[owner]


class FakeApp:
    def __init__(self, apps, owner):
        self.apps = apps
        self.owner = owner

    def warm_up(self):
        self.apps.seen.append(self.owner)
        self.apps.warmed.release()
        self.apps.may_warm.wait(PATIENCE_S)
        self.apps.work()
        raise Internal("No.")


def use(warm, *owners):
    for owner in owners:
        with warm.using(owner) as app:
            assert app.owner == owner


def test_an_app_is_warmed_up_once_behind_its_first_use():
    """A failure stops nothing."""
    apps = FakeApps()
    use(WarmedApps(apps), "ann", "ann", "bob", "ann")
    for _ in range(2):
        assert apps.warmed.acquire(timeout=PATIENCE_S)
    assert apps.seen == ["ann", "bob"]


def test_who_comes_back_soon_is_not_warmed_up_again():
    """Owners whose apps are closed for each other's are not looked through at each return."""
    apps, now = FakeApps(), [0.0]
    warm = WarmedApps(apps, monotonic=lambda: now[0])
    comes = [(0, "ann", 1), (AGAIN_S - 1, "ann", 0), (AGAIN_S - 1, "bob", 1), (AGAIN_S, "ann", 1)]
    for at, owner, warmed in comes:
        apps.open.clear()
        now[0] = at
        use(warm, owner)
        for _ in range(warmed):
            assert apps.warmed.acquire(timeout=PATIENCE_S)
    assert apps.seen == ["ann", "bob", "ann"]


def test_what_was_closed_before_its_turn_is_not_opened_for_it():
    """Only whoever is still there is warmed up."""
    apps = FakeApps()
    apps.may_warm.clear()
    warm = WarmedApps(apps)
    use(warm, "ann")
    assert apps.warmed.acquire(timeout=PATIENCE_S)
    use(warm, "bob", "carl")
    del apps.open["bob"]
    apps.may_warm.set()
    assert apps.warmed.acquire(timeout=PATIENCE_S)
    assert apps.seen == ["ann", "carl"]


def test_a_lock_that_another_keeps_takes_no_turn_away(tmp_path, monkeypatch):
    """As that of a process which is stopped: who comes later is warmed up."""
    monkeypatch.setattr(standstill, "ANSWERED_S", 0.0)
    monkeypatch.setattr(standstill, "_LEAST_S", 0.0)
    apps = FakeApps()
    apps.work = lambda: locked(tmp_path).__enter__()
    with locked(tmp_path):
        use(WarmedApps(apps), "ann", "bob")
        for _ in range(2):
            assert apps.warmed.acquire(timeout=PATIENCE_S)


def spoiled(folder):
    """Every file of a user's journals is another thing than it was, and two are no folders."""
    for file in [*folder.rglob("*")]:
        if file.is_file():
            file.write_bytes(b"no such thing")
    for journal in ("private", "notebook"):
        shutil.rmtree(folder / journal)
        (folder / journal).write_text("a file")


def blocked(folder):
    """Where a file was there is a folder now."""
    for file in [*folder.rglob("*")]:
        if file.is_file():
            file.unlink()
            file.mkdir()


@pytest.mark.parametrize("spoil", [spoiled, blocked])
def test_no_answer_tells_where_on_the_server_things_lie(tmp_path, apps, sample, spoil):
    """Errors, notes and pages over broken journals, by every tool; whoever is here is told."""
    shared = PerOwner(apps, sample, concurrency=ConcurrencyLimit()).toolsets.values()
    tools = {x.name: x for toolset in shared for x in toolset.tools}
    with within(Session("ann")):
        for name, given in WRITES.items():
            tools[name].call(given)
    apps.close()
    spoil(home() / "users" / "ann")

    calls = [*WRITES.items(), *((name, x) for name, asked in READS.items() for x in asked)]
    apps = Apps(apps.settings, user_home=Path.home())
    shared = PerOwner(apps, sample, concurrency=ConcurrencyLimit()).toolsets.values()
    tools = {x.name: x for toolset in shared for x in toolset.tools}
    with within(Session("ann")):
        heard = [(name, heard_of(tools[name].call, given)) for name, given in calls]
        heard += [(x.uri, heard_of(x.read)) for toolset in shared for x in toolset.resources]
    assert not [(name, told) for name, told in heard if str(tmp_path) in told]
    with apps.using("ann") as app:
        plain = {x.name: x for toolset in app.toolsets() for x in toolset.tools}
        told = [heard_of(plain[name].call, given) for name, given in calls]
    assert sum(str(tmp_path) in x for x in told) >= 5
    apps.close()


def heard_of(run, *given):
    """All that comes back of a call."""
    try:
        answer = run(*given)
    except CommonplaceError as exc:
        return f"{exc}{exc.facts}"
    return answer if isinstance(answer, str) else f"{answer.text}{answer.facts}"


def test_the_language_models_host_is_left_out(apps, sample):
    """Its model is named, and what is wrong; neither host nor port, nor whom it is asked as."""
    url = "http://user:pw@127.0.0.1:1/v1"
    asked = replace(apps.settings.llm, url=url, model="qwen", timeout_s=30.0)
    settings = replace(apps.settings, llm=asked)
    opened = Apps(settings, user_home=Path.home())
    merge = PerOwner(opened, sample, concurrency=ConcurrencyLimit()).toolsets["notebook"]
    merge = merge.tool("journal_synthesize_conflict")
    sides = {"section": "api", "version_a": "A.\n\nB.", "version_b": "A.\n\nC."}
    with within(Session("ann")):
        answer = merge.call(sides)
    opened.close()
    assert "did not make this: qwen cannot be reached" in answer.text
    assert not [x for x in ("127.0.0.1", "pw") if x in f"{answer.text}{answer.facts}"]


def test_a_guess_is_not_confirmed(apps, sample):
    """No path of the server opens an entry, be there one or not; a ref does, or what it ends in."""
    toolsets = PerOwner(apps, sample, concurrency=ConcurrencyLimit()).toolsets
    private = toolsets["private"]
    read = private.tool("read_journal_entry").call
    amend = toolsets["recall"].tool("amend").call
    with within(Session("ann")):
        written = private.tool("process_thoughts").call({"feelings": "Glad of ochre."})
        (ref,) = written.facts["refs"]
        inside = f"{ref.removeprefix('private:user/')}.md"
        own = home() / "users" / "ann" / "private"
        for path in (ref, inside):
            assert "Glad of ochre." in read({"path": path}).text
        guesses = [own / inside, own / "x.md", own, home() / "users" / "bob" / "private" / "x.md"]
        guesses += [Path("/srv/elsewhere"), Path("/srv/elsewhere/x.md"), Path("/")]
        told = {heard_of(read, {"path": str(path)}) for path in guesses}
        told |= {heard_of(amend, {"ref": str(path), "delete": True}) for path in guesses}
        assert "Glad of ochre." in read({"path": ref}).text
    assert len(told) == 1
    assert "Use a ref" in told.pop()


GUESSES = ["{}", "/srv/a {} /srv/b"]
MORE_GUESSES = ["notebook:{}#x", "timeline:{}", "at " * 9 + "{}" + "x" * 99]


def said_of_the_server(run, *given):
    """The error of a call, or the notes of its answer: nothing that a user wrote."""
    try:
        answer = run(*given)
    except CommonplaceError as exc:
        return f"{exc}{exc.facts}"
    return str(answer.facts.get("notes"))


@pytest.mark.parametrize("guesses", [GUESSES, pytest.param(MORE_GUESSES, marks=pytest.mark.long)])
def test_no_tool_confirms_a_guess_that_it_repeats(apps, sample, guesses):
    """Whatever argument it is given in: a right one is repeated as often as a wrong one."""
    shared = PerOwner(apps, sample, concurrency=ConcurrencyLimit()).toolsets.values()
    tools = [x for toolset in shared for x in toolset.tools]
    right = str(home())
    wrong = f"/{'w' * (len(right) - 1)}"
    confirmed = []
    with within(Session("ann")):
        for tool in tools:
            usual = WRITES.get(tool.name) or READS[tool.name][0]
            for name, guess in product(tool.schema["properties"], guesses):
                for given in (guess, [guess]):
                    repeated = [
                        said_of_the_server(
                            tool.call,
                            json.loads(json.dumps({**usual, name: given}).replace("{}", x)),
                        )
                        .lower()
                        .count(x.lower())
                        for x in (right, wrong)
                    ]
                    if repeated[0] != repeated[1]:
                        confirmed.append((tool.name, name, given))
    assert confirmed == []
