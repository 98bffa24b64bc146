"""A systemd user service that runs the queue on a machine without a desktop."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from slothtray.system.autostart import files, program, words
from slothtray.system.ports import LoginState

NAME = "slothtray.service"
PATIENCE = 10.0
"""Seconds that systemctl may take."""

TEXT = """\
[Unit]
Description=slothtray, the job queue (without a tray)

[Service]
{environment}ExecStart={command}
# Only the runner is ended with the service: a job that runs is its supervisor's, and the next runner goes on with it.
KillMode=process
Restart=on-failure
RestartSec=5
# Usage, and another app that holds the queue folder: starting again would change neither.
RestartPreventExitStatus=2 3

[Install]
WantedBy=default.target
"""


class UserUnit:
    """One unit, ``slothtray.service``, in ``folder``, and the link by which the user's manager wants it.

    It starts ``argv`` with the variables of ``environment``, which the manager may not have: it reads no ~/.profile.
    """

    def __init__(self, argv: Sequence[str], folder: str, environment: Mapping[str, str] | None = None) -> None:
        self._argv = argv
        self._environment = environment or {}
        self._path = os.path.join(folder, NAME)
        self._link = os.path.join(folder, "default.target.wants", NAME)

    def enable(self) -> None:
        """Write and link the unit, as `systemctl --user enable` would. Raises Refused."""
        for value in self._environment.values():
            words.check(value)
        lines = "".join(f'Environment="{name}={value}"\n' for name, value in self._environment.items())
        files.write(self._path, TEXT.format(command=words.command_line(self._argv), environment=lines).encode())
        files.link(self._link, self._path)
        _reload()

    def disable(self) -> None:
        """Remove both. A service that runs goes on until it is stopped. Raises Refused."""
        removed = [files.remove(self._link), files.remove(self._path)]
        try:
            os.rmdir(os.path.dirname(self._link))
        except OSError:
            pass  # others are wanted there, too
        if any(removed):
            _reload()

    def enabled(self) -> bool:
        """Whether the user's manager would start it."""
        return self.state().enabled

    def state(self) -> LoginState:
        """What the user's manager would make of it."""
        content = files.read(self._path)
        if content is None:
            return LoginState(enabled=False, place=self._path)
        command = words.words_of(_value(content, "ExecStart"))
        problem = self._problem(command)
        return LoginState(not problem, self._path, command, problem)

    def _problem(self, command: tuple[str, ...]) -> str:
        if not os.path.lexists(self._link):
            return "switched off there (no link in default.target.wants)"
        return program.problem("".join(command[:1]), command, self._argv)


def _value(content: str, key: str) -> str:
    lines = [line.partition("=") for line in content.splitlines()]
    return next((value.strip() for name, _, value in lines if name.strip() == key), "")


def _reload() -> None:
    """Let a manager that runs know. Where none does, the files are all that is needed."""
    systemctl = shutil.which("systemctl")
    if systemctl is None:
        return
    null = subprocess.DEVNULL
    try:
        subprocess.run([systemctl, "--user", "daemon-reload"], stdin=null, stdout=null, stderr=null, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        pass
