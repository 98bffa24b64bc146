"""How an error is said: one line for people, an envelope for programs."""

import json
import sys

from slothtray.errors import SlothtrayError
from slothtray.text import clean


def report(error: SlothtrayError, *, as_json: bool) -> int:
    """Say what went wrong, in one line; its exit code."""
    if as_json:
        print(json.dumps({"version": 1, "error": {"code": error.code, "title": error.title, "message": error.message}}))
    else:
        print(f"slothtray: {clean(str(error))}", file=sys.stderr)
    return error.exit_code
