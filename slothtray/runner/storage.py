"""Whether run records and logs can be made at all: the gate `storage` waits until they can (DESIGN 4, 2)."""

import os
from contextlib import ExitStack

from slothtray.paths import Paths
from slothtray.system import records


def why_not(paths: Paths) -> str:
    """Try to make a record and a log, so that no job has to be claimed to find out; "" when they can be made."""
    probe = f"probe-{os.getpid()}"
    try:
        os.makedirs(paths.runs, 0o700, exist_ok=True)  # removed by hand: a fresh one will do
        with ExitStack() as undo:
            # All at once, as an attempt needs them: with the last free inode, or page, gone to the record there is none for others.
            for make, path in ((records.create, paths.run_record(probe)), (records.open_stderr, paths.run_stderr(probe))):
                undo.callback(os.close, make(path))
                undo.callback(os.unlink, path)
            return _why_no_log(paths)
    except OSError as error:
        return words(paths, error)


def words(paths: Paths, error: OSError) -> str:
    """What a failure to make one means to a person."""
    return f"no run record can be made in {paths.runs}: {error.strerror or error}"


def _why_no_log(paths: Paths) -> str:
    probe = os.path.join(paths.logs, f"probe-{os.getpid()}")
    try:
        remake_logs(paths)
        with ExitStack() as undo:
            log = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            undo.callback(os.unlink, probe)
            undo.callback(os.close, log)
            os.write(log, b"\n")  # on a full disk a file can be made, and nothing be written to it
    except OSError as error:
        return f"no log can be made in {paths.logs}: {error.strerror or error}"
    return ""


def remake_logs(paths: Paths) -> None:
    """A folder of logs that was removed by hand (for the room they took) costs no job its attempt. Raises OSError."""
    if not os.path.lexists(paths.logs):
        os.mkdir(paths.logs, 0o700)
