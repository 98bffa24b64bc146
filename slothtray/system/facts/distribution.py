"""Which distribution this is, and how a package is installed on it."""

import shlex

PATHS = ("/etc/os-release", "/usr/lib/os-release")
INSTALLERS = {
    "debian": "sudo apt install",
    "ubuntu": "sudo apt install",
    "fedora": "sudo dnf install",
    "rhel": "sudo dnf install",
    "arch": "sudo pacman -S",
    "suse": "sudo zypper install",
    "opensuse": "sudo zypper install",
}


def os_release() -> str:
    """The text of os-release(5); "" without one."""
    for path in PATHS:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            continue
    return ""


def values(text: str) -> dict[str, str]:
    """The assignments in such a text; pure."""
    pairs = [line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#")]
    found = {}
    for name, _, value in pairs:
        try:
            found[name.strip()] = " ".join(shlex.split(value))
        except ValueError:
            continue
    return found


def install(package: str, text: str) -> str:
    """The command that installs a package on the system of this os-release, or the package's name in words; pure."""
    found = values(text)
    for name in (found.get("ID", ""), *found.get("ID_LIKE", "").split()):
        if name in INSTALLERS:
            return f"{INSTALLERS[name]} {package}"
    return f"install the package {package}"
