"""What a checkout needs on this machine before it can run or be tested: Debian packages, virtual environments."""

import hashlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

DEBIAN_PACKAGES = (
    "python3-venv",  # ensurepip, which Debian takes out of python3
    "xvfb",  # a screen where there is none
    "dbus",  # dbus-daemon: a private session bus for each test
    "xdotool",  # the mouse that clicks in a real panel
    "xclip",  # owns and reads the X clipboard
    "xsel",  # ... the other one that does
    "xdg-utils",  # xdg-open, which opens a log
    "dunst",  # a real notification daemon, which tells what it showed
    "trayer",  # a panel that knows only the old XEmbed tray
    "xfce4-panel",  # a panel with the new tray ...
    "xfwm4",  # ... which wants a window manager to open its menus
    "xfce4-session",  # a whole login, which starts what autostart has written
    "dex",  # ... and what starts that under sway
    "desktop-file-utils",  # judges what login and menus read
    "systemd",  # systemd-analyze judges the user service
    "sway",  # a Wayland session, in a window of Xvfb ...
    "waybar",  # ... and its panel ...
    "grim",  # ... and its screenshots
    "wl-clipboard",  # its clipboard
    "zsh",  # two shells that complete our commands ...
    "fish",  # ... beside bash
    "man-db",  # shows the manual page
    "appstream",  # judges what software centres read ...
    "lintian",  # ... and the .deb
    "procps",  # ps, which tells of processes where there is no /proc
    "strace",  # counts the syncs of an add, and records what a power cut may undo
    "python3-gi",  # pystray's gtk backend, the fall-back beside such a panel ...
    "gir1.2-gtk-3.0",  # ... the toolkit it draws with ...
    "gir1.2-ayatanaappindicator3-0.1",  # ... and the backend that pystray would choose by itself
)


class Stop(Exception):
    """Ends the program with one line for the person and an exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def say(message: str) -> None:
    """One line for the person; stdout belongs to the commands that are run."""
    print(f"dev.py: {message}", file=sys.stderr, flush=True)


# --- other programs -------------------------------------------------------------------------------------------


def call(argv: list[str], cwd: str | None = None) -> int:
    """Runs a program in this terminal; its exit code, as a shell would give it."""
    code = subprocess.run(argv, cwd=cwd, check=False).returncode
    return code if code >= 0 else 128 - code


def quietly(argv: list[str]) -> None:
    """Runs a program for its effect. Raises Stop with its most telling line if it fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        line = telling_line(done.stdout) or f"exit code {done.returncode}"
        raise Stop(f"{line} (see all of it by: {shlex.join(argv)})")


def telling_line(output: str) -> str:
    """The line that says what went wrong: apt's and pip's error, or the last word of the build that pip ran."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E: ", "ERROR: "))]
    last_words = [line for line, after in itertools.pairwise(lines) if after == "[end of output]"]
    return (errors or last_words or lines or [""])[-1]


def become(program: str, *words: str) -> NoReturn:
    """Puts the program in this one's place, so that it gets the signals and no process stays behind."""
    sys.stdout.flush()
    os.execv(program, [program, *words])


# --- Debian packages ------------------------------------------------------------------------------------------


def ensure_debian_packages() -> int:
    """Installs what is missing, where that is ours to do; else says what is missing, and lets the tests go on."""
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        say("this is no Debian: the tests use what they find of " + ", ".join(DEBIAN_PACKAGES))
        return 0
    missing = missing_debian_packages()
    if missing and os.geteuid() != 0:
        say(f"the tests miss packages: sudo apt install {' '.join(missing)}")
    elif missing:
        say("installing " + ", ".join(missing))
        # A fresh machine has no package lists, and often its own first update holds the lock.
        apt = ["apt-get", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3"]
        quietly([*apt, "update"])
        quietly([*apt, "install", "-y", "--no-install-recommends", *missing])
    return 0


def missing_debian_packages() -> list[str]:
    """Those of DEBIAN_PACKAGES that are not installed; one question for all, as each takes 10 ms."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *DEBIAN_PACKAGES]
    answer = subprocess.run(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    lines = answer.stdout.splitlines()
    return [package for package in DEBIAN_PACKAGES if f"{package} installed" not in lines]


# --- environments ---------------------------------------------------------------------------------------------


class Venv:
    """A virtual environment with this checkout in it, made anew whenever it isn't known to be whole."""

    def __init__(self, name: str, python: str, *, extra: str = "", system_packages: bool = False) -> None:
        self.name = name
        self.folder = os.path.join(ROOT, name)
        self.stamp = os.path.join(self.folder, "slothtray-stamp")
        self.python = python
        self.extra = extra
        self.system_packages = system_packages

    def program(self, name: str) -> str:
        """The path of a command that is installed in it."""
        if sys.platform == "win32":
            return os.path.join(self.folder, "Scripts", name + ".exe")
        return os.path.join(self.folder, "bin", name)

    def ensure(self) -> int:
        """Makes or renews what the stamp doesn't vouch for. Returns 0 or raises Stop."""
        interpreter, project = version_of(self.python), project_hash()
        if not self._vouched(interpreter, project):
            with one_at_a_time():
                if not self._vouched(interpreter, project):  # by the one we waited for
                    self._renew(interpreter, project)
        return 0

    def _vouched(self, interpreter: str, project: str) -> bool:
        found, installed, extra = self._read_stamp()
        return (found, installed) == (interpreter, project) and self.extra in ("", extra)

    def _renew(self, interpreter: str, project: str) -> None:
        found, _, _ = self._read_stamp()
        # It goes first and comes last: whatever interrupts this leaves an environment that nobody trusts.
        if found:
            os.unlink(self.stamp)
        if found != interpreter:
            self._create()
        self._install()
        with open(self.stamp + ".new", "w", encoding="utf-8") as file:
            file.write(f"{interpreter}\n{project}\n{self.extra}")
        os.replace(self.stamp + ".new", self.stamp)

    def _read_stamp(self) -> tuple[str, str, str]:
        try:
            with open(self.stamp, encoding="utf-8") as file:
                interpreter, project, extra = file.read().split("\n")
        except (OSError, ValueError):
            return "", "", ""
        return interpreter, project, extra

    def _create(self) -> None:
        probe = [self.python, "-c", "import ensurepip"]
        if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode:
            raise Stop(no_ensurepip())
        say(f"making {self.name}")
        flags = ["--clear", "--system-site-packages"] if self.system_packages else ["--clear"]
        quietly([self.python, "-m", "venv", *flags, self.folder])
        if not os.path.exists(self.program("pip")):
            raise Stop(no_ensurepip())

    def _install(self) -> None:
        target = f".[{self.extra}]" if self.extra else "."
        say(f"installing slothtray and what it needs into {self.name}")
        pip = [self.program("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        quietly([*pip, "--editable", target])


def no_ensurepip() -> str:
    """Names the package: Debian's own message goes on for ten lines, and its `import venv` even succeeds."""
    if shutil.which("apt-get"):
        return "python3-venv is missing: sudo apt install python3-venv"
    return "python3-venv is missing: install the package of your system that brings Python's ensurepip"


def base_python() -> str:
    """The interpreter beneath any virtual environment that this runs in: that one may be what gets remade."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def version_of(python: str) -> str:
    """Which Python exactly; empty if it is too old for slothtray."""
    if python == base_python():
        return " ".join(sys.version.split())
    question = "import sys; print(*sys.version.split()); sys.exit(sys.version_info < (3, 11))"
    answer = subprocess.run([python, "-c", question], stdout=subprocess.PIPE, text=True, check=False)
    return "" if answer.returncode else answer.stdout.strip()


def project_hash() -> str:
    """Stands for what an installation depends on: its folder too, as an environment can't be moved."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        return hashlib.sha256(os.fsencode(ROOT) + b"\0" + file.read()).hexdigest()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Keeps a second terminal from clearing the environment that the first one is making."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
