"""The settings: one table of them, and how flags, environment and files are read into one value.

Never writes anything but the user's own file, and never lets a project's file move private text.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from commonplace.config_values import (
    ENV_PREFIX,
    Place,
    Start,
    embed_model,
    names_of,
    nothing,
    number_of,
    one_of,
    parse_boolean,
    parse_folder,
    parse_owner_name,
    parse_path,
    parse_price,
    parse_retention_text,
    parse_text,
    parse_toolsets,
    parse_url,
    parse_variable,
    parse_zone,
    platform_folder,
    system_zone,
    unknown,
)
from commonplace.core.errors import Invalid
from commonplace.core.files import make_folder, replace_file, translated
from commonplace.core.projects import find_project
from commonplace.core.toml import TomlValue, parse_toml, set_toml_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PROJECT_FILE = ".commonplace.toml"
FEEDS = ("chronicle", "private", "notebook")
TOOLSETS = ("private", "chronicle", "recall", "notebook", "timeline", "memory", "memory-write")
DEFAULT_TOOLSETS = ("private", "chronicle", "recall")
# Read by the tests and by what connects to a database of several users, not here.
FOREIGN_ENV_PREFIX = "COMMONPLACE_DATABASE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is set, parsed; paths are absolute. origins: for each key, where its value comes from.

    project: None where there is none. private_path, private_user_path, private_both_path,
    chronicle_path, encoder_folder and log: None where nothing is set, as all of the notebook's but
    auto_gc; what its search does then stands in its policy. llm_url: None where no language model
    is asked.
    """

    home: Path
    owner: str
    project: Path | None
    timezone: ZoneInfo
    toolsets: tuple[str, ...]
    read_only: bool
    preload: bool
    log: Path | None
    private_path: Path | None
    private_user_path: Path | None
    private_both_path: Path | None
    private_share_with_llm: bool
    chronicle_path: Path | None
    notebook_path: Path | None
    notebook_author: str | None
    notebook_auto_gc: bool
    notebook_half_life_days: float | None
    notebook_minimum_salience: float | None
    notebook_min_score: float | None
    notebook_max_results: float | None
    notebook_context_weight: float | None
    notebook_content_weight: float | None
    memory_top_k: float | None
    memory_min_score: float | None
    memory_recency: float | None
    debug: bool
    encoder_model: str
    encoder_folder: Path | None
    encoder_auto_download: bool
    timeline_retention: str
    timeline_grace_minutes: float
    timeline_feed: tuple[str, ...]
    llm_url: str | None
    llm_shape: str
    llm_key_variable: str | None
    llm_model: str | None
    llm_better_model: str | None
    llm_price: str | None
    llm_better_price: str | None
    llm_timeout_s: float
    llm_tokens_per_run: float
    llm_tokens_per_day: float
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of the table: its key in files, its environment name, a sentence of help.

    in_project: whether a project's file may set it at all.
    """

    key: str
    env: str
    parse: Callable[[object, Place], object]
    default: Callable[[Start], object]
    help: str
    in_project: bool = False

    @property
    def field(self) -> str:
        """Its name in `Settings`."""
        return self.key.replace(".", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """Values of one origin. trusted: only the user can have written them."""

    values: Mapping[str, object]
    base: Path
    origin: Callable[[Setting], str]
    typed: bool = False
    trusted: bool = True


def read_settings(
    *,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
    cwd: Path,
    home: Path | None,
    toolsets: Sequence[str] = TOOLSETS,
) -> Settings:
    """Every setting, from the first that has it: flag, environment, project file, user file.

    flags: by key, None where not given. home: the user's home folder, None where there is none.
    toolsets: the names that exist. Raises Invalid for a name, a value or a file that cannot be
    meant, and for a key that a project's file may not set.
    """
    cwd = Path(os.path.abspath(cwd))
    above = [_flag_layer(flags or {}, cwd), _environment_layer(environ, cwd)]
    root = _named_project(above, home) or cwd
    project_files = list(_project_layers(root, home))
    layers = [*above, *project_files, *_user_layers(environ)]
    _check_project_files(layers, root, home, toolsets)
    start = Start(environ, cwd, home)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        layer = next((layer for layer in layers if setting.key in layer.values), None)
        if layer is None:
            values[setting.field], origins[setting.key] = setting.default(start), "default"
            continue
        values[setting.field] = _parsed(setting, layer, home, toolsets)
        origins[setting.key] = layer.origin(setting)
    return Settings(**values, origins=origins)


def write_setting(
    key: str, value: str, file: Path, *, cwd: Path | None = None, home: Path | None = None
) -> None:
    """Set one key in a TOML file, made if need be; comments, order and other keys stay.

    value: as in the environment; a relative path is meant from `cwd`. Raises Invalid for an
    unknown key, a value that does not parse, or a file that cannot be edited in place.
    """
    parsed = parse_setting(key, value, cwd=cwd or file.parent, home=home)
    target = Path(os.path.realpath(file))
    text = _read_text(target) if target.exists() else ""
    _flat_keys(parse_toml(text, name=str(file)), file)
    edited = set_toml_value(text, key.split("."), _toml_value(parsed), name=str(file))
    make_folder(target.parent)
    replace_file(target, edited.encode())


def parse_setting(
    key: str,
    value: str,
    *,
    cwd: Path | None = None,
    home: Path | None = None,
    toolsets: Sequence[str] = TOOLSETS,
) -> object:
    """What a text means as the value of a setting.

    cwd: where relative paths begin. Raises Invalid as `read_settings` does.
    """
    setting = _setting(key, f"the setting {key!r}")
    return setting.parse(value, Place(key, cwd or Path(), home, toolsets))


def user_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own settings file, whether or not it is there."""
    return platform_folder(environ, "XDG_CONFIG_HOME", "user_config_dir") / "config.toml"


def render_setting(value: object) -> Any:
    """A setting as JSON holds it: a text, a boolean, a list of texts or None."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, ZoneInfo):
        return value.key
    return str(value) if isinstance(value, Path) else value


def _setting(key: str, named: str) -> Setting:
    for setting in SETTINGS:
        if setting.key == key:
            return setting
    raise unknown(named, key, [setting.key for setting in SETTINGS])


def _parsed(setting: Setting, layer: _Layer, home: Path | None, toolsets: Sequence[str]) -> object:
    place = Place(layer.origin(setting), layer.base, home, toolsets, layer.typed)
    return setting.parse(layer.values[setting.key], place)


# The layers, strongest first.


def _flag_layer(flags: Mapping[str, object], cwd: Path) -> _Layer:
    given = {key: value for key, value in flags.items() if value is not None}
    for key in given:
        _setting(key, f"the flag for {key!r}")
    return _Layer(
        values=given,
        base=cwd,
        origin=lambda setting: f"flag --{setting.key.replace('_', '-').replace('.', '-')}",
    )


def _environment_layer(environ: Mapping[str, str], cwd: Path) -> _Layer:
    known = {setting.env: setting.key for setting in SETTINGS}
    for name in environ:
        ours = name.startswith(ENV_PREFIX) and not name.startswith(FOREIGN_ENV_PREFIX)
        if ours and name not in known:
            raise unknown(f"the environment variable {name}", name, [*known])
    given = {known[name]: text for name, text in environ.items() if name in known and text}
    return _Layer(
        values={**given, **embed_model(environ, given)},
        base=cwd,
        origin=lambda setting: f"environment {setting.env}",
    )


def _named_project(layers: Sequence[_Layer], home: Path | None) -> Path | None:
    setting = _setting("project", "project")
    layer = next((layer for layer in layers if "project" in layer.values), None)
    if layer is None:
        return None
    project = _parsed(setting, layer, home, TOOLSETS)
    assert isinstance(project, Path)
    return project


def _project_layers(start: Path, home: Path | None) -> Iterator[_Layer]:
    """The project files from a folder upward, the nearest first, up to the home or the root."""
    top = Path(os.path.realpath(home)) if home else None
    folder = Path(os.path.realpath(start))
    for here in (folder, *folder.parents):
        if os.path.isfile(here / PROJECT_FILE):
            yield _file_layer(here / PROJECT_FILE, trusted=here == top)
        if here == top:
            return


def _user_layers(environ: Mapping[str, str]) -> Iterator[_Layer]:
    file = user_file(environ)
    if os.path.isfile(file):
        yield _file_layer(file, trusted=True)


def _file_layer(file: Path, *, trusted: bool) -> _Layer:
    return _Layer(
        values=_flat_keys(parse_toml(_read_text(file), name=str(file)), file),
        base=file.parent,
        origin=lambda setting: f"{file} ({setting.key})",
        typed=True,
        trusted=trusted,
    )


def _read_text(file: Path) -> str:
    try:
        with translated(file):
            return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Invalid(f"{file} is not UTF-8 text.", hint="Save it as UTF-8.") from exc


def _flat_keys(tables: Mapping[str, Any], file: Path) -> dict[str, object]:
    flat: dict[str, object] = {}
    rooms = {setting.key.partition(".")[0] for setting in SETTINGS if "." in setting.key}
    for name, value in tables.items():
        nested = isinstance(value, dict) and name in rooms
        flat |= (
            {f"{name}.{key}": inner for key, inner in value.items()} if nested else {name: value}
        )
    for key in flat:
        _setting(key, f"the key {key!r} in {file}")
    return flat


# A project's file comes with a cloned repository: anyone may have written it.


def _check_project_files(
    layers: Sequence[_Layer], root: Path, home: Path | None, toolsets: Sequence[str]
) -> None:
    """Refuse what moves private text or weights, or widens what the user's own files allow."""
    own = [layer for layer in layers if layer.typed and layer.trusted]
    for layer in layers:
        for key in () if layer.trusted else layer.values:
            setting = _setting(key, key)
            if not setting.in_project:
                raise _not_in_project(layer.origin(setting), "may not be set there")
            value = _parsed(setting, layer, home, toolsets)
            if isinstance(value, Path) and not _lies_in_project(value, root, layer.base):
                raise _not_in_project(layer.origin(setting), f"lies outside {root}")
            users = next((other for other in own if key in other.values), None)
            if users and _widens(value, _parsed(setting, users, home, toolsets)):
                raise _not_in_project(layer.origin(setting), "allows more than your own file")


def _not_in_project(origin: str, why: str) -> Invalid:
    return Invalid(
        f"A project's file is not trusted so far: {origin} {why}.",
        hint=f"Put it into {user_file()}, or remove it.",
    )


def _lies_in_project(path: Path, root: Path, folder: Path) -> bool:
    """Below the project, or below the folder of a project file that the user owns.

    In a folder that several users write to (/tmp), a file above the project may be another's.
    """
    real = Path(os.path.realpath(path))
    own = os.name == "nt" or os.stat(folder / PROJECT_FILE).st_uid == os.geteuid()
    return real.is_relative_to(os.path.realpath(root)) or (own and real.is_relative_to(folder))


def _widens(value: object, users: object) -> bool:
    if isinstance(value, tuple) and isinstance(users, tuple):
        return not set(value) <= set(users)
    return value is False and users is True


def _toml_value(value: object) -> TomlValue:
    rendered: TomlValue = render_setting(value)
    return rendered


SETTINGS: tuple[Setting, ...] = (
    Setting(
        key="home",
        env="COMMONPLACE_HOME",
        parse=parse_path,
        default=lambda start: platform_folder(start.environ, "XDG_DATA_HOME", "user_data_dir"),
        help="The folder of what is only ours: the index, the weights, the key files.",
    ),
    Setting(
        key="owner",
        env="COMMONPLACE_OWNER",
        parse=parse_owner_name,
        default=lambda _start: "me",
        help="Whose index is used; the private journal and chronicle are this machine user's own.",
    ),
    Setting(
        key="project",
        env="COMMONPLACE_PROJECT",
        parse=parse_folder,
        default=lambda start: find_project(start.cwd, start.home, start.environ),
        help="The project's folder; else the working directory.",
    ),
    Setting(
        key="timezone",
        env="COMMONPLACE_TIMEZONE",
        parse=parse_zone,
        default=system_zone,
        help="The zone that cuts days, an IANA name; else the system's.",
        in_project=True,
    ),
    Setting(
        key="toolsets",
        env="COMMONPLACE_TOOLSETS",
        parse=parse_toolsets,
        default=lambda _start: DEFAULT_TOOLSETS,
        help="Which tools a client is offered: names with commas between, or all.",
        in_project=True,
    ),
    Setting(
        key="read_only",
        env="COMMONPLACE_READ_ONLY",
        parse=parse_boolean,
        default=lambda _start: False,
        help="Offer no tool that writes.",
        in_project=True,
    ),
    Setting(
        key="preload",
        env="COMMONPLACE_PRELOAD",
        parse=parse_boolean,
        default=lambda _start: True,
        help="Load the encoder and the index once a client has listed the tools, before a call.",
    ),
    Setting(
        key="log",
        env="COMMONPLACE_LOG",
        parse=parse_path,
        default=nothing,
        help="A log file, rotated at 1 MB; it never holds the text of entries.",
    ),
    Setting(
        key="private.path",
        env="JOURNAL_PATH",
        parse=parse_path,
        default=nothing,
        help="The project's private journal, in place of .private-journal in the project.",
        in_project=True,
    ),
    Setting(
        key="private.user_path",
        env="COMMONPLACE_PRIVATE_USER",
        parse=parse_path,
        default=nothing,
        help="The user's private journal, in place of ~/.private-journal.",
    ),
    Setting(
        key="private.both_path",
        env="PRIVATE_JOURNAL_PATH",
        parse=parse_path,
        default=nothing,
        help="One folder for both private journals.",
    ),
    Setting(
        key="private.share_with_llm",
        env="COMMONPLACE_SHARE_PRIVATE_WITH_LLM",
        parse=parse_boolean,
        default=lambda _start: False,
        help="Let private text go to a language model that is not on this machine.",
    ),
    Setting(
        key="chronicle.path",
        env="CHRONICLE_DB_PATH",
        parse=parse_path,
        default=nothing,
        help="Chronicle's database, or its Markdown tree; else where chronicle itself keeps it.",
    ),
    Setting(
        key="notebook.path",
        env="COMMONPLACE_NOTEBOOK",
        parse=parse_path,
        default=nothing,
        help="The notebook's git repository; else one in our own folder.",
    ),
    Setting(
        key="notebook.author",
        env="COMMONPLACE_NOTEBOOK_AUTHOR",
        parse=parse_text,
        default=nothing,
        help="Who commits to the notebook, as `Name <address>`; else whom git knows.",
    ),
    Setting(
        key="notebook.auto_gc",
        env="COMMONPLACE_NOTEBOOK_AUTO_GC",
        parse=parse_boolean,
        default=lambda _start: True,
        help="Pack the notebook's objects now and then.",
    ),
    Setting(
        key="notebook.half_life_days",
        env="COMMONPLACE_NOTEBOOK_HALF_LIFE_DAYS",
        parse=number_of(0.01, 100_000),
        default=nothing,
        help="After how many days an entry's salience is half of what it was.",
    ),
    Setting(
        key="notebook.minimum_salience",
        env="COMMONPLACE_NOTEBOOK_MINIMUM_SALIENCE",
        parse=number_of(0, 1),
        default=nothing,
        help="The salience that even the oldest entry keeps.",
    ),
    Setting(
        key="notebook.min_score",
        env="COMMONPLACE_NOTEBOOK_MIN_SCORE",
        parse=number_of(-1, 1),
        default=nothing,
        help="Combined score under which a hit by meaning alone is left out.",
    ),
    Setting(
        key="notebook.max_results",
        env="COMMONPLACE_NOTEBOOK_MAX_RESULTS",
        parse=number_of(1, 1000),
        default=nothing,
        help="The most entries that a search of the notebook shows.",
    ),
    Setting(
        key="notebook.context_weight",
        env="COMMONPLACE_NOTEBOOK_CONTEXT_WEIGHT",
        parse=number_of(0, 1),
        default=nothing,
        help="The weight of the work context in a search of the notebook.",
    ),
    Setting(
        key="notebook.content_weight",
        env="COMMONPLACE_NOTEBOOK_CONTENT_WEIGHT",
        parse=number_of(0, 1),
        default=nothing,
        help="The weight of the content in a search of the notebook.",
    ),
    Setting(
        key="timeline.retention",
        env="COMMONPLACE_TIMELINE_RETENTION",
        parse=parse_retention_text,
        default=lambda _start: "off",
        help="What of the timeline is let go of: off, design, or levels (design,raw=30d).",
    ),
    Setting(
        key="timeline.grace_minutes",
        env="COMMONPLACE_TIMELINE_GRACE_MINUTES",
        parse=number_of(0, 10_000),
        default=lambda _start: 0.0,
        help="How much longer a period waits for late entries before it is rolled up.",
    ),
    Setting(
        key="timeline.feed",
        env="COMMONPLACE_TIMELINE_FEED",
        parse=names_of(FEEDS),
        default=lambda _start: (),
        help="Journals whose entries count in rollups: chronicle, private, notebook; or none.",
    ),
    Setting(
        key="memory.top_k",
        env="WB_RAG_K",
        parse=number_of(1, 100),
        default=nothing,
        help="How many memories a search shows, unless it says itself.",
    ),
    Setting(
        key="memory.min_score",
        env="WB_RAG_MIN_SCORE",
        parse=number_of(-1, 1),
        default=nothing,
        help="The cosine under which a memory that shares no word with the question is left out.",
    ),
    Setting(
        key="memory.recency",
        env="WB_RECENCY_ALPHA",
        parse=number_of(0, 10),
        default=nothing,
        help="What newness adds to a memory's score, as a share of it.",
    ),
    Setting(
        key="debug",
        env="COMMONPLACE_DEBUG",
        parse=parse_boolean,
        default=lambda _start: False,
        help="Let a search of memory be asked for its diagnostic card.",
    ),
    Setting(
        key="encoder.model",
        env="COMMONPLACE_ENCODER",
        parse=parse_text,
        default=lambda _start: "minilm-l6-v2",
        help="The embedding model, by its profile's name.",
    ),
    Setting(
        key="encoder.folder",
        env="COMMONPLACE_ENCODER_FOLDER",
        parse=parse_path,
        default=nothing,
        help="A folder that holds the model's weights.",
    ),
    Setting(
        key="encoder.auto_download",
        env="COMMONPLACE_AUTO_DOWNLOAD",
        parse=parse_boolean,
        default=lambda _start: False,
        help="Download missing weights without being asked.",
    ),
    Setting(
        key="llm.url",
        env="COMMONPLACE_LLM_URL",
        parse=parse_url,
        default=nothing,
        help="Where a language model is asked, such as https://api.openai.com/v1; else none is.",
    ),
    Setting(
        key="llm.shape",
        env="COMMONPLACE_LLM_SHAPE",
        parse=one_of("openai", "anthropic"),
        default=lambda _start: "openai",
        help="How it is asked: openai (chat completions, as local servers do) or anthropic.",
    ),
    Setting(
        key="llm.key_variable",
        env="COMMONPLACE_LLM_KEY_VARIABLE",
        parse=parse_variable,
        default=nothing,
        help="The name of the environment variable that holds its key, such as OPENAI_API_KEY.",
    ),
    Setting(
        key="llm.model",
        env="COMMONPLACE_LLM_MODEL",
        parse=parse_text,
        default=nothing,
        help="The model of hours and days.",
    ),
    Setting(
        key="llm.better_model",
        env="COMMONPLACE_LLM_BETTER_MODEL",
        parse=parse_text,
        default=nothing,
        help="The model of weeks, months, years and merges; else the same.",
    ),
    Setting(
        key="llm.price",
        env="COMMONPLACE_LLM_PRICE",
        parse=parse_price,
        default=nothing,
        help="What the model costs: US dollars for a million tokens read and written, as 1/5.",
    ),
    Setting(
        key="llm.better_price",
        env="COMMONPLACE_LLM_BETTER_PRICE",
        parse=parse_price,
        default=nothing,
        help="Likewise of the better model; else the same.",
    ),
    Setting(
        key="llm.timeout_s",
        env="COMMONPLACE_LLM_TIMEOUT_S",
        parse=number_of(1, 600),
        default=lambda _start: 120.0,
        help="How many seconds an answer may take, with all tries.",
    ),
    Setting(
        key="llm.tokens_per_run",
        env="COMMONPLACE_LLM_TOKENS_PER_RUN",
        parse=number_of(0, 1_000_000_000),
        default=lambda _start: 200_000.0,
        help="The most tokens that one round of summaries, or one merge, may take.",
    ),
    Setting(
        key="llm.tokens_per_day",
        env="COMMONPLACE_LLM_TOKENS_PER_DAY",
        parse=number_of(0, 1_000_000_000),
        default=lambda _start: 1_000_000.0,
        help="The most tokens that may be spent in a day.",
    ),
)
