"""Starting with the login, in the way each system has for it; and, for machines without a desktop, as a systemd user service."""

import os
import sys

from slothtray import paths as places
from slothtray.errors import Refused
from slothtray.paths import Paths
from slothtray.system.autostart.launchagent import LaunchAgent
from slothtray.system.autostart.program import command
from slothtray.system.autostart.runkey import RunKey
from slothtray.system.autostart.unit import UserUnit
from slothtray.system.autostart.xdg import XdgAutostart
from slothtray.system.ports import Autostart

__all__ = ["headless", "system_autostart"]


def system_autostart(paths: Paths) -> Autostart:
    """The login's entry for the tray application on this queue folder."""
    argv = [*command(), *places.options(paths)]
    if sys.platform == "darwin":
        return LaunchAgent(argv, os.path.expanduser("~/Library/LaunchAgents"))
    if sys.platform == "win32":
        return RunKey(argv)
    return XdgAutostart(argv, os.path.join(places.config_home(), "autostart"))


def headless(paths: Paths) -> UserUnit:
    """The user service that runs this queue folder without a desktop. Raises Refused where there is no systemd."""
    if sys.platform != "linux":
        raise Refused("--headless makes a systemd user service, which only Linux has", "`slothtray run` works the queue here, too")
    options = places.options(paths)
    # The person's own folder is where these say; one that was chosen is in the words.
    names = [] if options else ["XDG_DATA_HOME", "XDG_CONFIG_HOME"]
    environment = {name: os.environ[name] for name in names if os.path.isabs(os.environ.get(name, ""))}
    return UserUnit([*command(), *options, "run"], os.path.join(places.config_home(), "systemd", "user"), environment)
