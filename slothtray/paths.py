"""The only answer to "where is X" inside a queue folder, and which folder that is. No I/O but the environment."""

import os
import sys


class Paths:
    """The files of one queue folder (DESIGN 2). ``home`` is absolute."""

    def __init__(self, home: str, config: str | None = None) -> None:
        self.home = os.path.abspath(home)
        self.config = config or os.path.join(self.home, "config.toml")
        self.database = os.path.join(self.home, "queue.db")
        self.runs = os.path.join(self.home, "runs")
        self.logs = os.path.join(self.home, "logs")
        self.backups = os.path.join(self.home, "backups")
        self.app_log = os.path.join(self.home, "app.log")
        self.bell = os.path.join(self.home, "bell")
        self.lock = os.path.join(self.home, "runner.lock")
        self.told = os.path.join(self.home, "told")

    def log(self, job: int) -> str:
        """The one log file of a job, all attempts in it."""
        return os.path.join(self.logs, f"{job}.log")

    def run_record(self, run: str) -> str:
        """The run record of one attempt."""
        return os.path.join(self.runs, run)

    def run_stderr(self, run: str) -> str:
        """What that attempt's supervisor itself had to say."""
        return os.path.join(self.runs, run + ".err")


def find(home: str | None = None) -> Paths:
    """The folder that ``--home`` or ``SLOTHTRAY_HOME`` names, else the person's own one.

    A ``~`` is the home here too: no shell expands it in ``--home=~/queue``, nor systemd or cron in a variable, and it would become
    another folder of that name, and another queue, wherever a command is typed.
    """
    chosen = home or os.environ.get("SLOTHTRAY_HOME")
    return Paths(os.path.expanduser(chosen)) if chosen else _own()


def options(paths: Paths) -> list[str]:
    """The words before a command that pick this folder where no variable does; none for the person's own one."""
    own = _own()
    return [] if (paths.home, paths.config) == (own.home, own.config) else ["--home", paths.home]


def _own() -> Paths:
    return Paths(os.path.join(_data_home(), "slothtray"), os.path.join(config_home(), "slothtray", "config.toml"))


def _data_home() -> str:
    if sys.platform == "linux":
        return _xdg("XDG_DATA_HOME", ".local/share")
    import platformdirs

    return platformdirs.user_data_dir()


def config_home() -> str:
    """Where this person's programs have their settings."""
    if sys.platform == "linux":
        return _xdg("XDG_CONFIG_HOME", ".config")
    import platformdirs

    return platformdirs.user_config_dir()


def _xdg(variable: str, default: str) -> str:
    """The XDG base directory rule. By hand on Linux: importing platformdirs costs 14 ms on every ``add``, and it says the same."""
    value = os.environ.get(variable, "").strip()
    return value if os.path.isabs(value) else os.path.join(os.path.expanduser("~"), default)
