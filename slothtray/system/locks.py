"""Whether a process has a lock on a file, as the kernel tells everybody, without a descriptor of the file.

SQLite's locks belong to the process: to open and close its file for a question would drop our own (fcntl(2)).
"""

import os


def anyone_holds(path: str) -> bool:
    """Whether some process does; False for no file, and where the kernel doesn't say. Files of one number on two disks are one."""
    try:
        mark = f":{os.stat(path).st_ino} "
        with open("/proc/locks", encoding="ascii", errors="replace") as file:
            return any(mark in line for line in file)
    except OSError:
        return False
