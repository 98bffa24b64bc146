"""`slothtray restore`: the backups there are, and one of them brought back."""

import json
import os

from slothtray.cli import render
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.errors import FolderBusy, Refused
from slothtray.paths import Paths
from slothtray.recovery import files, opening, restore
from slothtray.recovery.files import Kept
from slothtray.recovery.restore import Restored
from slothtray.store import copying
from slothtray.system import folder
from slothtray.text import clean, id_ranges, size_words

KINDS = {
    "backup": "",
    "upgrade": "before an upgrade",
    "replaced": "replaced by a backup",
    "damaged": "damaged",
}


def run(parsed: Parsed, paths: Paths) -> int:
    """List what there is, or bring one back."""
    as_json = parsed.flag("json")
    if parsed.words:
        restored = _bring_back(paths, parsed.words[0])
        print(json.dumps({"version": 1, "restored": _restored_json(restored)}) if as_json else _told(restored))
    else:
        kept = [*files.backups(paths), *files.asides(paths)]
        print(json.dumps({"version": 1, "backups": [_json(one) for one in kept]}) if as_json else _table(kept))
    return 0


def _bring_back(paths: Paths, word: str) -> Restored:
    """The one command that tries the app's lock: an app must not have the database open that is replaced."""
    source = files.named(paths, word)
    folder.prepare(paths)
    try:
        lock = folder.FolderLock(paths)
    except FolderBusy as error:
        raise FolderBusy(error.title, "quit it first: Quit in its menu, or Ctrl-C where `slothtray run` runs") from error
    try:
        restore.forget_cut_off(paths)
        if not os.path.exists(source.path):
            raise Refused(f"{source.name} was the present queue", "`slothtray restore` lists the backups")
        return restore.bring_back(paths, source, Clock())
    finally:
        lock.release()


# --- what is shown --------------------------------------------------------------------------------------------------------------


def _numbers(kept: Kept) -> tuple[int, int] | None:
    # A damaged one is not opened: SQLite would roll its journal back into it.
    return None if kept.kind == "damaged" else copying.numbers(kept.path)


def _json(kept: Kept) -> dict[str, object]:
    jobs, unfinished = _numbers(kept) or (None, None)
    return {
        "name": kept.name,
        "path": kept.path,
        "kind": kept.kind,
        "made_at": render.moment(kept.made_at),
        "size": kept.size,
        "jobs": jobs,
        "unfinished": unfinished,
    }


def _restored_json(restored: Restored) -> dict[str, object]:
    assert restored.source is not None
    return {
        "name": restored.source.name,
        "made_at": render.moment(restored.source.made_at),
        "held": restored.held,
        "running": restored.running,
        "replaced": restored.kept,
        "missing": restored.missing,
        "strangers": restored.strangers,
    }


def _table(kept: list[Kept]) -> str:
    if not kept:
        return "no backups yet: the app makes one a day, and keeps two"
    rows = [("NAME", "MADE", "SIZE", "JOBS", "")]
    for one in kept:
        numbers = _numbers(one)
        jobs = f"{numbers[0]}, {numbers[1]} unfinished" if numbers else "?"
        rows.append((clean(one.name), one.when, size_words(one.size), jobs, KINDS[one.kind]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows)


def _told(restored: Restored) -> str:
    """What was done and what to do next, a line each."""
    assert restored.source is not None
    lines = [f"restored {clean(restored.source.name)} of {restored.source.when}: {opening.held_words(restored)}"]
    if restored.kept:
        words = f"the queue as it was is kept: `slothtray restore {restored.kept}` goes back to it"
        lines.append(f"the damaged database is kept as {restored.kept}" if ".damaged-" in restored.kept else words)
    if restored.missing:
        lines.append(f"not in the backup, only there: job {id_ranges(restored.missing)}")
    lines.append("next: look at `slothtray list`, release what is still wanted, start slothtray")
    return "\n".join(lines)
