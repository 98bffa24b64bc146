"""`slothtray doctor`: readings of the machine, each handed to its judge. Changes nothing, and makes nothing."""

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import slothtray
from slothtray import bell
from slothtray.clock import Clock
from slothtray.config import defaults, load
from slothtray.doctor import clocks, database, desktop, folder, gates, login, settings
from slothtray.doctor.checks import OK, PROBLEM, WARNING, Check, Examination, run
from slothtray.errors import DatabaseBusy, Refused
from slothtray.model import Notice
from slothtray.paths import Paths
from slothtray.policy import Instant
from slothtray.store import health as store_health
from slothtray.system import autostart, clipboard, linger, notify
from slothtray.system import folder as queue_folder
from slothtray.system.bus import BusUnavailable
from slothtray.system.facts import clocks as clock_facts
from slothtray.system.facts import desktop as desktop_facts
from slothtray.system.facts import distribution, storage
from slothtray.system.load import default_ceiling, one_minute
from slothtray.system.ports import LoginState
from slothtray.tray import search

__all__ = ["OK", "PROBLEM", "WARNING", "Check", "examine"]

_T = TypeVar("_T")
QUICK_CHECK = 5.0
"""Seconds that SQLite may look for damage: about a gigabyte."""


def examine(paths: Paths, *, send: bool = False) -> list[Check]:
    """All checks of this queue folder and this login. ``send``: show a notification, too. Raises nothing."""
    asked = _Asked(paths)
    seen = _of_desktop(asked) if sys.platform == "linux" else []
    return run([Examination("slothtray", _itself), *seen, *_of_queue(asked), *(_trial() if send else [])])


class _Asked:
    """What several checks need, read once."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.install = partial(distribution.install, text=distribution.os_release())
        self.screen = _once(desktop_facts.screen)
        self.seen = _once(_glance)
        self.folder = _once(lambda: storage.folder(paths.home))
        self.health = _once(lambda: store_health.examine(paths.database, QUICK_CHECK))
        self.reading = _once(lambda: load(paths.config, defaults(default_ceiling())))
        self.login = _once(lambda: autostart.system_autostart(paths).state())
        self.service = _once(lambda: _service(paths))
        self.now = _once(lambda: _now(paths))


def _once(read: Callable[[], _T]) -> Callable[[], _T]:
    """Read at the first call; the others, on whichever thread, wait for it and get the same, an error too."""
    lock = threading.Lock()
    found: list[_T] = []
    failed: list[Exception] = []

    def get() -> _T:
        with lock:
            if not found and not failed:
                try:
                    found.append(read())
                except Exception as error:
                    failed.append(error)
        if failed:
            raise failed[0]
        return found[0]

    return get


def _itself() -> Check:
    system = distribution.values(distribution.os_release()).get("PRETTY_NAME", sys.platform)
    python = sys.version.split(maxsplit=1)[0]
    return Check("slothtray", OK, f"{slothtray.__version__}, Python {python}, {system}")


def _of_desktop(asked: _Asked) -> list[Examination]:
    chosen = os.environ.get("SLOTHTRAY_TRAY", "")
    return [
        Examination("display", lambda: desktop.display(asked.screen())),
        Examination("bus", lambda: desktop.bus(desktop_facts.bus_trouble(), asked.screen())),
        Examination("panel", lambda: desktop.panel(asked.seen(), _owner(asked), asked.screen(), asked.install)),
        Examination("tray", lambda: desktop.tray(_backends(asked.seen()), asked.screen(), chosen)),
        Examination("notifications", lambda: _notifications(asked)),
        Examination("clipboard", lambda: desktop.clipboard(clipboard.tools(), asked.screen(), asked.install)),
    ]


def _of_queue(asked: _Asked) -> list[Examination]:
    paths, long = asked.paths, QUICK_CHECK + 5.0
    return [
        Examination("autostart", lambda: login.autostart(asked.login())),
        Examination("headless", lambda: login.headless(asked.service(), asked.login())),
        Examination("linger", lambda: login.linger(linger.lingers(), asked.service())),
        Examination("folder", lambda: folder.folder(asked.folder())),
        Examination("filesystem", lambda: folder.filesystem(asked.folder())),
        Examination("lock", lambda: folder.lock(asked.folder())),
        Examination("space", lambda: folder.space(asked.folder())),
        Examination("database", lambda: _database(asked), long),
        Examination("sqlite", database.library),
        Examination("config", lambda: settings.config(asked.reading(), paths.config, exists=os.path.exists(paths.config))),
        Examination("clocks", lambda: clocks.clocks(clock_facts.clocks())),
        Examination("sleep", lambda: clocks.sleep(clock_facts.signals())),
        Examination("app", lambda: gates.app(queue_folder.holder_of(paths), _known(asked), answers=bell.answered(paths)), long),
        Examination("load", lambda: gates.load(asked.now(), _known(asked), asked.reading().config), long),
        Examination(
            "gates", lambda: gates.gates(asked.now(), _known(asked), asked.reading().config, answers=bell.answered(paths)), long
        ),
    ]


def _database(asked: _Asked) -> Check:
    try:
        return database.database(asked.health(), asked.paths.database)
    except DatabaseBusy:
        return database.busy(asked.paths.database)


def _known(asked: _Asked) -> store_health.Health:
    """The gates have an answer without the database, too."""
    try:
        return asked.health()
    except Exception:
        return store_health.Health(exists=False)


def _trial() -> list[Examination]:
    def send() -> Check:
        notice = Notice(None, "slothtray", "This is what a notification looks like.", urgent=False)
        notify.system_notifier(passing=True).notify(notice)
        return Check("notification", OK, "one was shown")

    return [Examination("notification", send, 6.0)]


def _glance() -> search.Seen | None:
    try:
        return search.Search().glance()
    except search.NothingToWaitFor:
        return None


def _backends(seen: search.Seen | None) -> tuple[str, ...]:
    import importlib.util

    found = search.choose(seen, search.PATIENCE) if seen is not None else ()
    return desktop.usable(found, has_gi=importlib.util.find_spec("gi") is not None)


def _owner(asked: _Asked) -> desktop_facts.Owner | None:
    seen = asked.seen()
    return desktop_facts.owner_of(search.WATCHER) if seen is not None and seen.watcher else None


def _notifications(asked: _Asked) -> Check:
    try:
        server = desktop_facts.notification_server()
    except BusUnavailable:
        server = desktop_facts.Server("")
    except TimeoutError:
        return Check("notifications", PROBLEM, "the service does not answer", "end it, or log in anew")
    return desktop.notifications(server, asked.screen(), asked.install)


def _service(paths: Paths) -> LoginState | None:
    try:
        return autostart.headless(paths).state()
    except Refused:
        return None


def _now(paths: Paths) -> gates.Now:
    clock = Clock()
    records = not os.path.isdir(paths.runs) or os.access(paths.runs, os.W_OK | os.X_OK)
    return gates.Now(Instant(clock.wall(), clock.awake()), clock.boot_id(), one_minute(), records)
