"""The real application's menu as a panel gets it over D-Bus: opened, changed while it is open, clicked."""

import subprocess
from contextlib import contextmanager

from system.session import started, until
from test_desktop_ends import LIMIT, login

__all__ = ["login"]


def line(panel, label):
    """An entry of the menu by the beginning of its label: (number, properties, children)."""
    return next(entry for entry in panel.open_menu()[1] if entry[1].get("label", "").startswith(label))


def test_the_preview_of_the_clipboard_appears_in_the_open_menu_and_a_click_queues_it(login, home):
    login.starts_app()
    panel = login.panel
    with copied(b"echo copied\n", login.environment):
        number, seen, _ = line(panel, "Add")
        assert seen["label"] == "Add from clipboard"  # the opening waits for nothing
        panel.wait(lambda: "Add “echo copied”" in told(panel, number), LIMIT)
    panel.click(number)
    job = until(lambda: home.row(1, "id"), LIMIT)
    assert home.wait_for(job, "done")
    assert home.log(job) == "copied\n"


@contextmanager
def copied(data, environment):
    words = ["xclip", "-selection", "clipboard"]
    with started([*words, "-quiet", "-i"], stdin=subprocess.PIPE, env=environment) as process:
        process.stdin.write(data)
        process.stdin.close()
        until(lambda: subprocess.run([*words, "-o"], env=environment, capture_output=True, check=False).stdout == data)
        yield


def told(panel, number):
    """The labels that the panel was told an entry has now."""
    changes = [dict(body[0]) for name, body in panel.signals if name == "ItemsPropertiesUpdated"]
    return [change[number]["label"][1] for change in changes if "label" in change.get(number, {})]


def test_a_submenu_pauses_for_a_while_and_the_first_line_says_until_when(login, home):
    login.starts_app()
    panel = login.panel
    _, _, lengths = line(panel, "Pause for")
    panel.click(next(number for number, seen, _ in lengths if seen["label"] == "30 minutes"))
    panel.wait(lambda: panel.labels()[0].startswith("Paused until "), LIMIT)
    assert home.queue()["state"] == "paused"
