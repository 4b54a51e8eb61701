"""The settings: one table of them, and how flags, environment and files are read into one value.

Never writes anything but the user's own file, and never lets a project's file move private text.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from commonplace.config.files import LARGEST, project_files, user_settings_file
from commonplace.config.table import SECTIONS, SETTINGS, Setting, build_settings
from commonplace.config.toml_edit import TomlValue, set_toml_value, unset_toml_value
from commonplace.config.values import ENV_PREFIX, Origin, Start, embed_model, unknown
from commonplace.core import PROJECT_FILE
from commonplace.core.errors import Conflict, Invalid
from commonplace.core.files import locked, make_folder, may_exist, regular_file, replace_file
from commonplace.core.projects import HERE, project_of
from commonplace.core.toml import parse_toml
from commonplace.journals.table import TOOLSETS, with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.config.table import Settings

NARROWED_BY = ", narrowed by "
"""In an origin, between where a value comes from and each project's file that narrows it."""


class _Layer(Struct, frozen=True, kw_only=True):
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

    What a project's file may only narrow is the user's, less what each project's file leaves out.
    A flag of None is not given. Raises: Invalid where a name, a value or a file is not valid, or a
    project's file sets a key that it may not set.
    """
    cwd = Path(os.path.abspath(cwd))
    layers = [_flag_layer(flags or {}, cwd), _environment_layer(environ, cwd)]
    named = next((layer for layer in layers if "project" in layer.values), None)
    root = cwd if named is None else Path(_parsed(_setting("project", ""), named, home, toolsets))
    of_project = [
        _file_layer(Path(path), trusted=trusted)
        for path, trusted in project_files(root, str(home or ""))
    ]
    layers += of_project
    if os.path.isfile(file := user_file(environ)):
        layers.append(_file_layer(file, trusted=True))
    for layer in of_project:
        if not layer.trusted:
            _check_project_file(layer, root, home, toolsets)
    start = Start(environ, cwd, home)
    chosen = {each.key: _choose(each, layers, start, toolsets) for each in SETTINGS}
    work_folder = chosen["project"].value
    if work_folder is not None:
        _enter_project(chosen, start)
    return build_settings(
        {key: each.value for key, each in chosen.items()},
        origins={key: each.origin for key, each in chosen.items()},
        project_folders={key: x.folder for key, x in chosen.items() if x.folder is not None},
        left_out=tuple(text for each in chosen.values() for text in each.left_out),
        work_folder=work_folder,
    )


class _Choice(Struct, kw_only=True):
    """The value of one setting; folder: of the project's file that set it; None for any other."""

    value: Any
    origin: str
    folder: Path | None = None
    left_out: list[str] = []


def _choose(
    setting: Setting, layers: Sequence[_Layer], start: Start, toolsets: Sequence[str]
) -> _Choice:
    """The value of the first layer that may set it, less what projects' files leave out."""
    given = [layer for layer in layers if setting.key in layer.values]
    is_users = setting.project in {"narrow", "here"}
    heard = [layer for layer in given if layer.trusted or not is_users]
    if setting.project == "inside":  # only where the user names no folder at all
        heard.sort(key=lambda layer: not layer.trusted)
    if not heard:
        choice = _Choice(value=setting.default(start), origin="default")
    else:
        first = heard[0]
        choice = _Choice(
            value=_parsed(setting, first, start.home, toolsets),
            origin=first.origin(setting),
            folder=None if first.trusted else first.base,
        )
    for layer in given if setting.project == "narrow" else ():
        if not layer.trusted:
            asked = _parsed(setting, layer, start.home, toolsets)
            _narrow(choice, asked, layer.origin(setting))
    return choice


def _narrow(choice: _Choice, asked: Any, origin: str) -> None:
    """Leave of the user's choice what a project's file has too: names of both, or either's yes."""
    if isinstance(asked, tuple):
        own = with_parts(choice.value)
        if more := [name for name in asked if name not in own]:
            choice.left_out.append(f"{origin} asks for {', '.join(more)}, which only you can add.")
        kept = [name for name in choice.value if name in asked]
        narrowed: Any = tuple(dict.fromkeys([*kept, *(name for name in asked if name in own)]))
    else:
        narrowed = choice.value or asked
    if narrowed != choice.value:
        choice.value, choice.origin = narrowed, f"{choice.origin}{NARROWED_BY}{origin}"


def _enter_project(chosen: Mapping[str, _Choice], start: Start) -> None:
    """Put the project in the place of the folder in it, and what its file names inside of it."""
    project, private = chosen["project"], chosen["private.path"]
    found = project_of(project.value, start.home, start.environ)
    if found.isolated:
        project.origin = f"{Path(found.root, PROJECT_FILE)} (project)"
    # The path as the user wrote it, where that is the project itself.
    if found.root != os.path.realpath(project.value):
        project.value = Path(found.root)
    if private.folder is not None:
        private.value = Path(found.in_root(str(private.value)))
        private.folder = Path(found.in_root(str(private.folder)))


def write_setting(
    key: str, value: str, file: Path, *, cwd: Path | None = None, home: Path | None = None
) -> None:
    """Set one key in a TOML file, made if need be; comments, order and other keys stay.

    value: as in the environment; a relative path is meant from `cwd`. Raises Invalid for an
    unknown key, a value that does not parse, or a file that cannot be edited in place.
    """
    parsed = parse_setting(key, value, cwd=cwd or file.parent, home=home)
    rendered: TomlValue = render_setting(parsed)
    with _rewriting(file) as target:
        text = read_user_file(target)
        _flat_keys(parse_toml(text, name=str(file)), file)
        edited = set_toml_value(text, key.split("."), rendered, name=str(file))
        try:
            content = edited.encode()
        except UnicodeEncodeError as exc:
            raise Invalid(
                f"Invalid {key}: {value!r} is not UTF-8, as a settings file must be.",
                hint=f"Choose another value, or set {_setting(key, key).env} in the environment.",
            ) from exc
        replace_file(target, content)


def write_settings(text: str, file: Path, *, before: str, cwd: Path, home: Path | None) -> None:
    """Write a whole settings file, once all of it was read.

    Args:
        text: What the file is to hold.
        file: The file; made if need be.
        before: What it held when the text was begun.
        cwd: Where relative paths begin.
        home: The user's home folder.

    Raises:
        Invalid: It is not TOML, a key is unknown, or a value does not parse.
        Conflict: Another process has changed the file since.
    """
    name = f"What was written for {file}"
    new = parse_toml(text, name=name, hint="Correct it, then try again.")
    for key, value in _flat_keys(new, file).items():
        setting = _setting(key, f"the setting {key!r}")
        setting.parse(value, Origin(f"{key} in {file}", cwd, home, TOOLSETS, typed=True))
    with _rewriting(file) as target:
        if read_user_file(target) != before:
            raise Conflict(
                f"{file} has changed since it was opened.",
                hint="Open it again: `commonplace config edit`.",
            )
        replace_file(target, text.encode())


def unset_setting(key: str, file: Path) -> bool:
    """Take one key out of a TOML file; whether it was there. Comments and other keys stay.

    Raises:
        Invalid: The key is unknown, or the file cannot be edited in place.
    """
    _setting(key, f"the setting {key!r}")
    if not may_exist(file):
        return False
    with _rewriting(file) as target:
        text = read_user_file(target)
        if key not in _flat_keys(parse_toml(text, name=str(file)), file):
            return False
        replace_file(target, unset_toml_value(text, key.split("."), name=str(file)).encode())
    return True


def read_user_file(file: Path) -> str:
    """The text of a settings file; empty where there is none. Raises: Invalid, Denied."""
    return _read_text(file) if may_exist(file) else ""


@contextmanager
def _rewriting(file: Path) -> Iterator[Path]:
    """The file that is written, a link followed, while no other process of ours writes it."""
    target = Path(os.path.realpath(file))
    make_folder(target.parent)
    with locked(target.parent):
        yield target


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
    return setting.parse(value, Origin(key, cwd or Path(), home, toolsets))


def user_home(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The user's home folder; None where there is none.

    Raises: Invalid for a HOME that is empty or relative: an empty one would mean the root.
    """
    named = environ.get("HOME")
    if os.name != "nt" and named is not None and not os.path.isabs(named):
        raise Invalid(
            f"HOME is {named!r}, which is not the whole path of a folder.",
            hint="Set HOME to your home folder.",
        )
    try:
        return Path.home()
    except RuntimeError:
        return None


def user_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own settings file, whether or not it is there."""
    return Path(user_settings_file(environ))


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
    raise unknown_setting(named, key)


def unknown_setting(named: str, key: str) -> Invalid:
    """The error for a key that no setting has; the nearest one is proposed."""
    keys = [setting.key for setting in SETTINGS]
    return unknown(named, key, keys, see="See `commonplace config show`.")


def _parsed(setting: Setting, layer: _Layer, home: Path | None, toolsets: Sequence[str]) -> Any:
    origin = Origin(layer.origin(setting), layer.base, home, toolsets, typed=layer.typed)
    return setting.parse(layer.values[setting.key], origin)


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
        ours = name.startswith(ENV_PREFIX)
        if ours and name not in known:
            raise unknown(f"the environment variable {name}", name, [*known])
    given = {known[name]: text for name, text in environ.items() if name in known and text}
    return _Layer(
        values={**given, **embed_model(environ, given)},
        base=cwd,
        origin=lambda setting: f"environment {setting.env}",
    )


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
        with regular_file(file) as opened:
            content = opened.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise Invalid(f"{file} is larger than {LARGEST >> 20} MB.", hint="Remove it.")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Invalid(f"{file} is not UTF-8 text.", hint="Save it as UTF-8.") from exc


def _flat_keys(tables: Mapping[str, Any], file: Path) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in tables.items():
        nested = isinstance(value, dict) and name in SECTIONS
        flat |= (
            {f"{name}.{key}": inner for key, inner in value.items()} if nested else {name: value}
        )
    for key in flat:
        _setting(key, f"the key {key!r} in {file}")
    return flat


# A project's file comes with a cloned repository: anyone may have written it.


def _check_project_file(
    layer: _Layer, root: Path, home: Path | None, toolsets: Sequence[str]
) -> None:
    """Refuse what would move private text or weights, or send anything anywhere."""
    for key in layer.values:
        setting = _setting(key, key)
        if setting.project == "here":
            if layer.values[key] != HERE:
                raise _not_in_project(layer.origin(setting), f'may only be "{HERE}" there')
            continue
        if setting.project == "no":
            raise _not_in_project(layer.origin(setting), "may not be set there")
        value = _parsed(setting, layer, home, toolsets)
        if isinstance(value, Path) and not _lies_in_project(value, root, layer.base):
            raise _not_in_project(layer.origin(setting), f"lies outside {root}, or is all of it")


def _not_in_project(origin: str, why: str) -> Invalid:
    return Invalid(
        f"A project's file is not trusted so far: {origin} {why}.",
        hint=f"Put it into {user_file()}, or remove it.",
    )


def _lies_in_project(path: Path, root: Path, folder: Path) -> bool:
    """Below the project, or below the folder of a project file that the user owns; never in git's.

    In a folder that several users write to (/tmp), a file above the project may be another's.
    """
    real = Path(os.path.realpath(path))
    own = os.name == "nt" or os.stat(folder / PROJECT_FILE).st_uid == os.geteuid()
    above = [Path(os.path.realpath(root)), *([folder] if own else [])]
    return (
        folder in path.parents
        and any(each in real.parents for each in above)
        and not any(part.casefold() == ".git" for part in path.parts)
    )
