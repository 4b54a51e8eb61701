"""Builds the wheel that carries the weights of the default encoder, into `dist/` or a folder named.

Takes the weights that are installed, checked by their published hashes; never goes to the network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from commonplace.inference.encoder.profiles import MINILM, Missing, find_weights

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "models" / "minilm"
MOST_BYTES = 100_000_000
"""The largest file that a package index takes without asking."""


def main() -> int:
    """Build it, and say how large it is; 1 where it cannot be built or is too large."""
    out = Path(sys.argv[1] if sys.argv[1:] else ROOT / "dist").resolve()
    with TemporaryDirectory() as temp:
        weights = find_weights(MINILM, home=Path(temp, "home"))
        if isinstance(weights, Missing):
            print(f"{weights.located} Or run `make .venv/.weights`.")
            return 1
        ours = next(package for package in MINILM.packages if package.ours)
        project = Path(temp, "project")
        shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
        folder = project / ours.module / ours.folder
        folder.mkdir()
        for path, file in ((weights.model, MINILM.model), (weights.tokenizer, MINILM.tokenizer)):
            shutil.copyfile(path, folder / file.paths[0])
        command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out))
        done = subprocess.run(command, cwd=project, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{done.stdout}{done.stderr}The wheel was not built.")
        return 1
    wheel = max(out.glob(f"{ours.module}-*.whl"), key=lambda path: path.stat().st_mtime)
    size = wheel.stat().st_size
    print(f"{wheel}: {size:,} bytes")
    if size > MOST_BYTES:
        print(f"A package index takes {MOST_BYTES:,} at most.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
