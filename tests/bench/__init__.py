"""Figures, on demand: `python3 packaging/dev.py bench`. Never part of the tests: they depend on the machine and its mood."""
