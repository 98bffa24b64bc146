"""Whether systemd keeps this person's services after the logout, and starts them with the machine (loginctl enable-linger)."""

import os
import sys


def lingers(root: str = "/") -> bool | None:
    """None where there is no systemd to ask. logind keeps an empty file for each person for whom it does (loginctl(1))."""
    if sys.platform != "linux" or not os.path.isdir(os.path.join(root, "run/systemd/system")):
        return None
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return None
    return os.path.exists(os.path.join(root, "var/lib/systemd/linger", name))
