"""Whether run records can be made at all: the gate `storage` waits until they can (DESIGN 4, 2)."""

import os

from slothtray.paths import Paths
from slothtray.system import records


def why_no_record(paths: Paths) -> str:
    """Try to make a record, so that no job has to be claimed to find out; "" when it can be made."""
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
