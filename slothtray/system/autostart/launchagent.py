"""The login of macOS: a property list in ~/Library/LaunchAgents. Its file is tested, launchd itself was not run by us."""

import os
import plistlib
from collections.abc import Sequence

from slothtray.errors import Refused
from slothtray.system.autostart import files, program
from slothtray.system.ports import LoginState

LABEL = "slothtray"


class LaunchAgent:
    """One agent in ``folder``; it starts ``argv``."""

    def __init__(self, argv: Sequence[str], folder: str) -> None:
        self._argv = argv
        self._path = os.path.join(folder, f"{LABEL}.plist")

    def enable(self) -> None:
        """Write the agent; it counts from the next login. Raises Refused."""
        wanted = {
            "Label": LABEL,
            "ProgramArguments": list(self._argv),
            "RunAtLoad": True,
            "LimitLoadToSessionType": "Aqua",
            "ProcessType": "Interactive",
        }
        files.write(self._path, plistlib.dumps(wanted))

    def disable(self) -> None:
        """Remove it. Raises Refused."""
        files.remove(self._path)

    def enabled(self) -> bool:
        """Whether the login would start this queue's application."""
        return self.state().enabled

    def state(self) -> LoginState:
        """What the login would make of the agent. Raises Refused when it can't be read."""
        try:
            with open(self._path, "rb") as file:
                found = plistlib.load(file)
        except FileNotFoundError:
            return LoginState(enabled=False, place=self._path)
        except Exception as error:
            raise Refused(f"{self._path} can't be read: {error}") from error
        command = tuple(map(str, found.get("ProgramArguments", ())))
        problem = self._problem(found, command)
        return LoginState(not problem, self._path, command, problem)

    def _problem(self, found: dict[str, object], command: tuple[str, ...]) -> str:
        if found.get("Disabled") is True or found.get("RunAtLoad") is not True:
            return "switched off there"
        return program.problem("".join(command[:1]), command, self._argv)
