"""The settings: a struct for each section, in which a field's default is its row of the table.

Never reads the environment or a file: `config.settings` does.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field

from commonplace.config.files import data_folder
from commonplace.config.quick import BRIEF_PARTS, QUICK
from commonplace.config.values import (
    OneOf,
    Origin,
    Start,
    default_folder,
    names_of,
    number_of,
    parse_boolean,
    parse_folder,
    parse_owner_name,
    parse_path,
    parse_price,
    parse_retention_text,
    parse_space_roles,
    parse_text,
    parse_toolsets,
    parse_url,
    parse_variable,
    parse_zone,
    system_zone,
    whole_number_of,
)
from commonplace.journals.table import DEFAULT, FEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from zoneinfo import ZoneInfo

InProject: TypeAlias = Literal["no", "here", "inside", "narrow", "yes"]
"""What a project's file, which may be a stranger's, may do with a setting: nothing; say `here`, its
own folder; name a path inside that; narrow what the user has; set it, because nothing is widened,
redirected or sent by any value of it."""


class Setting(Struct, frozen=True, kw_only=True):
    """One row of the table of settings.

    Args:
        key: its name in files: `notebook.path`.
        env: its name in the environment.
        parse: makes the value from a text or a TOML value. Raises: Invalid.
        default: makes the value where nothing is set.
        help: what it means, a sentence.
        project: what a project's file may do with it.
        is_secret: whether its value may hold a secret, and is never shown.
    """

    key: str
    env: str
    parse: Callable[[object, Origin], object]
    default: Callable[[Start], object]
    help: str
    project: InProject
    is_secret: bool

    def read(self, settings: Settings) -> Any:
        """Its value in these settings."""
        section, _, name = self.key.rpartition(".")
        return getattr(getattr(settings, section) if section else settings, name)


def row(
    env: str,
    parse: Callable[[object, Origin], object],
    help: str,  # noqa: A002  as in `Setting`
    *,
    default: object = None,
    make: Callable[[Start], object] | None = None,
    project: InProject = "no",
    is_secret: bool = False,
) -> Any:
    """A field of a section that is a setting; `make` in place of a default that is made.

    It becomes the field's default, where `SETTINGS` finds it; `build_settings` sets every field.
    """
    return partial(
        Setting,
        env=env,
        parse=parse,
        default=make or (lambda _start: default),
        help=help,
        project=project,
        is_secret=is_secret,
    )


def quick_row(key: str, help: str, *, is_secret: bool = False) -> Any:  # noqa: A002  as above
    """A field of a section that hooks read too: `quick` has its name, parser and default."""
    env, parse, default = QUICK[key]
    return row(env, parse, help, default=default, is_secret=is_secret)


class PrivateSettings(Struct, frozen=True, kw_only=True):
    """Where the private journal lies; None for its usual places."""

    path: Path | None = row(
        "JOURNAL_PATH",
        parse_path,
        "The project's private journal, in place of .private-journal in the project.",
        project="inside",
    )
    user_path: Path | None = row(
        "COMMONPLACE_PRIVATE_USER",
        parse_path,
        "The user's private journal, in place of ~/.private-journal.",
    )
    both_path: Path | None = row(
        "PRIVATE_JOURNAL_PATH", parse_path, "One folder for both private journals."
    )
    share_with_llm: bool = row(
        "COMMONPLACE_SHARE_PRIVATE_WITH_LLM",
        parse_boolean,
        "Let private text go to a language model that is not on this machine.",
        default=False,
    )


class ChronicleSettings(Struct, frozen=True, kw_only=True):
    """Where chronicle lies; None for its usual place."""

    path: Path | None = row(
        "CHRONICLE_DB_PATH",
        parse_path,
        "Chronicle's database, or its Markdown tree; else where chronicle itself keeps it.",
    )


class NotebookSettings(Struct, frozen=True, kw_only=True):
    """The notebook. None where its search's policy, or git, decides."""

    path: Path | None = row(
        "COMMONPLACE_NOTEBOOK",
        parse_path,
        "The notebook's git repository; else one in our own folder.",
    )
    author: str | None = row(
        "COMMONPLACE_NOTEBOOK_AUTHOR",
        parse_text,
        "Who commits to the notebook, as `Name <address>`; else whom git knows.",
    )
    auto_gc: bool = row(
        "COMMONPLACE_NOTEBOOK_AUTO_GC",
        parse_boolean,
        "Pack the notebook's objects now and then.",
        default=True,
    )
    half_life_days: float | None = row(
        "COMMONPLACE_NOTEBOOK_HALF_LIFE_DAYS",
        number_of(0.01, 100_000),
        "After how many days an entry's salience is half of what it was.",
    )
    minimum_salience: float | None = row(
        "COMMONPLACE_NOTEBOOK_MINIMUM_SALIENCE",
        number_of(0, 1),
        "The salience that even the oldest entry keeps.",
    )
    min_score: float | None = row(
        "COMMONPLACE_NOTEBOOK_MIN_SCORE",
        number_of(-1, 1),
        "Combined score under which a hit by meaning alone is left out.",
    )
    max_results: int | None = row(
        "COMMONPLACE_NOTEBOOK_MAX_RESULTS",
        whole_number_of(1, 1000),
        "The most entries that a search of the notebook shows.",
    )
    context_weight: float | None = row(
        "COMMONPLACE_NOTEBOOK_CONTEXT_WEIGHT",
        number_of(0, 1),
        "The weight of the work context in a search of the notebook.",
    )
    content_weight: float | None = row(
        "COMMONPLACE_NOTEBOOK_CONTENT_WEIGHT",
        number_of(0, 1),
        "The weight of the content in a search of the notebook.",
    )


class TimelineSettings(Struct, frozen=True, kw_only=True):
    """The timeline: what is kept, what waits, what feeds it."""

    retention: str = row(
        "COMMONPLACE_TIMELINE_RETENTION",
        parse_retention_text,
        "What of the timeline is deleted with age: off, design, or levels (design,raw=30d).",
        default="off",
    )
    grace_minutes: float = row(
        "COMMONPLACE_TIMELINE_GRACE_MINUTES",
        number_of(0, 10_000),
        "How much longer a period waits for late entries before it is rolled up.",
        default=0.0,
    )
    feed: tuple[str, ...] = row(
        "COMMONPLACE_TIMELINE_FEED",
        names_of(FEEDS),
        f"Journals whose entries count in rollups: {', '.join(FEEDS)}; or none.",
        default=(),
    )


class MemorySettings(Struct, frozen=True, kw_only=True):
    """The search of memory; None where its policy decides."""

    top_k: int | None = row(
        "WB_RAG_K",
        whole_number_of(1, 100),
        "How many memories a search shows, unless it says itself.",
    )
    min_score: float | None = row(
        "WB_RAG_MIN_SCORE",
        number_of(-1, 1),
        "The cosine under which a memory that shares no word with the question is left out.",
    )
    recency: float | None = row(
        "WB_RECENCY_ALPHA",
        number_of(0, 10),
        "What newness adds to a memory's score, as a share of it.",
    )


class TranscriptsSettings(Struct, frozen=True, kw_only=True):
    """What is kept of what was said in sessions, and for how long."""

    capture: bool = quick_row(
        "transcripts.capture",
        "Let the hooks of clients copy what is said in their sessions.",
    )
    tools: str = quick_row(
        "transcripts.tools",
        "What is kept of the tools that a model called: none, names, or all (input and output).",
    )
    subagents: bool = quick_row(
        "transcripts.subagents",
        "Keep all that sub-agents said, not only the last message of each.",
    )
    retain_days: int = row(
        "COMMONPLACE_TRANSCRIPTS_RETAIN_DAYS",
        whole_number_of(0, 100_000),
        "Days that a session is kept after its last message; 0 keeps all for ever.",
        default=0,
    )
    client_memory: bool = row(
        "COMMONPLACE_TRANSCRIPTS_CLIENT_MEMORY",
        parse_boolean,
        "Find what Claude Code and Codex note in files of their own as well.",
        default=True,
    )


class DatabaseSettings(Struct, frozen=True, kw_only=True):
    """Postgres for the memories of all users; `url` is None where each has a file."""

    url: str | None = row(
        "COMMONPLACE_DATABASE_URL",
        parse_text,
        "The Postgres database of memory, and of all journals of served users; else files.",
        is_secret=True,
    )
    worker_url: str | None = row(
        "COMMONPLACE_DATABASE_WORKER_URL",
        parse_text,
        "The same database for the worker, as its role commonplace_worker.",
        is_secret=True,
    )
    admin_url: str | None = row(
        "COMMONPLACE_DATABASE_ADMIN_URL",
        parse_text,
        "The same database for `commonplace memory migrate`, as the owner of its tables.",
        is_secret=True,
    )

    def __repr__(self) -> str:
        """Nothing of them, since a URL may hold a password."""
        return "DatabaseSettings(…)"


class ServeSettings(Struct, frozen=True, kw_only=True):
    """Address, limits, metrics and audit of what serves users over HTTP."""

    address: str | None = row(
        "COMMONPLACE_SERVE_ADDRESS",
        parse_url,
        "Where users reach this server, `https://…`; the links of `connector` lead there.",
    )
    issuer: str | None = row(
        "COMMONPLACE_SERVE_ISSUER",
        parse_url,
        "The identity provider whose access tokens are let in too, by its `https://…` address.",
    )
    sign_in: bool = row(
        "COMMONPLACE_SERVE_SIGN_IN",
        parse_boolean,
        "Let programs such as claude.ai and ChatGPT sign in, once their users allow it.",
        default=False,
    )
    audience: str | None = row(
        "COMMONPLACE_SERVE_AUDIENCE",
        parse_text,
        "What such a token must be for, in place of `serve.address` with `/mcp` behind.",
    )
    client_id: str | None = row(
        "COMMONPLACE_SERVE_CLIENT_ID",
        parse_text,
        "The id of this server at that provider, whose users then sign in at the pages too.",
    )
    client_secret: str | None = row(
        "COMMONPLACE_SERVE_CLIENT_SECRET",
        parse_text,
        "What it shows with that id, where the provider wants a secret.",
        is_secret=True,
    )
    owner_claim: str = row(
        "COMMONPLACE_SERVE_OWNER_CLAIM",
        parse_text,
        "The claim of such a token that names whose journals it opens.",
        default="sub",
    )
    groups_claim: str = row(
        "COMMONPLACE_SERVE_GROUPS_CLAIM",
        parse_text,
        "The claim of such a token that names its user's groups.",
        default="groups",
    )
    spaces: tuple[str, ...] = row(
        "COMMONPLACE_SERVE_SPACES",
        parse_space_roles,
        "Which groups have which role in a space: `team:write=engineers`, with commas between.",
        default=(),
    )
    per_second: float = row(
        "COMMONPLACE_SERVE_PER_SECOND",
        number_of(1, 100_000),
        "How many requests a second one owner may make over HTTP, four times that at once.",
        default=50.0,
    )
    at_once: int = row(
        "COMMONPLACE_SERVE_AT_ONCE",
        whole_number_of(1, 10_000),
        "How many calls of one owner may be open at the same time over HTTP.",
        default=16,
    )
    most_entries: int = row(
        "COMMONPLACE_SERVE_MOST_ENTRIES",
        whole_number_of(0, 1e12),
        "How many entries one owner may keep in the database; 0 for any number.",
        default=0,
    )
    most_bytes: int = row(
        "COMMONPLACE_SERVE_MOST_BYTES",
        whole_number_of(0, 1e15),
        "How many bytes of text one owner may keep in the database; 0 for any number.",
        default=0,
    )
    drain_seconds: float = row(
        "COMMONPLACE_SERVE_DRAIN_SECONDS",
        number_of(0, 3600),
        "How many seconds a server that is to stop goes on answering, if `/readyz` is asked.",
        default=10.0,
    )
    metrics: str = row(
        "COMMONPLACE_SERVE_METRICS",
        OneOf("token", "loopback", "off"),
        "Who may read `/metrics`: token (with the scope metrics), loopback (this machine), off.",
        default="token",
    )
    audit_days: float = row(
        "COMMONPLACE_SERVE_AUDIT_DAYS",
        number_of(0, 100_000),
        "How many days it is kept which token called what over HTTP, with refs; 0: nothing is.",
        default=0.0,
    )

    def __repr__(self) -> str:
        """Nothing of them, since one is a secret."""
        return "ServeSettings(…)"


class IndexSettings(Struct, frozen=True, kw_only=True):
    """The index of one owner."""

    vectors: str = row(
        "COMMONPLACE_INDEX_VECTORS",
        OneOf("numpy", "chroma"),
        "What finds the nearest vectors: numpy, or chroma (`commonplace-memory[chroma]`).",
        default="numpy",
    )


class EncoderSettings(Struct, frozen=True, kw_only=True):
    """The embedding model."""

    model: str = row(
        "COMMONPLACE_ENCODER",
        parse_text,
        "The embedding model, by its profile's name.",
        default="minilm-l6-v2",
    )
    folder: Path | None = row(
        "COMMONPLACE_ENCODER_FOLDER", parse_path, "A folder that holds the model's weights."
    )
    auto_download: bool = row(
        "COMMONPLACE_AUTO_DOWNLOAD",
        parse_boolean,
        "Download missing weights without being asked.",
        default=False,
    )


class LlmSettings(Struct, frozen=True, kw_only=True):
    """The language model; `url` is None where none is asked."""

    url: str | None = row(
        "COMMONPLACE_LLM_URL",
        parse_url,
        "Where a language model is asked, such as https://api.openai.com/v1; else none is.",
    )
    shape: str = row(
        "COMMONPLACE_LLM_SHAPE",
        OneOf("openai", "anthropic"),
        "How it is asked: openai (chat completions, as local servers do) or anthropic.",
        default="openai",
    )
    key_variable: str | None = row(
        "COMMONPLACE_LLM_KEY_VARIABLE",
        parse_variable,
        "The name of the environment variable that holds its key, such as OPENAI_API_KEY.",
    )
    model: str | None = row("COMMONPLACE_LLM_MODEL", parse_text, "The model of hours and days.")
    better_model: str | None = row(
        "COMMONPLACE_LLM_BETTER_MODEL",
        parse_text,
        "The model of weeks, months, years and merges; else the same.",
    )
    background: bool = row(
        "COMMONPLACE_LLM_BACKGROUND",
        parse_boolean,
        "Let servers and programs ask it for summaries, as `rollup --due` does.",
        default=False,
    )
    price: str | None = row(
        "COMMONPLACE_LLM_PRICE",
        parse_price,
        "What the model costs: US dollars for a million tokens read and written, as 1/5.",
    )
    better_price: str | None = row(
        "COMMONPLACE_LLM_BETTER_PRICE", parse_price, "Likewise of the better model; else the same."
    )
    timeout_s: float = row(
        "COMMONPLACE_LLM_TIMEOUT_S",
        number_of(1, 600),
        "How many seconds an answer may take, with all tries.",
        default=120.0,
    )
    tokens_per_run: int = row(
        "COMMONPLACE_LLM_TOKENS_PER_RUN",
        whole_number_of(0, 1_000_000_000),
        "The most tokens that one round of summaries, or one merge, may take.",
        default=200_000,
    )
    tokens_per_day: int = row(
        "COMMONPLACE_LLM_TOKENS_PER_DAY",
        whole_number_of(0, 1_000_000_000),
        "The most tokens that may be spent in a day.",
        default=1_000_000,
    )


class SecretsSettings(Struct, frozen=True, kw_only=True):
    """What becomes of secrets in what is written."""

    at_write: str = quick_row(
        "secrets.at_write",
        "What becomes of a secret in a text that is written: replace (by its mark), refuse (the "
        "whole write), keep. Answers hide it in any case.",
    )
    own: tuple[str, ...] = quick_row(
        "secrets.own",
        "Secrets of your own: texts, or expressions between slashes; in a variable as a JSON list.",
        is_secret=True,
    )


class BriefSettings(Struct, frozen=True, kw_only=True):
    """What a session is given at its start."""

    tokens: int = quick_row(
        "brief.tokens",
        "The most tokens of the brief that a session starts with; 0 for none.",
    )
    private: str = quick_row(
        "brief.private",
        "What of the private journal a brief may hold: notes (this project's project notes, and "
        "what you prefer), all (every heading of this project's and your own), none.",
    )
    parts: tuple[str, ...] = quick_row(
        "brief.parts",
        f"The parts of a brief: {', '.join(BRIEF_PARTS)}; or none.",
    )


class UndoSettings(Struct, frozen=True, kw_only=True):
    """How long edits can be taken back."""

    keep_days: float = row(
        "COMMONPLACE_UNDO_KEEP_DAYS",
        number_of(0, 3650),
        "Days that the text which an edit replaced is kept, to take the edit back; 0 keeps none.",
        default=30.0,
    )


class HooksSettings(Struct, frozen=True, kw_only=True):
    """What hooks do beyond brief and transcripts."""

    recall: bool = quick_row(
        "hooks.recall",
        "Give a model up to three entries that fit what you ask, without being asked for them.",
    )


class Settings(Struct, frozen=True, kw_only=True):
    """What is set, parsed; paths are absolute.

    Args:
        project: None where there is none.
        work_folder: Where in the project the work is done; None where there is no project.
        log: None where no file is asked for.
        origins: for each key, where its value comes from.
        project_folders: for each key that a project's file set, the folder of that file.
        left_out: what project files asked for and did not get, in sentences.
    """

    home: Path = row(
        "COMMONPLACE_HOME",
        parse_path,
        "The folder of index and weights, and of the only copies of notebook, timeline and memory.",
        make=lambda start: Path(data_folder(start.environ), "commonplace"),
    )
    owner: str = row(
        "COMMONPLACE_OWNER",
        parse_owner_name,
        "Whose index is used; the private journal and chronicle are this machine user's own.",
        default="me",
    )
    project: Path | None = row(
        "COMMONPLACE_PROJECT",
        parse_folder,
        "A folder of the project; else the working directory. Its repository is the project.",
        make=default_folder,
        project="here",
    )
    timezone: ZoneInfo = row(
        "COMMONPLACE_TIMEZONE",
        parse_zone,
        "The zone that cuts days, an IANA name; else the system's.",
        make=system_zone,
        project="yes",
    )
    toolsets: tuple[str, ...] = row(
        "COMMONPLACE_TOOLSETS",
        parse_toolsets,
        "Which tools a client is offered: default, classic, connector, all, or names of journals.",
        default=(DEFAULT,),
        project="narrow",
    )
    read_only: bool = row(
        "COMMONPLACE_READ_ONLY",
        parse_boolean,
        "Offer no tool that writes.",
        default=False,
        project="narrow",
    )
    structured: bool = row(
        "COMMONPLACE_STRUCTURED",
        parse_boolean,
        "Send JSON beside the text of every result; main clients then show a model the JSON alone.",
        default=False,
    )
    preload: bool = quick_row(
        "preload",
        "Load the encoder and the index once a client has listed the tools, before a call.",
    )
    log: Path | None = row(
        "COMMONPLACE_LOG",
        parse_path,
        "A log file, rotated at 1 MB; it never holds the text of entries.",
    )
    private: PrivateSettings
    chronicle: ChronicleSettings
    notebook: NotebookSettings
    timeline: TimelineSettings
    memory: MemorySettings
    transcripts: TranscriptsSettings
    database: DatabaseSettings
    debug: bool = row(
        "COMMONPLACE_DEBUG",
        parse_boolean,
        "Let a search of memory be asked for its diagnostic card.",
        default=False,
    )
    serve: ServeSettings
    index: IndexSettings
    encoder: EncoderSettings
    llm: LlmSettings
    secrets: SecretsSettings
    brief: BriefSettings
    hooks: HooksSettings
    undo: UndoSettings
    origins: Mapping[str, str] = field(default_factory=dict)
    project_folders: Mapping[str, Path] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    work_folder: Path | None = None


SECTIONS: Mapping[str, type[Struct]] = {
    "private": PrivateSettings,
    "chronicle": ChronicleSettings,
    "notebook": NotebookSettings,
    "timeline": TimelineSettings,
    "memory": MemorySettings,
    "transcripts": TranscriptsSettings,
    "database": DatabaseSettings,
    "serve": ServeSettings,
    "index": IndexSettings,
    "encoder": EncoderSettings,
    "llm": LlmSettings,
    "secrets": SecretsSettings,
    "brief": BriefSettings,
    "hooks": HooksSettings,
    "undo": UndoSettings,
}


def _rows() -> Iterator[Setting]:
    for name, make in _defaults(Settings):
        if name in SECTIONS:
            for key, of_section in _defaults(SECTIONS[name]):
                yield of_section(key=f"{name}.{key}")
        elif isinstance(make, partial):
            yield make(key=name)


def _defaults(section: type[Struct]) -> Iterator[tuple[str, Any]]:
    return zip(section.__struct_fields__, section.__struct_defaults__, strict=True)


SETTINGS: tuple[Setting, ...] = tuple(_rows())
"""All rows, in the order of the sections."""


def build_settings(values: Mapping[str, object], **origins: Any) -> Settings:
    """Settings from a value for each key."""
    nested: dict[str, Any] = {key: value for key, value in values.items() if "." not in key}
    for name, section in SECTIONS.items():
        nested[name] = section(**{x: values[f"{name}.{x}"] for x in section.__struct_fields__})
    return Settings(**nested, **origins)
