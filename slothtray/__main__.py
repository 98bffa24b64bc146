"""Entry point: `slothtray`, `python -m slothtray`, and the packed app's own supervisor."""

import sys


def main() -> int:
    """Run the command line; the exit code."""
    if sys.argv[1:2] == ["--supervise"]:
        # A packed app has no python to run supervisor.py with: it is its own. Before anything is parsed or imported.
        from slothtray import supervisor

        return supervisor.main(int(sys.argv[2]))
    try:
        from slothtray.cli import main as run

        return run()
    except KeyboardInterrupt:  # while it was being imported
        return 130


if __name__ == "__main__":
    sys.exit(main())
