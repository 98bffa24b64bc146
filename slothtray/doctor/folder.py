"""Judges the queue folder: whose it is, who can read it, what it lies on, and how much room is left."""

import shlex

from slothtray.doctor.checks import OK, PROBLEM, WARNING, Check
from slothtray.system.facts.storage import Folder
from slothtray.text import size_words

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "fuse.glusterfs", "ncpfs", "davfs"})
"""File systems whose locks reach other machines late, or not at all."""
FLEETING = frozenset({"tmpfs", "ramfs"})
LITTLE, TOO_LITTLE = 200_000_000, 20_000_000
"""Bytes: one job's log may take 50 MB; a write of the database needs the room twice."""


def folder(facts: Folder) -> Check:
    """Owner, mode and whether it can be written."""
    name, path = "folder", shlex.quote(facts.place)
    if not facts.is_folder:
        return Check(name, PROBLEM, f"{facts.place} is not a folder", "slothtray --home DIR")
    if not facts.exists:
        if not facts.writable:
            return Check(name, PROBLEM, f"{facts.path} can't be made in {facts.place}", "slothtray --home DIR")
        return Check(name, OK, f"{facts.path}: not there yet; the first job makes it")
    if facts.owner != facts.user:
        fix = f"sudo chown -R {facts.user} {path}"
        return Check(name, PROBLEM, f"{facts.path} belongs to user {facts.owner}, you are {facts.user}", fix)
    if not facts.writable:
        return Check(name, PROBLEM, f"{facts.path} can't be written (mode {facts.mode:o})", f"chmod 700 {path}")
    if facts.mode & 0o077:
        return Check(name, WARNING, f"{facts.path}: others get in (mode {facts.mode:o})", f"chmod 700 {path}")
    return Check(name, OK, f"{facts.path}: yours alone (mode {facts.mode:o})")


def filesystem(facts: Folder) -> Check:
    """The kind of file system, for locks and durability."""
    kind = facts.kind or "of a kind that can't be seen"
    if facts.kind in NETWORK:
        return Check("filesystem", WARNING, f"{kind}: a network's locks can't be relied on", "slothtray --home DIR on a local disk")
    if facts.kind in FLEETING:
        return Check("filesystem", WARNING, f"{kind}: all is lost at the next boot", "slothtray --home DIR on a disk")
    return Check("filesystem", OK, kind)


def lock(facts: Folder) -> Check:
    """Locks prove that no job runs twice."""
    if not (facts.exists and facts.writable):
        return Check("lock", OK, "to be tried when the folder can be used")
    if facts.lock:
        return Check("lock", PROBLEM, f"flock does not work there: {facts.lock}", "slothtray --home DIR on a local disk")
    return Check("lock", OK, "flock keeps a second holder out")


def space(facts: Folder) -> Check:
    """Room for the database and the logs."""
    words = f"{size_words(facts.free)} free"
    if not facts.files_left:
        return Check("space", PROBLEM, "no room for another file (inodes)", "slothtray prune --older 1d")
    if facts.free < LITTLE:
        return Check("space", PROBLEM if facts.free < TOO_LITTLE else WARNING, words, "slothtray prune --older 1d")
    return Check("space", OK, words)
