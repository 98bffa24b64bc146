"""Judges the config file. What is wrong in it is not in force; everything else is."""

import shlex

from slothtray.config import Reading
from slothtray.doctor.checks import OK, PROBLEM, Check


def config(reading: Reading, path: str, *, exists: bool) -> Check:
    """``path``: the file's, which need not be there."""
    if reading.problem:
        return Check("config", PROBLEM, f"{reading.problem} ({path})", f"$EDITOR {shlex.quote(path)}")
    if not exists:
        return Check("config", OK, f"{path}: not there yet; the defaults are in force")
    count = len(reading.written)
    return Check("config", OK, f"{path}: valid, {count} key{'s' * (count != 1)} set")
