"""`slothtray` without a command: the tray application. Everything it can do is wired together here."""

import os
import sys

from slothtray import actions, assets
from slothtray.cli.commands import run as plain
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.errors import StorageError
from slothtray.paths import Paths
from slothtray.runner import Loop, LoopThread, Tell
from slothtray.store import Queue, person
from slothtray.system import applog, clipboard, notify, opener, sleep
from slothtray.text import clean
from slothtray.tray.app import Port, run_app

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slothtray.model import Notice, Snapshot

PREVIEW = 60


def run(parsed: Parsed, paths: Paths) -> int:
    """Run the tray and the queue under it until Quit."""
    del parsed
    applog.set_up(paths)
    print(f"slothtray runs the queue in {paths.home}", file=sys.stderr)

    def make_runner(on_snapshot: "Callable[[Snapshot], None]", on_notice: "Callable[[Notice], None]") -> LoopThread:
        tell = Tell(snapshot=on_snapshot, notice=on_notice)
        return LoopThread(lambda: Loop(paths, plain.default_config(), tell, sleep.listen()))

    return run_app(make_runner, port(paths), notify.system_notifier(assets.path("hicolor/64x64/apps/slothtray.png")))


def port(paths: Paths) -> Port:
    """What the menu's entries do on this queue folder."""
    return Port(
        pause=lambda: actions.pause(paths),
        resume=lambda: actions.resume(paths),
        add_from_clipboard=lambda: add_from_clipboard(paths),
        open_log=lambda job: open_log(paths, job),
    )


def add_from_clipboard(paths: Paths) -> str:
    """Queue what was copied; one line that says so. Raises ``ClipboardError`` with the reason why not."""
    text = clipboard.check_text(clipboard.system_clipboard().read())
    added = actions.add(paths, [actions.clipboard_job(text, os.environ)])
    return f"job {added.ids[0]}: {clean(text, PREVIEW)}"


def open_log(paths: Paths, job: int | None) -> None:
    """Show a job's log, which then counts as seen, or the app's own."""
    if job is None:
        opener.system_opener().open(paths.app_log)
        return
    queue = Queue(paths.database, Clock(), patience=2.0)
    try:
        with queue.database.write():
            person.mark_seen(queue.database, job)
    finally:
        queue.close()
    actions.ring(paths)
    if not os.path.exists(paths.log(job)):
        raise StorageError(f"job {job} has written nothing")
    opener.system_opener().open(paths.log(job))
