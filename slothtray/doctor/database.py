"""Judges the database: readable, whole, of a version that this program knows."""

import shlex
import sqlite3

from slothtray.doctor.checks import OK, PROBLEM, WARNING, Check
from slothtray.store.health import Health
from slothtray.store.schema import LATEST
from slothtray.text import size_words


def database(health: Health, path: str) -> Check:
    """Its state. That it can't be opened at all is raised before."""
    name = "database"
    if not health.exists or (health.version == 0 and health.size == 0):
        return Check(name, OK, f"{path}: not there yet; the first job makes it")
    if health.cut_short:
        return Check(name, WARNING, f"{path}: a write was cut short; the next command takes it back", "slothtray list")
    if health.version > LATEST:
        words = f"{path} is of a newer slothtray (schema {health.version}, this one knows {LATEST})"
        return Check(name, PROBLEM, words, "install that version again")
    if health.findings not in (("ok",), ()):
        return Check(name, PROBLEM, f"{path} is damaged: {health.findings[0]}", "slothtray restore")
    if health.mode & 0o077:
        return Check(name, WARNING, f"{path}: others can read it (mode {health.mode:o})", f"chmod 600 {shlex.quote(path)}")
    whole = "whole" if health.findings else "too large to be checked in time"
    return Check(name, OK, f"schema {health.version}, {whole}, {size_words(health.size)}")


def busy(path: str) -> Check:
    """Somebody has held its lock for a second and more, which none of ours does."""
    return Check("database", PROBLEM, f"{path} is locked by another program", f"end that one; its pid: fuser {shlex.quote(path)}")


def library() -> Check:
    """SQLite itself. Its known corruption (WAL reset, 3.7.0 to 3.51.2) does not concern a queue, which never uses WAL."""
    return Check("sqlite", OK, f"SQLite {sqlite3.sqlite_version}")
