"""Where each setting comes from, what is refused, and what a project's file may not do."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.cases import cases
from tests.repositories import add_work_tree, make_repository

from commonplace.config.settings import read_settings, render_setting, user_file, write_setting
from commonplace.config.table import SETTINGS
from commonplace.core.errors import Invalid

KNOWN = ("private", "chronicle", "recall")


@pytest.fixture
def home(tmp_path):
    """The user's home folder."""
    return tmp_path / "home"


@pytest.fixture
def project(home):
    """A project below the home."""
    folder = home / "work" / "project"
    folder.mkdir(parents=True)
    return folder


def write(file, text):
    """Write a settings file and its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def read(project, home, *, flags=None, **env):
    """The settings of a process that stands in the project."""
    environ = {**os.environ, **env}
    return read_settings(flags=flags, environ=environ, cwd=project, home=home, toolsets=KNOWN)


def row(key):
    """One row of the table."""
    return next(setting for setting in SETTINGS if setting.key == key)


# Four different values of each setting: flag, environment, project or home file, user file.
VALUES = {
    "home": ["a", "b", "c", "d"],
    "owner": ["a", "b", "c", "d"],
    "project": ["a", "b", "c", "d"],
    "timezone": ["Asia/Kathmandu", "Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe"],
    "toolsets": ["private", "recall", "chronicle", "all"],
    "read_only": ["true", "false", "true", "false"],
    "structured": ["true", "false", "true", "false"],
    "preload": ["true", "false", "true", "false"],
    "log": ["a", "b", "c", "d"],
    "private.path": ["a", "b", "c", "d"],
    "private.user_path": ["a", "b", "c", "d"],
    "private.both_path": ["a", "b", "c", "d"],
    "private.share_with_llm": ["true", "false", "true", "false"],
    "chronicle.path": ["a", "b", "c", "d"],
    "notebook.path": ["a", "b", "c", "d"],
    "notebook.author": ["a", "b", "c", "d"],
    "notebook.auto_gc": ["true", "false", "true", "false"],
    "notebook.half_life_days": ["1", "2.5", "30", "4"],
    "notebook.minimum_salience": ["0", "0.25", "0.5", "1"],
    "notebook.min_score": ["0", "0.25", "0.5", "-1"],
    "notebook.max_results": ["1", "2", "3", "4"],
    "notebook.context_weight": ["0", "0.25", "0.5", "1"],
    "notebook.content_weight": ["0", "0.25", "0.5", "1"],
    "timeline.retention": ["off", "design", "raw=30d", "design,raw=never"],
    "timeline.grace_minutes": ["0", "1.5", "30", "60"],
    "timeline.feed": ["private", "notebook", "chronicle", "private"],
    "memory.top_k": ["1", "2", "3", "4"],
    "memory.min_score": ["0", "0.25", "0.5", "-1"],
    "memory.recency": ["0", "0.25", "0.5", "1"],
    "transcripts.capture": ["true", "false", "true", "false"],
    "transcripts.tools": ["none", "names", "all", "none"],
    "transcripts.subagents": ["true", "false", "true", "false"],
    "transcripts.retain_days": ["0", "30", "90.0", "365"],
    "transcripts.client_memory": ["true", "false", "true", "false"],
    "database.url": ["a", "b", "c", "d"],
    "database.worker_url": ["a", "b", "c", "d"],
    "database.admin_url": ["a", "b", "c", "d"],
    "debug": ["true", "false", "true", "false"],
    "serve.address": ["http://a", "https://b/web", "http://127.0.0.1:1", "https://d"],
    "serve.issuer": ["http://a", "https://b/realms/x", "http://127.0.0.1:1", "https://d"],
    "serve.sign_in": ["true", "false", "true", "false"],
    "serve.audience": ["a", "b", "c", "d"],
    "serve.client_id": ["a", "b", "c", "d"],
    "serve.client_secret": ["a", "b", "c", "d"],
    "serve.owner_claim": ["sub", "email", "name", "upn"],
    "serve.groups_claim": ["groups", "roles", "cognito:groups", "wids"],
    "serve.spaces": ["a:read=b", "a:write=b c", "a b:admin=/c", "a:read=b:write=c"],
    "serve.per_second": ["1", "2", "3", "4.5"],
    "serve.at_once": ["1", "2", "3", "4"],
    "serve.most_entries": ["0", "2", "3", "4"],
    "serve.most_bytes": ["0", "2", "3", "4"],
    "serve.drain_seconds": ["0", "2", "3", "4.5"],
    "serve.metrics": ["token", "loopback", "off", "token"],
    "serve.audit_days": ["0", "30", "90", "365"],
    "index.vectors": ["numpy", "chroma", "numpy", "chroma"],
    "encoder.model": ["a", "b", "c", "d"],
    "encoder.folder": ["a", "b", "c", "d"],
    "encoder.auto_download": ["true", "false", "true", "false"],
    "llm.url": ["http://a", "https://b/v1", "http://127.0.0.1:1/v1", "http://d"],
    "llm.shape": ["openai", "anthropic", "openai", "anthropic"],
    "llm.key_variable": ["A_KEY", "B_KEY", "C_KEY", "D_KEY"],
    "llm.model": ["a", "b", "c", "d"],
    "llm.better_model": ["a", "b", "c", "d"],
    "llm.background": ["true", "false", "true", "false"],
    "llm.price": ["1/5", "0.25/1.25", "3/15", "0/0"],
    "llm.better_price": ["1/5", "0.25/1.25", "3/15", "0/0"],
    "llm.timeout_s": ["1", "2.5", "30", "4"],
    "llm.tokens_per_run": ["1", "2", "3", "4"],
    "llm.tokens_per_day": ["0", "2", "3", "4"],
    "secrets.at_write": ["replace", "refuse", "keep", "refuse"],
    "secrets.own": ["one-of-mine", "/two-[0-9]{4}/", "three-of-mine", "four-of-mine"],
    "brief.tokens": ["0", "2", "3", "4"],
    "brief.private": ["notes", "all", "none", "notes"],
    "brief.parts": ["last", "open", "decided", "preferred"],
    "hooks.recall": ["true", "false", "true", "false"],
    "undo.keep_days": ["30", "0", "90.0", "7"],
}

NUMBERS = {
    key
    for key, values in VALUES.items()
    if key.startswith(("notebook.", "memory.")) and "a" not in values
}
NUMBERS -= {"notebook.auto_gc"}
WITH_DEFAULT = {"llm.timeout_s", "llm.tokens_per_run", "llm.tokens_per_day"}
WITH_DEFAULT |= {"brief.tokens", "timeline.grace_minutes", "serve.per_second", "serve.at_once"}
WITH_DEFAULT |= {"serve.drain_seconds", "serve.audit_days", "serve.most_entries"}
WITH_DEFAULT |= {"serve.most_bytes", "transcripts.retain_days", "undo.keep_days"}
NUMBERS |= WITH_DEFAULT


def test_every_setting_is_in_the_table_of_this_test():
    """A new setting gets its precedence tested."""
    assert list(VALUES) == [setting.key for setting in SETTINGS]


@cases("key", VALUES)
def test_the_order_of_origins(key, home, project):
    """Flag before environment before the file in the home folder before the user file."""
    setting = row(key)
    flag, env, upper, user = VALUES[key]
    for name in "abcd":
        (home / name).mkdir(exist_ok=True)
        (project / name).mkdir(exist_ok=True)
    toml = "{room}{name} = {value}\n"
    room, _, name = key.rpartition(".")
    room = f"[{room}]\n" if room else ""

    def put(file, value):
        is_bare = value in {"true", "false"} or key in NUMBERS
        value = value if is_bare else f'"{value}"'
        write(file, toml.format(room=room, name=name, value=value))

    put(home / ".commonplace.toml", upper)
    put(user_file(), user)

    def expected(text, base):
        if key == "toolsets":
            return KNOWN if text == "all" else (text,)
        if key in {"timeline.feed", "brief.parts", "secrets.own", "serve.spaces"}:
            return (text,)
        if key == "timezone":
            return ZoneInfo(text)
        if text in {"true", "false"}:
            return text == "true"
        if key in NUMBERS:
            return float(text)
        paths = ("home", "project", "log", "private.", "chronicle.", "encoder.folder")
        paths += ("notebook.path",)
        return base / text if key.startswith(paths) else text

    def value(**more):
        found = read(project, home, **more)
        return setting.read(found), found.origins[key]

    both = value(flags={key: flag}, **{setting.env: env})
    assert both == (expected(flag, project), f"flag --{key.replace('.', '-').replace('_', '-')}")
    assert value(**{setting.env: env}) == (expected(env, project), f"environment {setting.env}")
    assert value(**{setting.env: ""})[0] == expected(upper, home)
    assert value() == (expected(upper, home), f"{home / '.commonplace.toml'} ({key})")
    (home / ".commonplace.toml").unlink()
    if key == "project":  # relative to the user file's folder
        (user_file().parent / user).mkdir()
    assert value() == (expected(user, user_file().parent), f"{user_file()} ({key})")
    user_file().unlink()
    assert value()[1] == "default"


def test_the_defaults(home, project):
    """Nothing is set at all."""
    settings = read(project, home)
    assert settings.home == home / ".local" / "share" / "commonplace"
    assert settings.owner == "me"
    assert settings.project == project
    assert settings.toolsets == ("default",)
    assert settings.read_only is False
    assert settings.encoder.model == "minilm-l6-v2"
    assert settings.encoder.auto_download is False
    assert settings.notebook.auto_gc is True
    unset = {"log", "private.path", "private.user_path", "private.both_path", "chronicle.path"}
    unset |= {"encoder.folder", "notebook.path", "notebook.author"}
    unset |= {f"llm.{x}" for x in ("url", "key_variable", "model", "better_model")}
    unset |= {"llm.price", "llm.better_price", *(NUMBERS - WITH_DEFAULT)}
    assert {key: row(key).read(settings) for key in unset} == dict.fromkeys(unset)
    assert settings.private.share_with_llm is False
    assert (settings.llm.shape, settings.llm.timeout_s) == ("openai", 120)
    assert set(settings.origins.values()) == {"default"}


@cases(
    ("key", "value"),
    [
        ("llm.url", "ftp://example.org"),
        ("llm.url", "api.openai.com/v1"),
        ("llm.url", "https://me:pass@example.org/v1"),
        ("llm.url", "https://example.org/v1?api-key=0123"),
        ("llm.shape", "soap"),
        ("llm.key_variable", "sk-" + "0123456789abcdef"),
        ("llm.key_variable", "0123456789abcdef0123456789abcdef"),
        ("llm.key_variable", "COMMONPLACE_LLM_KEY"),
        ("llm.timeout_s", "0"),
        ("llm.price", "cheap"),
        ("llm.price", "-1/5"),
    ],
)
def test_what_no_llm_can_be_asked_with(home, project, key, value):
    """No key in an address or a file; what may be a key is not shown again."""
    with pytest.raises(Invalid) as caught:
        read(project, home, **{row(key).env: value})
    assert row(key).env in caught.value.message
    if not value.startswith("COMMONPLACE_"):
        assert key in {"llm.shape", "llm.timeout_s", "llm.price"} or value not in str(caught.value)


def test_no_projects_file_may_say_who_is_asked(home, project):
    """It comes with a clone, and would have what is written sent to its author."""
    for line in ('[llm]\nurl = "https://example.org"', "[private]\nshare_with_llm = true"):
        write(project / ".commonplace.toml", line)
        with pytest.raises(Invalid, match="may not be set there"):
            read(project, home)


def zone_of_a_process(**env):
    """The zone that a fresh process reads (the system's is looked up once a process)."""
    script = (
        "from pathlib import Path; from commonplace.config.settings import read_settings\n"
        "try: print(read_settings(cwd=Path.cwd(), home=Path.home()).timezone.key)\n"
        "except Exception as exc: print(exc)"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()


def test_the_systems_zone_is_the_default():
    """The zone the system tells, by its IANA name."""
    assert zone_of_a_process(TZ="Asia/Kathmandu") == "Asia/Kathmandu"
    assert zone_of_a_process(TZ=":Europe/Berlin") == "Europe/Berlin"


def test_a_system_zone_without_a_name_is_not_guessed():
    """A wrong zone would put entries on wrong days; a named one ends the matter."""
    broken = "EST5EDT,M3.2.0,M11.1.0"
    said = zone_of_a_process(TZ=broken)
    assert said.startswith("The system's time zone cannot be told: TZ is 'EST5EDT,M3.2.0,M11.1.0'")
    assert said.endswith("Set COMMONPLACE_TIMEZONE.")
    assert zone_of_a_process(TZ=broken, COMMONPLACE_TIMEZONE="UTC") == "UTC"


def test_no_project_in_the_home_folder(home):
    """The home itself is nobody's project, unless it is named."""
    assert read(home, home).project is None
    assert read(home, home, COMMONPLACE_PROJECT=str(home)).project == home


def test_the_project_is_the_repository(home):
    """Of the working directory, of a folder that is named, and of every work tree."""
    app = make_repository(home / "app")
    deep = app / "src" / "deep"
    tree = add_work_tree(app, home / "tree")
    for cwd, env in ((deep, {}), (home, {"COMMONPLACE_PROJECT": str(deep)}), (tree / "src", {})):
        settings = read(cwd, home, **env)
        assert (settings.project, settings.origins["project"].split()[0]) == (
            app,
            "environment" if env else "default",
        )
        assert settings.work_folder == (deep if env else cwd)
    assert read(home, home).work_folder is None


def test_a_project_file_may_make_its_folder_the_project(home):
    """It says so of itself, and of no other folder."""
    app = make_repository(home / "app")
    file = write(app / "src" / ".commonplace.toml", 'project = "here"')
    settings = read(app / "src" / "deep", home)
    assert settings.project == app / "src"
    assert settings.origins["project"] == f"{file} (project)"
    assert read(app, home).project == app
    for other in ("..", str(home), "there", "deep", ""):
        write(file, f'project = "{other}"')
        with pytest.raises(Invalid, match='may only be "here" there'):
            read(app / "src", home)


def test_a_journal_inside_the_project_is_one_for_all_work_trees(home):
    """The file that names it lies in each of them, and a work tree is deleted with what it holds."""
    app = make_repository(home / "app")
    tree = add_work_tree(app, home / "tree")
    write(app / ".commonplace.toml", '[private]\npath = "notes"')
    write(tree / ".commonplace.toml", '[private]\npath = "notes"')
    for cwd in (app, tree / "src"):
        settings = read(cwd, home)
        assert settings.private.path == app / "notes"
        assert settings.project_folders == {"private.path": app}


def test_project_files_are_searched_upward_to_the_home(home, project):
    """Nearer files win key by key; what lies above the home is not read."""
    write(home.parent / ".commonplace.toml", "nonsense = 1")
    write(home / ".commonplace.toml", 'owner = "ann"\ntimezone = "Europe/Berlin"')
    write(project.parent / ".commonplace.toml", 'timezone = "Asia/Kathmandu"')
    settings = read(project, home)
    assert (settings.owner, settings.timezone.key) == ("ann", "Asia/Kathmandu")


def test_the_search_starts_at_the_named_project(home, project):
    """With --project the working directory's files do not count."""
    other = home / "other"
    write(other / ".commonplace.toml", "read_only = true")
    write(project / ".commonplace.toml", "nonsense = 1")
    assert read(project, home, flags={"project": str(other)}).read_only is True


def test_a_home_in_a_path_is_the_users(home, project):
    """A tilde stands for the home folder; without one it means nothing."""
    settings = read(project, home, COMMONPLACE_LOG="~/x.log", COMMONPLACE_PRIVATE_USER="~")
    assert (settings.log, settings.private.user_path) == (home / "x.log", home)
    with pytest.raises(Invalid, match="no home"):
        read_settings(environ={"COMMONPLACE_LOG": "~/x"}, cwd=project, home=None)


@cases(
    ("text", "value"),
    [("1", True), ("TRUE", True), ("Yes", True), ("0", False), ("false", False), ("no", False)],
)
def test_booleans_in_the_environment(home, project, text, value):
    """Six words, in any case."""
    assert read(project, home, COMMONPLACE_READ_ONLY=text).read_only is value


@cases(
    ("name", "value", "says"),
    [
        ("COMMONPLACE_READ_ONLY", "maybe", "COMMONPLACE_READ_ONLY is 'maybe'"),
        ("COMMONPLACE_TIMEZONE", "Europe/Berln", "Did you mean Europe/Berlin"),
        ("COMMONPLACE_TIMEZONE", "../../etc/passwd", "Unknown time zone"),
        ("COMMONPLACE_TIMEZONE", "America", "Unknown time zone"),
        ("COMMONPLACE_TOOLSETS", "private,recal", "Did you mean recall"),
        ("COMMONPLACE_TOOLSETS", "all,private", "toolset 'all'"),
        ("COMMONPLACE_TOOLSETS", "recall,all", "Use `all` alone"),
        ("COMMONPLACE_TOOLSETS", ",", "names no toolset"),
        ("COMMONPLACE_OWNER", "a\nb", "control character"),
        ("COMMONPLACE_LOG", "a\tb", "control character"),
        ("COMMONPLACE_PROJECT", "gone", "no folder"),
        ("COMMONPLACE_PROJECT", "x" * 300, "no folder"),
        ("COMMONPLACE_SERVE_SPACES", "team:write=x,team:writes=x", "'team:writes=x' says no role"),
        ("COMMONPLACE_SERVE_SPACES", "team:write= ", "says no role of a group"),
        ("COMMONPLACE_SERVE_SPACES", " :read=x", "says no role of a group"),
        ("COMMONPLACE_ONWER", "ann", "Did you mean COMMONPLACE_OWNER"),
        ("COMMONPLACE_QQQQ", "", "environment variable COMMONPLACE_QQQQ"),
    ],
)
def test_refused_environment(home, project, name, value, says):
    """What cannot be meant is an error that names it and the nearest that could."""
    with pytest.raises(Invalid) as caught:
        read(project, home, **{name: value})
    assert says in str(caught.value)


def test_what_may_be_a_secret_is_in_no_text_of_the_settings(home, project):
    """A database's address, which may hold a password, and what a server shows to a provider."""
    url, more = "postgresql://ann:hunter2@db/x", {"COMMONPLACE_SERVE_CLIENT_SECRET": "hunter2"}
    read_in = read(project, home, COMMONPLACE_DATABASE_URL=url, **more)
    assert (read_in.database.url, read_in.serve.client_secret) == (url, "hunter2")
    assert "hunter2" not in repr(read_in)


@cases(
    ("text", "says"),
    [
        ("onwer = 'a'", "Did you mean owner"),
        ("[private]\npth = 'a'", "Did you mean private.path"),
        ("private = 'a'", "The key 'private'"),
        ("[owner]\nx = 1", "is not a text"),
        ("owner = 3", "is not a text"),
        ("owner = ''", "is empty"),
        ("read_only = 'yes'", "not true or false"),
        ("toolsets = ['private', 1]", "is not a text"),
        ("toolsets = 1", "is not a text"),
        ("owner = 'a'\nlog = ", "line 2"),
    ],
)
def test_refused_user_files(home, project, text, says):
    """Broken TOML names file and line; unknown keys the nearest; wrong types are errors."""
    write(user_file(), text)
    with pytest.raises(Invalid) as caught:
        read(project, home)
    assert says in str(caught.value)
    assert str(user_file()) in str(caught.value)


def test_a_file_that_is_not_text_is_refused(home, project):
    """Bytes that are no UTF-8 are named, not guessed; a byte order mark is fine."""
    user_file().parent.mkdir(parents=True)
    user_file().write_bytes(b"\xef\xbb\xbfowner = 'ann'")
    assert read(project, home).owner == "ann"
    user_file().write_bytes(b"owner = '\xff'")
    with pytest.raises(Invalid, match="not UTF-8"):
        read(project, home)


@cases(
    "text",
    [
        "home = 'x'",
        "owner = 'x'",
        "project = '..'",
        "log = 'x'",
        "[private]\nuser_path = 'x'",
        "[private]\nboth_path = 'x'",
        "[chronicle]\npath = 'x'",
        "[private]\npath = '../elsewhere'",
        "[private]\npath = '/elsewhere'",
        "[private]\npath = 'link/inside'",
        "[private]\npath = '.'",
        "[private]\npath = '.git/refs/heads'",
        "[private]\npath = 'sub/.GIT/notes'",
        "[private]\nboth_path = 'notes'",
        "[private]\nshare_with_llm = true",
        "[notebook]\npath = 'notes'",
        "[timeline]\nfeed = 'private'",
        "[timeline]\nretention = 'design'",
        "[database]\nurl = 'postgresql://example.org/x'",
        "[encoder]\nfolder = 'x'",
        "[encoder]\nmodel = 'x'",
        "[encoder]\nauto_download = true",
    ],
)
def test_a_project_file_may_not_move_private_text(home, project, text):
    """A cloned repository decides neither where private text goes nor which weights are loaded."""
    link = project / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(home)
    write(project / ".commonplace.toml", text)
    with pytest.raises(Invalid, match="not trusted so far") as caught:
        read(project, home, JOURNAL_PATH="set", COMMONPLACE_LOG="set")
    assert str(user_file()) in caught.value.hint


def test_a_project_file_may_say_where_inside(home, project):
    """Below the project, and from a folder further down as well."""
    deeper = project / "src"
    deeper.mkdir()
    write(project / ".commonplace.toml", "[private]\npath = 'notes/journal'")
    for cwd in (project, deeper):
        assert read(cwd, home).private.path == project / "notes" / "journal"


def test_a_folder_that_the_user_named_is_not_moved_by_a_project(home, project):
    """The user's own file goes before the project's, where both name the project's journal."""
    write(project / ".commonplace.toml", "[private]\npath = 'notes'")
    assert read(project, home).project_folders == {"private.path": project}
    write(user_file(), f"[private]\npath = '{home / 'mine'}'")
    settings = read(project, home)
    assert (settings.private.path, settings.project_folders) == (home / "mine", {})


@cases(
    ("users", "asked", "given", "left_out"),
    [
        ("", "['recall', 'notebook']", ("recall",), "notebook"),
        ("", "['notebook']", (), "notebook"),
        ("file: ['private', 'notebook']", "['notebook']", ("notebook",), ""),
        ("file: ['private']", "['recall', 'private']", ("private",), "recall"),
        ("env: private,notebook", "['notebook']", ("notebook",), ""),
        ("flag: recall", "['private', 'recall']", ("recall",), "private"),
    ],
)
def test_a_project_file_may_narrow_toolsets_and_not_widen_them(users, asked, given, left_out):
    """What is offered is in the user's and in the project's list; what only the latter has is told."""
    file = write(Path.cwd() / ".commonplace.toml", f"toolsets = {asked}")
    where, _, value = users.partition(": ")
    if where == "file":
        write(user_file(), f"toolsets = {value}")
    settings = read_settings(
        flags={"toolsets": value} if where == "flag" else None,
        environ={**os.environ, "COMMONPLACE_TOOLSETS": value if where == "env" else ""},
        cwd=Path.cwd(),
        home=Path.home(),
    )
    assert settings.toolsets == given
    said = [f"{file} (toolsets) asks for {left_out}, which only you can add."] if left_out else []
    assert list(settings.left_out) == said


def test_each_project_file_on_the_way_up_narrows(home, project):
    """The nearest does not undo what one above it left out."""
    write(project.parent / ".commonplace.toml", "toolsets = ['recall', 'private']")
    write(project / ".commonplace.toml", "toolsets = ['recall', 'chronicle']")
    settings = read(project, home)
    assert settings.toolsets == ("recall",)
    assert str(project.parent / ".commonplace.toml") in settings.origins["toolsets"]


def test_a_project_file_may_make_read_only_and_not_the_reverse(home, project):
    """No by either is no; the environment outranks the user's own file alone."""
    write(user_file(), "read_only = true")
    file = write(project / ".commonplace.toml", "read_only = false")
    assert read(project, home).read_only is True
    file.unlink()
    assert read(project, home, COMMONPLACE_READ_ONLY="0").read_only is False
    write(file, "read_only = true")
    assert read(project, home, COMMONPLACE_READ_ONLY="0").read_only is True


def test_no_setting_that_redirects_or_sends_may_be_a_projects(home, project):
    """The whole table: what a project's file may set at all, and how."""
    may = {setting.key: setting.project for setting in SETTINGS if setting.project != "no"}
    assert may == {
        "project": "here",
        "timezone": "yes",
        "toolsets": "narrow",
        "read_only": "narrow",
        "private.path": "inside",
    }


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "# " + "x" * (1 << 20)])
def test_a_file_that_is_too_much_is_refused_by_name(home, project, text):
    """Neither deep nesting nor size ends in anything but an error that names the file."""
    file = write(project / ".commonplace.toml", text)
    with pytest.raises(Invalid, match=r"nested too deeply|larger than") as caught:
        read(project, home)
    assert str(file) in caught.value.message


def test_an_unknown_flag_is_refused(home, project):
    """Flags go by the same names."""
    with pytest.raises(Invalid, match="'read-only'") as caught:
        read(project, home, flags={"read-only": True})
    assert caught.value.hint == "Did you mean read_only?"


def test_a_written_setting_is_read_back(home, project):
    """The file is made with its folder, private to the user, and every key can be written."""
    for key, (_flag, _env, upper, _user) in VALUES.items():
        if key != "project":
            write_setting(key, "private" if key == "toolsets" else upper, user_file(), cwd=home)
    settings = read(project, home)
    assert settings.encoder.model == "c"
    assert settings.log == home / "c"
    assert settings.read_only is True
    assert settings.timezone.key == "America/Los_Angeles"
    assert user_file().stat().st_mode & 0o777 == 0o600


def test_writing_keeps_comments_links_and_modes(home):
    """A settings file kept elsewhere and linked stays there."""
    real = write(
        home / "dotfiles" / "c.toml", "# mine\nowner = 'ann' # me\n[encoder]\nmodel = 'm'\n"
    )
    real.chmod(0o644)
    user_file().parent.mkdir(parents=True)
    user_file().symlink_to(real)
    write_setting("owner", "bob", user_file())
    write_setting("encoder.auto_download", "yes", user_file())
    assert real.read_text() == (
        "# mine\nowner = \"bob\" # me\n[encoder]\nmodel = 'm'\nauto_download = true\n"
    )
    assert user_file().is_symlink()
    assert real.stat().st_mode & 0o777 == 0o644


@cases(
    ("key", "value", "says"),
    [
        ("onwer", "x", "Did you mean owner"),
        ("read_only", "perhaps", "Use 1, true, yes"),
        ("timezone", "Mars/Base", "Unknown time zone"),
    ],
)
def test_writing_refuses_what_reading_would(key, value, says):
    """Nothing is written that could not be read."""
    with pytest.raises(Invalid) as caught:
        write_setting(key, value, user_file())
    assert says in str(caught.value)
    assert not user_file().exists()


def test_writing_into_a_broken_file_changes_nothing():
    """The user mends it first."""
    write(user_file(), "owner = ")
    with pytest.raises(Invalid, match="not valid TOML"):
        write_setting("owner", "ann", user_file())
    assert user_file().read_text() == "owner = "


def test_settings_as_json_and_toml_hold_them(home, project):
    """Paths and zones are texts, tuples lists."""
    settings = read(project, home, COMMONPLACE_TIMEZONE="UTC")
    shown = {s.key: render_setting(s.read(settings)) for s in SETTINGS}
    assert shown["timezone"] == "UTC"
    assert shown["toolsets"] == ["default"]
    assert shown["home"] == str(settings.home)
    assert shown["log"] is None


def test_the_user_file_follows_the_platform(home):
    """XDG_CONFIG_HOME where it is set and absolute, else the platform's folder."""
    assert user_file() == home / ".config" / "commonplace" / "config.toml"
    assert user_file({"XDG_CONFIG_HOME": "relative"}).name == "config.toml"
    assert Path("relative") not in user_file({"XDG_CONFIG_HOME": "relative"}).parents


def test_one_name_is_one_setting():
    """Neither keys nor environment names are given twice, and each has its sentence."""
    assert len({s.key for s in SETTINGS}) == len({s.env for s in SETTINGS}) == len(SETTINGS)
    assert all(s.help.endswith(".") for s in SETTINGS)


def test_a_broken_table_never_half_writes(home, monkeypatch):
    """A list of tables is no place for one value: the file stays as it was."""
    text = "[[private]]\npath = 'x'\n"
    write(user_file(), text)
    with pytest.raises(Invalid):
        write_setting("private.user_path", "/x", user_file())
    assert user_file().read_text() == text
    assert tomllib.loads(text)


@cases("value", ["", "nan", "inf", "many", "-0.1", "1.01", "true"])
def test_a_number_outside_its_range_is_refused(value, home, project):
    """In a file it is written without quotes; the range is told."""
    written = f'"{value}"' if value in {"", "many"} else value
    write(user_file(), f"[notebook]\nminimum_salience = {written}")
    with pytest.raises(Invalid, match="Write a number of 0 to 1"):
        read(project, home)
    user_file().unlink()
    if value:
        with pytest.raises(Invalid, match="Write a number of 0 to 1"):
            read(project, home, COMMONPLACE_NOTEBOOK_MINIMUM_SALIENCE=value)
    with pytest.raises(Invalid, match="0 to 1,000,000,000,000"):  # in digits, as people write it
        read(project, home, COMMONPLACE_SERVE_MOST_ENTRIES="-1")


def test_a_number_is_written_as_one(home):
    """Without quotes, and read back as it was."""
    write_setting("notebook.min_score", "0.35", user_file(), home=home)
    assert tomllib.loads(user_file().read_text()) == {"notebook": {"min_score": 0.35}}


@pytest.mark.design("002-11")
def test_the_memory_design_names_the_model(home, project):
    """WB_EMBED_MODEL chooses the encoder; an unknown one, or one that contradicts, is refused."""
    for asked, profile in (("miniLM", "minilm-l6-v2"), ("e5", "e5-small-v2")):
        read = read_settings(environ={"WB_EMBED_MODEL": asked}, cwd=project, home=home)
        assert read.encoder.model == profile
        both = {"WB_EMBED_MODEL": asked, "COMMONPLACE_ENCODER": profile}
        assert read_settings(environ=both, cwd=project, home=home).encoder.model == profile
    for environ in (
        {"WB_EMBED_MODEL": "minilm"},
        {"WB_EMBED_MODEL": "gpt"},
        {"WB_EMBED_MODEL": "e5", "COMMONPLACE_ENCODER": "minilm-l6-v2"},
    ):
        with pytest.raises(Invalid, match="WB_EMBED_MODEL"):
            read_settings(environ=environ, cwd=project, home=home)
