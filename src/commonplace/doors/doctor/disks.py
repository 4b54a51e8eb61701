"""Whether a folder is on a network disk, or in a folder that a cloud synchronises.

Never touches the folder: a path and the table of mounts are enough.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PureWindowsPath

MOUNTS = Path("/proc/self/mounts")

_NETWORK = re.compile(
    r"(9p|afs|beegfs|ceph|cifs|davfs|glusterfs|lustre|ncpfs|nfs4?|smb3|smbfs"
    r"|fuse\.(davfs2|glusterfs|rclone|s3fs|sshfs))"
)
_CLOUDS = (
    (re.compile(r"Dropbox( \(.+\))?"), "Dropbox"),
    (re.compile(r"OneDrive( - .+)?"), "OneDrive"),
    (re.compile(r"Mobile Documents|iCloud ?Drive|com~apple~CloudDocs"), "iCloud"),
    (re.compile(r"CloudStorage"), "a cloud"),
    (re.compile(r"Google ?Drive"), "Google Drive"),
    (re.compile(r"Nextcloud"), "Nextcloud"),
    (re.compile(r"Syncthing"), "Syncthing"),
)
_MARKS = ((".stfolder", "Syncthing"), (".dropbox.cache", "Dropbox"))


def name_cloud(folder: Path) -> str:
    """Describe a synchronised folder: `in a folder that Dropbox synchronises`; else empty.

    It is recognised by the names of the folders above it, and by marker files in them.
    """
    real = Path(os.path.realpath(folder))
    for part in (real, *real.parents):
        named = next((cloud for name, cloud in _CLOUDS if name.fullmatch(part.name)), "")
        marked = next((cloud for mark, cloud in _MARKS if os.path.lexists(part / mark)), "")
        if named or marked:
            return f"in a folder that {named or marked} synchronises"
    return ""


def name_network(folder: Path, *, mounts: Path = MOUNTS) -> str:
    """Describe a network disk: `on a network disk (nfs4)`; else empty."""
    real = os.path.realpath(folder)
    if PureWindowsPath(real).drive.startswith("\\\\"):
        return "on a network disk"
    kind = _mounted_kind(Path(real), mounts)
    return f"on a network disk ({kind})" if _NETWORK.fullmatch(kind) else ""


def _mounted_kind(real: Path, mounts: Path) -> str:
    """The kind of the filesystem a path lies on: of the last mount on its longest prefix."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    longest, kind = -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) > 2:  # noqa: PLR2004  device, mount point, kind
            point = Path(re.sub(r"\\([0-7]{3})", lambda sign: chr(int(sign[1], 8)), fields[1]))
            if len(point.parts) >= longest and real.is_relative_to(point):
                longest, kind = len(point.parts), fields[2]
    return kind
