"""Whether run records and logs can be made at all: the gate `storage` waits until they can (DESIGN 4, 2)."""

import os

from slothtray.paths import Paths
from slothtray.system import records


def why_not(paths: Paths) -> str:
    """Try to make a record and a log, so that no job has to be claimed to find out; "" when they can be made."""
    return _why_no_record(paths) or _why_no_log(paths)


def _why_no_record(paths: Paths) -> str:
    probe = paths.run_record(f"probe-{os.getpid()}")
    try:
        os.close(records.create(probe))
        os.unlink(probe)
    except OSError as error:
        return words(paths, error)
    return ""


def words(paths: Paths, error: OSError) -> str:
    """What a failure to make one means to a person."""
    return f"no run record can be made in {paths.runs}: {error.strerror or error}"


def _why_no_log(paths: Paths) -> str:
    probe = os.path.join(paths.logs, f"probe-{os.getpid()}")
    try:
        if not os.path.lexists(paths.logs):
            os.mkdir(paths.logs, 0o700)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        os.unlink(probe)
    except OSError as error:
        return f"no log can be made in {paths.logs}: {error.strerror or error}"
    return ""
