"""What the demo writes: plain where nobody wants colour."""

import io

import pytest

from tests.demo.narrator import Narrator, wants_colour


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_step_tells_its_title_and_its_time() -> None:
    out = io.StringIO()
    narrator = Narrator(out)
    with narrator.step("Boot a host"):
        narrator.typed("ls")
        narrator.fact("one\ntwo")
    narrator.close("All done")
    lines = out.getvalue().splitlines()
    assert lines[0] == " 1. Boot a host"
    assert lines[1:4] == ["    $ ls", "    one", "    two"]
    assert lines[4].startswith("    done in 0.")
    assert lines[-1] == "All done (0 s in all)"


def test_a_failed_step_says_so_and_fails() -> None:
    out = io.StringIO()
    with pytest.raises(ZeroDivisionError), Narrator(out).step("Divide"):
        print(1 // 0)
    assert "failed after" in out.getvalue()
    assert "done" not in out.getvalue()


def test_an_interrupted_step_has_not_failed() -> None:
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Narrator(out).step("Wait"):
        raise KeyboardInterrupt
    assert "interrupted after" in out.getvalue()
    assert "failed" not in out.getvalue()


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour(Terminal())
