"""The table of settings: each key, its environment name, how it is parsed and what it means.

Never reads the environment or a file: `config` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from commonplace.config.values import (
    Place,
    Start,
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
)
from commonplace.core.projects import find_project
from commonplace.journals.table import DEFAULT_TOOLSETS, FEEDS

if TYPE_CHECKING:
    from collections.abc import Callable

InProject: TypeAlias = Literal["no", "inside", "narrow", "yes"]
"""What a project's file, which may be a stranger's, may do with a setting: nothing; name a path
inside its own folder; narrow what the user has; set it, because nothing is widened, redirected or
sent by any value of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of the table: its key in files, its environment name, a sentence of help.

    project: what a project's file may do with it. is_secret: whether its value may hold a
    password, and is never shown.
    """

    key: str
    env: str
    parse: Callable[[object, Place], object]
    default: Callable[[Start], object]
    help: str
    project: InProject = "no"
    is_secret: bool = False

    @property
    def field(self) -> str:
        """Its name in `Settings`."""
        return self.key.replace(".", "_")


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
        project="yes",
    ),
    Setting(
        key="toolsets",
        env="COMMONPLACE_TOOLSETS",
        parse=parse_toolsets,
        default=lambda _start: DEFAULT_TOOLSETS,
        help="Which tools a client is offered: names with commas between, or all.",
        project="narrow",
    ),
    Setting(
        key="read_only",
        env="COMMONPLACE_READ_ONLY",
        parse=parse_boolean,
        default=lambda _start: False,
        help="Offer no tool that writes.",
        project="narrow",
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
        project="inside",
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
        help=f"Journals whose entries count in rollups: {', '.join(FEEDS)}; or none.",
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
        key="database.url",
        env="COMMONPLACE_DATABASE_URL",
        parse=parse_text,
        default=nothing,
        help="The Postgres database that keeps the memories of all users; else each has a file.",
        is_secret=True,
    ),
    Setting(
        key="database.worker_url",
        env="COMMONPLACE_DATABASE_WORKER_URL",
        parse=parse_text,
        default=nothing,
        help="The same database for the worker of memory, as its role commonplace_worker.",
        is_secret=True,
    ),
    Setting(
        key="database.admin_url",
        env="COMMONPLACE_DATABASE_ADMIN_URL",
        parse=parse_text,
        default=nothing,
        help="The same database for `commonplace memory migrate`, as the owner of its tables.",
        is_secret=True,
    ),
    Setting(
        key="debug",
        env="COMMONPLACE_DEBUG",
        parse=parse_boolean,
        default=lambda _start: False,
        help="Let a search of memory be asked for its diagnostic card.",
    ),
    Setting(
        key="serve.per_second",
        env="COMMONPLACE_SERVE_PER_SECOND",
        parse=number_of(1, 100_000),
        default=lambda _start: 50.0,
        help="How many requests a second one owner may make over HTTP, four times that at once.",
    ),
    Setting(
        key="serve.at_once",
        env="COMMONPLACE_SERVE_AT_ONCE",
        parse=number_of(1, 10_000),
        default=lambda _start: 16.0,
        help="How many calls of one owner may be open at the same time over HTTP.",
    ),
    Setting(
        key="index.vectors",
        env="COMMONPLACE_INDEX_VECTORS",
        parse=one_of("numpy", "chroma"),
        default=lambda _start: "numpy",
        help="What finds the nearest vectors: numpy, or chroma (`commonplace[chroma]`).",
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
        key="llm.background",
        env="COMMONPLACE_LLM_BACKGROUND",
        parse=parse_boolean,
        default=lambda _start: False,
        help="Let `commonplace serve` and programs ask it for summaries, as `rollup --due` does.",
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
