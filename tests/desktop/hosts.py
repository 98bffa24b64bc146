"""The whole program in the desktops that are too large for every test run: a step a line, with its time, and pictures to look at.

On demand, on a Debian with their packages: `python tests/desktop/hosts.py gnome --keep FOLDER`, or `all`; `--install` installs them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "tray")]

from cycle import BusHand, Cycle, Mouse, program_on
from desktops import HOSTS, desktop_in, missing, version
from harness import Home
from private import UNSHARE


def main():
    """Command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host", choices=[*HOSTS, "all"])
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="leave a picture of each state there")
    parser.add_argument("--install", action="store_true", help="first install the Debian packages that are missing (as root)")
    parser.add_argument("--no-mouse", action="store_true", help="choose in the menu over D-Bus, as the panel does")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        return 0 if cycle_in(chosen.host, chosen.keep, mouse=not chosen.no_mouse) else 1
    return max([try_out(name, chosen) for name in (HOSTS if chosen.host == "all" else [chosen.host])])


def try_out(name, chosen):
    """One desktop in a PID namespace of its own: a desktop starts a lot that doesn't end with it. The exit code."""
    packages = missing(HOSTS[name])
    if packages and chosen.install:
        install(packages)
        packages = missing(HOSTS[name])
    if packages:
        print(f"{name}: not tried: sudo apt install {' '.join(packages)}", flush=True)
        return 1
    options = [*(["--keep", str(chosen.keep)] if chosen.keep else []), *(["--no-mouse"] if chosen.no_mouse else [])]
    return subprocess.run([*UNSHARE, sys.executable, __file__, name, "--inside", *options], check=False).returncode


def install(packages):
    """As root; what apt has to say against it is seen."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", "-o", "DPkg::Lock::Timeout=120", *words], env=env, stdout=subprocess.DEVNULL, check=False)


def cycle_in(name, keep, *, mouse):
    """Start the desktop and go through it; True when all was as it should be."""
    host = HOSTS[name]
    begun = time.monotonic()
    hand = Mouse if mouse else BusHand
    with ExitStack() as parts:
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="hosts-")))
        camera = Camera(name, keep)
        try:
            desktop = camera.desktop = parts.enter_context(desktop_in(folder))
            variables = parts.enter_context(host.start(desktop))
            tell(begun, f"{name} {version(host.packages[0])} is up")
            home = Home(folder / "queue")
            parts.callback(home.close)
            app = parts.enter_context(program_on(desktop, home, variables=variables))
            app.looks = host.looks
            app.when_open = lambda: camera.keep("menu")
            cycle = Cycle(app, home, hand(app), host.bubble(desktop), camera.keep)
            for step in Cycle.STEPS:
                step(cycle)
                tell(begun, step.__name__.replace("_", " "))
        except Exception:
            traceback.print_exc()
            camera.keep("at-the-failure")
            logs(folder)
            print(f"{name}: FAILED", flush=True)
            return False
        print(f"{name}: fine, in {time.monotonic() - begun:.1f} s, by {hand.words}", flush=True)
        return True


class Camera:
    """Leaves pictures of the whole screen, numbered, where they are wanted."""

    def __init__(self, name, folder):
        self.name, self.folder, self.desktop, self.count = name, folder, None, 0

    def keep(self, what):
        """Take one."""
        if self.folder is not None and self.desktop is not None:
            self.count += 1
            self.folder.mkdir(parents=True, exist_ok=True)
            self.desktop.photo().save(self.folder / f"{self.name}-{self.count:02}-{what}.png")


def tell(begun, what):
    """One line with its time."""
    print(f"{time.monotonic() - begun:6.1f} s  {what}", flush=True)


def logs(folder):
    """What the programs said last."""
    for path in [*sorted(folder.glob("*.log")), folder / "queue" / "app.log"]:
        if path.exists():
            print(f"--- {path.name}", *path.read_text(errors="replace").splitlines()[-15:], sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
