"""How an error is said: one line for people, an envelope for programs."""

import json
import sys

from slothtray.errors import PROGRAM_CHANGED, SlothtrayError
from slothtray.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.paths import Paths


LONGEST = 1000
"""Characters of an error that repeats what was typed."""


def report(error: SlothtrayError, *, as_json: bool) -> int:
    """Say what went wrong, in one line; its exit code."""
    if as_json:
        print(json.dumps({"version": 1, "error": {"code": error.code, "title": error.title, "message": error.message}}), flush=True)
    else:
        print(f"slothtray: {clean(str(error), LONGEST)}", file=sys.stderr)
    return error.exit_code


def defect(error: Exception, paths: "Paths") -> SlothtrayError:
    """What is said of an error that nobody has foreseen. Its traceback goes to the app's log, if there is a folder for it."""
    import os
    import time
    import traceback

    if isinstance(error, ImportError):
        return SlothtrayError(f"{error}", PROGRAM_CHANGED)
    from slothtray import private

    what = f"this is a defect of slothtray ({type(error).__name__}: {error})"
    lines = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {sys.argv[1:2]}\n" + "".join(traceback.format_exception(error))
    try:
        descriptor = private.open_file(paths.app_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError:
        return SlothtrayError(what)
    with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(lines)
    return SlothtrayError(what, f"its traceback is in {paths.app_log}")
