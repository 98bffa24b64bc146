"""`slothtray doctor`: what works here, what doesn't, and the command that mends it."""

import json
import sys
from collections import Counter

from slothtray import doctor
from slothtray.cli.parser import Parsed
from slothtray.cli.render import PLAIN, wants_colour
from slothtray.doctor import OK, PROBLEM, WARNING, Check
from slothtray.paths import Paths
from slothtray.text import clean

COLOURS = {WARNING: "\x1b[33m", PROBLEM: "\x1b[31m"}


def run(parsed: Parsed, paths: Paths) -> int:
    """Look at everything; 1 when something is broken."""
    checks = doctor.examine(paths, send=parsed.flag("notify"))
    if parsed.flag("json"):
        shown = [{**check._asdict(), "fix": check.fix or None} for check in checks]
        print(json.dumps({"version": 1, "checks": shown}))
    else:
        print(text(checks, colour=wants_colour(sys.stdout)))
    return 1 if any(check.status == PROBLEM for check in checks) else 0


def text(checks: list[Check], *, colour: bool = False) -> str:
    """A line a check, below it what mends it, and the sum."""
    lines = []
    wide = max(len(check.name) for check in checks)
    for check in checks:
        status = f"{'OK' if check.status == OK else check.status:<7}"
        mark = COLOURS.get(check.status, "") if colour else ""
        lines.append(f"{mark}{status}{PLAIN if mark else ''}  {check.name:<{wide}}  {clean(check.detail)}")
        if check.fix:
            lines.append(f"{'':7}  {'':<{wide}}  mend it: {clean(check.fix)}")
    return "\n".join([*lines, "", _sum(checks)])


def _sum(checks: list[Check]) -> str:
    count = Counter(check.status for check in checks)
    if not count[PROBLEM] and not count[WARNING]:
        return "All is well."
    parts = [f"{count[kind]} {kind}{'s' * (count[kind] != 1)}" for kind in (PROBLEM, WARNING) if count[kind]]
    return ", ".join(parts) + "."
