"""Fresh Debian systems in folders: the README's two commands, and the .deb from its installation to its purge.

    python packaging/debian.py [12] [13]        both without a word; `dev.py debian` does

Needs root, debootstrap and git, and takes some minutes for each. What is downloaded comes from Debian and PyPI alone.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator

import package
from machine import ROOT, Stop, say

SUITES = {"12": "bookworm", "13": "trixie"}
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
LEAVINGS = ("/home/", "/proc/", "/sys/", "/dev/", "/run/", "/var/log/", "/var/cache/", "/var/lib/apt/", "/var/lib/dpkg/")
"""Where a purge may leave something: the person's data, the system's own records, and what is no file on a disk."""
LIMIT = 900.0
"""Seconds that one command may take: apt and pip download what they need."""
DAY = """\
set -eu
export PYTHONWARNINGS=error
slothtray add "echo hello from Debian"
slothtray run --until-empty --ceiling off
test "$(slothtray log 1)" = "hello from Debian"
slothtray list
slothtray completion bash > /dev/null
if slothtray --help | grep -q '  doctor  '; then slothtray doctor || :; fi
"""
IMPORTS = """\
import importlib, pkgutil, slothtray
names = [found.name for found in pkgutil.walk_packages(slothtray.__path__, "slothtray.") if not found.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names), "modules imported from", slothtray.__path__[0])
"""


class System:
    """A Debian in a folder. Commands run in it with namespaces of their own, so that nothing of theirs stays behind."""

    def __init__(self, folder: str, suite: str) -> None:
        self.folder, self._suite = folder, suite

    def make(self) -> None:
        """From nothing. Raises Stop."""
        words = ["debootstrap", "--variant=minbase", "--include=ca-certificates", self._suite, self.folder]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise Stop(f"debootstrap: {done.stdout.strip().splitlines()[-1]}")
        # The network of this machine may have certificates and a resolver of its own.
        for path in (CERTIFICATES, "/etc/resolv.conf"):
            if os.path.exists(path):
                shutil.copy(path, self.folder + path)
        self.run("useradd --create-home --shell /bin/bash person")

    def run(self, script: str, *, user: str = "root", show: bool = False) -> str:
        """Run a shell script in it, as a login of that user would; what it printed. Raises Stop when it fails."""
        enter = 'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        become = ["runuser", "--login", "--whitelist-environment=PIP_CERT", user, "--command", script]
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, self.folder, *become],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PIP_CERT": CERTIFICATES},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        if show or done.returncode:
            print(done.stdout, end="", flush=True)
        if done.returncode:
            raise Stop(f"in Debian ({self._suite}), as {user}, exit code {done.returncode}: {script.strip().splitlines()[-1]}")
        return done.stdout

    def apt(self, words: str) -> None:
        """One call of apt-get."""
        self.run(f"DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 {words}")

    def files(self) -> set[str]:
        """All there are, but those that come and go by themselves."""
        found = set()
        for folder, folders, names in os.walk(self.folder):
            inside = folder.removeprefix(self.folder) + "/"
            folders[:] = [name for name in folders if not f"{inside}{name}/".startswith(LEAVINGS)]
            found |= {inside + name for name in (*names, *folders)}
        return found

    def take(self, path: str, names: Iterable[str], target: str) -> None:
        """Copy files into it, below ``target``, for the person."""
        for name in names:
            place = os.path.join(self.folder, target.lstrip("/"), name)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.join(path, name), place)
        self.run(f"chown -R person: {target}")


def life_of_the_package(system: System, deb: str) -> None:
    """Installed with nothing but Debian's packages, used, removed, purged. Raises Stop."""
    name = os.path.basename(deb)
    system.take(os.path.dirname(deb), [name], "/home/person/deb")
    depends = system.run(f"dpkg-deb --field /home/person/deb/{name} Depends").strip()
    system.apt("update")
    system.apt("install --no-install-recommends " + " ".join(part.split(" ")[0] for part in depends.split(", ")))
    before = system.files()
    system.apt(f"install --no-install-recommends /home/person/deb/{name}")
    system.run(DAY, user="person", show=True)
    system.run(f"python3 -W error -c '{IMPORTS}'", user="person", show=True)
    system.apt(f"install --reinstall /home/person/deb/{name}")
    system.apt("remove slothtray")
    gone("after its removal", system.files() - before)
    system.run("dpkg --purge slothtray")
    gone("after its purge", system.files() - before)
    kept = system.run("cat .local/share/slothtray/logs/1.log", user="person").strip()
    say(f"purged: nothing is left but the person's data ({kept!r} in logs/1.log)")


def gone(when: str, left: set[str]) -> None:
    """Raises Stop when a file is there that was not there before."""
    if left:
        raise Stop(f"{when} there are still {', '.join(sorted(left)[:5])}")


def two_commands(system: System, deb: str) -> None:
    """What the README begins with, as an ordinary user who has cloned the repository; of the tests only the house's own."""
    del deb
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    names = [name for name in listed if os.path.isfile(os.path.join(ROOT, name))]
    system.take(ROOT, names, "/home/person/slothtray")
    system.apt("update")
    system.apt("install --no-install-recommends python3")
    try:
        system.run("cd slothtray && python3 packaging/dev.py run", user="person")
    except Stop:
        say("without python3-venv: told in the line above")
    system.apt("install --no-install-recommends python3-venv")
    # This machine's load is none of this test's business.
    system.run("echo 0.00 0.00 0.00 1/100 1 > calm", user="person")
    home = "export SLOTHTRAY_HOME=$HOME/queue SLOTHTRAY_LOADAVG=$HOME/calm; cd slothtray; "
    system.run(home + 'python3 packaging/dev.py run --until-empty "echo hello"', user="person", show=True)
    hello = system.run("cat queue/logs/1.log", user="person").strip()
    say(f"the first command ran its job, which wrote {hello!r}")
    system.run("cd slothtray && python3 packaging/dev.py test -q tests/test_house.py", user="person", show=True)


def tried(number: str, deb: str) -> Iterator[str]:
    """Everything in one Debian; a line for each part that says how long it took."""
    parts: tuple[Callable[[System, str], None], ...] = (life_of_the_package, two_commands)
    for part in parts:
        with tempfile.TemporaryDirectory(prefix=f"slothtray-debian{number}-") as folder:
            what = f"Debian {number}, {part.__name__.replace('_', ' ')}"
            say(what)
            # Within: a temporary folder is for its owner alone, and so would be all of the system.
            system, start = System(os.path.join(folder, "root"), SUITES[number]), time.monotonic()
            system.make()
            made = time.monotonic()
            part(system, deb)
            yield f"{what}: fine after {made - start:.0f} s to make the system and {time.monotonic() - made:.0f} s in it"


def main(arguments: list[str]) -> int:
    """The exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left then either
    try:
        for word in arguments:
            if word not in SUITES:
                raise Stop(f"debian knows no {word}: use {' or '.join(SUITES)}", 2)
        if os.geteuid() != 0:
            raise Stop("debian has to be run as root: it makes systems and changes into them")
        for program in ("debootstrap", "unshare", "git"):
            if not shutil.which(program):
                raise Stop(f"{program} is missing: apt install {program}")
        with tempfile.TemporaryDirectory(prefix="slothtray-dist-") as target:
            (deb,) = (path for path in package.all_packages(target) if path.endswith(".deb"))
            lines = [line for number in arguments or SUITES for line in tried(number, deb)]
        print("\n".join(lines))
    except Stop as stop:
        say(str(stop))
        return stop.code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
