"""Backups of the queue, how one is brought back, and what an app does with a database that it can't use (DESIGN 5)."""
