"""`slothtray` without a command: the tray application. Everything it can do is wired together here."""

import os
import sys

from slothtray import actions, assets, notices, private
from slothtray.cli import settings, streams
from slothtray.cli.parser import Parsed
from slothtray.cli.welcome import already_running, welcome, without_desktop
from slothtray.clock import Clock
from slothtray.errors import FolderBusy, StorageError
from slothtray.paths import Paths
from slothtray.runner import Loop, LoopThread, Tell
from slothtray.store import Queue, person
from slothtray.system import applog, clipboard, copier, installed, marks, notify, opener, sessionend, sleep
from slothtray.system.autostart import system_autostart
from slothtray.text import clean
from slothtray.tray.app import Port, run_app

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slothtray.model import Notice, Snapshot

CHANGES = {"start": person.start, "hold": person.hold, "release": person.release, "retry": person.retry}


def run(parsed: Parsed, paths: Paths) -> int:
    """Run the tray and the queue under it until Quit."""
    del parsed
    applog.set_up(paths)

    def make_runner(on_snapshot: "Callable[[Snapshot], None]", on_notice: "Callable[[Notice], None]") -> LoopThread:
        tell = Tell(snapshot=on_snapshot, notice=on_notice, trouble=streams.tell)

        def make_loop() -> Loop:
            loop = Loop(paths, settings.watched(paths), tell, sleep.listen())
            streams.tell(f"running the queue in {paths.home}")
            without_desktop()
            welcome(paths, on_notice)
            return loop

        return LoopThread(make_loop)

    notifier = notify.system_notifier(assets.path("hicolor/64x64/apps/slothtray.png"))
    again = installed.Restart()
    try:
        code = run_app(make_runner, port(paths)._replace(restart=again.ask), notifier, session=sessionend.of_this_login())
    except FolderBusy:
        already_running(paths)
        raise
    again.carry_out()
    if code:
        print(f"slothtray: the runner has ended by itself: see {clean(paths.app_log)}", file=sys.stderr)
    return code


def port(paths: Paths) -> Port:
    """What the menu's entries do on this queue folder."""
    return Port(
        pause=lambda seconds: actions.pause(paths, seconds),
        resume=lambda: actions.resume(paths),
        change=lambda name, jobs: change(paths, name, jobs),
        copied=lambda: clipboard.check_text(clipboard.system_clipboard().read()),
        add=lambda text: add(paths, text),
        copy=lambda text: copier.system_copier().write(text),
        open_log=lambda job, on_failure: open_log(paths, job, on_failure),
        autostart=system_autostart(paths),
        once=lambda mark: marks.once(paths, mark),
        forget=lambda mark: marks.forget(paths, mark),
    )


def change(paths: Paths, name: str, jobs: "Sequence[int]") -> None:
    """Start, hold, release, cancel or retry jobs. Raises the first refusal, when what can be done is done."""
    for error in actions.cancel_each(paths, jobs)[0] if name == "cancel" else actions.each(paths, jobs, CHANGES[name]):
        raise error


def add(paths: Paths, text: str) -> str:
    """Queue what was copied; one line that says so."""
    keep, _ = actions.kept_by_config(paths)
    added = actions.add(paths, [actions.clipboard_job(text, os.environ, keep)])
    return notices.queued(added.ids[0], text)


def open_log(paths: Paths, job: int | None, on_failure: "Callable[[str], None]") -> None:
    """Show a job's log, which then counts as seen, or the app's own. ``on_failure`` may be told later that nothing shows it."""
    path = paths.app_log if job is None else paths.log(job)
    exists = private.is_file(path)
    if exists:
        opener.system_opener(on_failure).open(path)
    if job is not None:
        mark_seen(paths, job)
    if not exists:
        raise StorageError("there is no log yet" if job is None else f"job {job} has written nothing")


def mark_seen(paths: Paths, job: int) -> None:
    """The person has looked at a job: its failure makes no badge any more."""
    queue = Queue(paths.database, Clock(), patience=2.0)
    try:
        with queue.database.write():
            person.mark_seen(queue.database, job)
    finally:
        queue.close()
    actions.ring(paths)
