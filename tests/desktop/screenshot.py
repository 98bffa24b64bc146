"""Makes the README's picture: the real application, with a real queue, in a real xfce4-panel.

On demand: `python tests/desktop/screenshot.py assets/screenshot.png`
"""

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE), str(HERE / "tray"), str(HERE / "system")]

from desktop_session import until, x_desktop
from panels import LIMIT, SniApp, text_rows, xfce4_panel, xfce_services

from slothtray.model import Face

PROGRAM = [sys.executable, "-m", "slothtray"]
JOBS = ("rsync -a ~/photos /mnt/photos", "./backup.sh --all", "make -j4", "./encode.sh holiday.mkv", "rsync -a ~/music /mnt/music")
STAND_INS = {"rsync": "exit 0", "backup.sh": "echo the disk is not there; exit 2", "make": "exec sleep 60", "encode.sh": "exit 0"}


def main(target):
    """Draw it; the picture is cut to the panel and its menu."""
    with tempfile.TemporaryDirectory() as folder, x_desktop(Path(folder)) as desktop, xfce_services(desktop), xfce4_panel(desktop):
        home = Path(folder, "queue")
        env = {**desktop.env, "SLOTHTRAY_HOME": str(home), "SLOTHTRAY_TRAY": "sni", "SHELL": "/bin/sh"}
        subprocess.run([*PROGRAM, "config", "set", "ceiling", "off"], env=env, check=True, capture_output=True)
        subprocess.run([*PROGRAM, "config", "set", "cooldown", "1s"], env=env, check=True, capture_output=True)
        work = Path(folder, "work")
        work.mkdir()
        env["PATH"] = f"{work}:{env['PATH']}"
        for name, script in STAND_INS.items():
            (work / name).write_text(f"#!/bin/sh\n{script}\n")
            (work / name).chmod(0o700)
        for command in JOBS:
            subprocess.run([*PROGRAM, "add", "-q", command], env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
        with desktop.program(*PROGRAM, env=env) as process, copied(desktop, b"make test"):
            app = SniApp(desktop, process)
            running = [*PROGRAM, "list", "--state", "running"]
            until(lambda: "make" in subprocess.run(running, env=env, capture_output=True, text=True, check=True).stdout, 6 * LIMIT)
            until(lambda: app.shows(Face.RUNNING), LIMIT)
            box = app.open_menu()
            until(lambda: "Add “make test”" in app.lines(), LIMIT)
            until(lambda: len(text_rows(desktop.photo().crop(box))) == len(app.lines()), LIMIT)
            photo = desktop.photo()
            width, height = photo.size
            photo.crop((box[0], box[1], width, height)).save(target)
        subprocess.run([*PROGRAM, "cancel", "3"], env=env, check=False, capture_output=True)


@contextmanager
def copied(desktop, text):
    """This is in the clipboard."""
    with desktop.program("xclip", "-selection", "clipboard", "-quiet", "-i", stdin=subprocess.PIPE) as process:
        process.stdin.write(text)
        process.stdin.close()
        yield


if __name__ == "__main__":
    main(sys.argv[1])
