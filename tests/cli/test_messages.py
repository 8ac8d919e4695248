"""What is said while a command works."""

import io
import sys

from logikern.cli.session.messages import Messages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_work_is_announced_and_timed(capsys):
    with Messages().working("task"):
        pass
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "task ..." and said[1].startswith("task: ") and len(said) == 2


def test_work_on_a_terminal_is_timed(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Messages().working("task"):
        pass
    assert "task: 0.0 s" in sys.stderr.getvalue()


def test_quiet_keeps_warnings(capsys):
    Messages(quiet=True).info("nothing")
    Messages(quiet=True).warn("beware")
    assert capsys.readouterr().err == "warning: beware\n"


def test_messages_do_not_control_the_terminal(capsys):
    Messages().warn("ignored `a\x1b[2J\u202eb`")
    assert capsys.readouterr().err == "warning: ignored `a\ufffd[2J\ufffdb`\n"
