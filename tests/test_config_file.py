"""`config.toml` as a file: how it is made, changed and watched, whoever else writes it."""

import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from slothtray.config import Watched, defaults, editing, load, reading
from slothtray.errors import ConfigError, StorageError

BASE = defaults(2.5)
DAY = 86400.0


# --- the file ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    """Where a config file may be; its folder is there."""
    return tmp_path / "config.toml"


def test_the_first_file_is_private_whatever_the_umask_and_its_folder_too(tmp_path):
    path = tmp_path / "not" / "there" / "config.toml"
    mask = os.umask(0)
    try:
        editing.ensure(str(path))
    finally:
        os.umask(mask)
    assert path.read_text() == editing.template()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["config.toml"]


def test_a_file_that_is_there_is_never_written_over_not_even_by_one_who_saw_none(file, monkeypatch):
    file.write_text("nice = 3\n")
    editing.ensure(str(file))
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    editing.ensure(str(file))
    assert file.read_text() == "nice = 3\n"
    assert os.listdir(file.parent) == ["config.toml"]


def test_without_hard_links_the_first_file_is_written_all_the_same(file, monkeypatch):
    def link(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    editing.ensure(str(file))
    assert file.read_text() == editing.template()
    assert os.listdir(file.parent) == ["config.toml"]


def test_a_change_keeps_the_mode_and_a_link_stays_a_link(file, tmp_path):
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "slothtray.toml"
    real.write_text("nice = 3\n")
    real.chmod(0o644)
    file.symlink_to(real)
    editing.change(str(file), "nice", 4, BASE)
    assert file.is_symlink()
    assert real.read_text() == "nice = 4\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o644
    assert os.listdir(real.parent) == ["slothtray.toml"]


def test_changes_at_the_same_time_are_all_there_in_the_end(file):
    values = {"nice": 3, "attempts": 4, "ceiling": 5, "interval": 6, "cooldown": 7, "lease": 8, "settle": 9, "kill_grace": 10}
    begin = threading.Barrier(len(values))

    def change(key):
        begin.wait()
        editing.change(str(file), key, values[key], BASE)

    with ThreadPoolExecutor(len(values)) as pool:
        list(pool.map(change, values))
    assert load(str(file), BASE).written == values


def test_the_write_that_fails_leaves_the_old_file_and_nothing_beside_it(file, monkeypatch):
    file.write_text("nice = 3\n")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        editing.change(str(file), "nice", 4, BASE)
    assert file.read_text() == "nice = 3\n"
    assert os.listdir(file.parent) == ["config.toml"]


def test_a_change_mends_the_key_that_was_wrong(file):
    for broken in ("nice = 99 # mine\n", "nice = high # mine\n"):
        file.write_text("# a\n" + broken)
        editing.change(str(file), "nice", 4, BASE)
        assert file.read_text() == ("# a\nnice = 4 # mine\n" if "99" in broken else "# a\nnice = 4\n")


@pytest.mark.parametrize(
    ("text", "where"),
    [("#nice = 10\n\nnise = 3\n", "line 3: nise"), ("#nice = 10\n\nattempts = = 3\n", "line 3: attempts"), ("nice = 1\nlease = 'x'\n", "line 2: lease")],
)
def test_a_change_of_a_file_that_is_wrong_elsewhere_is_refused_with_the_line_as_it_is_now(file, text, where):
    file.write_text(text)
    with pytest.raises(ConfigError, match=where):
        editing.change(str(file), "nice", 4, BASE)
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "it is not a file"),
        (os.mkfifo, "it is not a file"),
        (lambda path: path.write_bytes(b"# " + b"x" * 70_000), "it has more than 32,000 bytes"),
        (lambda path: path.write_bytes(b"nice = 1\n# \xff\n"), "config.toml, line 2: this is no UTF-8 text"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    ],
)
def test_what_is_no_config_file_is_a_problem_and_not_waited_for(file, make, words):
    make(file)
    found = load(str(file), BASE)
    assert words in found.problem
    assert found.config == BASE


def test_no_file_and_a_link_to_nowhere_are_no_problem(file):
    assert load(str(file), BASE) == (BASE, {}, "")
    file.symlink_to(file.parent / "nowhere")
    assert load(str(file), BASE) == (BASE, {}, "")


# --- watched -----------------------------------------------------------------------------------------------------------


def test_a_change_of_the_same_size_in_the_same_instant_is_seen_too(file, monkeypatch):
    now = time.time_ns()
    monkeypatch.setattr(reading, "_signature", lambda _: (now, now, 9, 1, 1))  # a clock too coarse to tell them apart
    watched = Watched(str(file), BASE)
    for nice in range(10, 20):
        file.write_text(f"nice = {nice}\n")
        assert watched.current().nice == nice


def test_every_change_is_seen(file):
    watched = Watched(str(file), BASE)
    with file.open("wb", buffering=0) as open_file:
        for nice in [*range(10, 20)] * 10:
            open_file.seek(0)
            open_file.write(b"nice = %d\n" % nice)
            assert watched.current().nice == nice


def test_a_file_that_has_not_changed_is_not_read_again(file, monkeypatch):
    file.write_text("nice = 3\n")
    monkeypatch.setattr(reading, "SETTLED", 0.0)
    watched = Watched(str(file), BASE)
    assert watched.current().nice == 3
    monkeypatch.setattr(reading, "load", lambda *_: pytest.fail("read again"))
    assert watched.current().nice == 3


def test_the_last_good_config_stays_in_force_until_the_file_is_right_again(file):
    watched = Watched(str(file), BASE, {"cooldown": 1.0})
    assert watched.current() == BASE._replace(cooldown=1.0)
    file.write_text("nice = 3\ncooldown = 9\n")
    good = watched.current()
    assert good == BASE._replace(nice=3, cooldown=1.0), "options win over the file"
    file.write_text("nice = 4\nattempts = 0\n")
    assert watched.current() == good
    assert watched.problem == watched.news() == "config.toml, line 2: attempts = 0: use a whole number from 1 to 1000000"
    assert watched.current() == good
    assert watched.news() == "", "it is told once"
    assert watched.problem
    file.write_text("nice = 4\nattempts = 2\n")
    assert watched.current() == BASE._replace(nice=4, attempts=2, cooldown=1.0)
    assert watched.problem == watched.news() == ""
    file.unlink()
    assert watched.current() == BASE._replace(cooldown=1.0)


def test_at_the_start_what_is_right_in_a_wrong_file_is_in_force(file):
    file.write_text("ceiling = 'off'\nnise = 3\n")
    watched = Watched(str(file), BASE)
    assert watched.current() == BASE._replace(ceiling=None)
    assert "line 2" in watched.news()
