"""Where a folder lies: on this machine, on another's disk, in a folder that a cloud synchronises."""

from __future__ import annotations

import pytest

from commonplace.doors.doctor.checks import name_cloud, name_network


@pytest.mark.parametrize(
    ("inside", "cloud"),
    [
        ("Dropbox/x", "Dropbox"),
        ("Dropbox (Personal)", "Dropbox"),
        ("OneDrive - Some Firm/Documents", "OneDrive"),
        ("Library/Mobile Documents/com~apple~CloudDocs/x", "iCloud"),
        ("Library/CloudStorage/Box-Box", "a cloud"),
        ("Google Drive/x", "Google Drive"),
    ],
)
def test_clouds_by_name(tmp_path, inside, cloud):
    """The usual names, anywhere on the way, whether or not the folder is there."""
    assert name_cloud(tmp_path / inside) == f"in a folder that {cloud} synchronises"


def test_clouds_by_mark(tmp_path):
    """Syncthing marks the folders it shares; a link into one leads there as well."""
    shared = tmp_path / "shared"
    (shared / "deep").mkdir(parents=True)
    (shared / ".stfolder").mkdir()
    (tmp_path / "link").symlink_to(shared / "deep")
    assert name_cloud(shared / "deep" / "x") == "in a folder that Syncthing synchronises"
    assert name_cloud(tmp_path / "link") == "in a folder that Syncthing synchronises"
    assert name_cloud(tmp_path / "OneDriver") == ""


def test_network_disks(tmp_path):
    """The mount with the longest prefix counts, and the last one on it; spaces are escaped there."""
    (tmp_path / "my share" / "local").mkdir(parents=True)
    mounts = tmp_path / "mounts"
    escaped = str(tmp_path / "my share").replace(" ", "\\040")
    mounts.write_text(
        f"/dev/a / ext4 rw 0 0\nhost:/x {escaped} ext4 rw 0 0\n"
        f"host:/x {escaped} nfs4 rw 0 0\n/dev/b {escaped}/local xfs rw 0 0\nbroken\n"
    )
    share = tmp_path / "my share"
    assert name_network(share / "deep", mounts=mounts) == "on a network disk (nfs4)"
    assert name_network(share / "local", mounts=mounts) == ""
    assert name_network(tmp_path, mounts=mounts) == ""
    assert name_network(share, mounts=tmp_path / "none") == ""
