"""The login of Windows: a value of the registry's Run key, and the switch that Task Manager has for it. Not run by us yet."""

import importlib
import subprocess
from collections.abc import Sequence
from typing import Any

from slothtray.errors import Refused
from slothtray.system.ports import LoginState

RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
APPROVED = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
NAME = "slothtray"


class RunKey:
    """The value ``slothtray``; it starts ``argv``. ``registry``: the module winreg."""

    def __init__(self, argv: Sequence[str], registry: Any = None) -> None:
        self._command = subprocess.list2cmdline(argv)
        self._argv = tuple(argv)
        self._registry = registry or importlib.import_module("winreg")

    def enable(self) -> None:
        """Write the value, and take back what Task Manager was told. Raises Refused."""
        registry = self._registry
        try:
            with registry.CreateKeyEx(registry.HKEY_CURRENT_USER, RUN, 0, registry.KEY_SET_VALUE) as key:
                registry.SetValueEx(key, NAME, 0, registry.REG_SZ, self._command)
        except OSError as error:
            raise Refused(f"the registry's Run key can't be written: {error}") from error
        self._delete(APPROVED)

    def disable(self) -> None:
        """Remove the value. Raises Refused."""
        self._delete(RUN)
        self._delete(APPROVED)

    def enabled(self) -> bool:
        """Whether the login would start this queue's application."""
        return self.state().enabled

    def state(self) -> LoginState:
        """What the login would make of it."""
        place = rf"HKCU\{RUN}\{NAME}"
        found = self._value(RUN)
        if found is None:
            return LoginState(enabled=False, place=place)
        switch = self._value(APPROVED)
        problem = "switched off in Task Manager" if switch and switch[0] & 1 else ""
        if not problem and found != self._command:
            problem = f"it starts something else: {found}"
        return LoginState(not problem, place, self._argv if found == self._command else (str(found),), problem)

    def _value(self, path: str) -> Any:
        registry = self._registry
        try:
            with registry.OpenKey(registry.HKEY_CURRENT_USER, path) as key:
                return registry.QueryValueEx(key, NAME)[0]
        except OSError:
            return None

    def _delete(self, path: str) -> None:
        registry = self._registry
        try:
            with registry.OpenKey(registry.HKEY_CURRENT_USER, path, 0, registry.KEY_SET_VALUE) as key:
                registry.DeleteValue(key, NAME)
        except FileNotFoundError:
            return
        except OSError as error:
            raise Refused(f"the registry can't be changed: {error}") from error
