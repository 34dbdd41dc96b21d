"""The helper: acts done in a child, errors as they were, nothing left over (S10, X1)."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from uuid import UUID

import pytest

from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.helper import Helper
from site_bundle.kernel.stop import StopRequested
from site_bundle.reporter.domain.allocation import NAMESPACE, allocation_id
from tests.unit.site_bundle.helper_acts import ACTS, ERRORS

# A worker of pytest-xdist has a thread of its own; the helper's process has none.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

ROOT = Path(__file__).parents[3]


@pytest.fixture
def helper() -> Iterator[Helper]:
    made = Helper(ACTS)
    yield made
    made.end()


def test_s10_one_child_does_all_acts_of_a_turn_and_ends_with_it(helper: Helper) -> None:
    child, found = helper.call("double", 21, seconds=20)
    assert (found, child == os.getpid()) == (42, False)
    assert helper.call("double", 1, seconds=20) == (child, 2)
    helper.end()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert helper.call("double", 1, seconds=20)[0] != child


def test_s10_large_questions_and_answers_pass_whole(helper: Helper) -> None:
    raw = os.urandom(8 << 20)
    assert helper.call("echo", raw, seconds=60) == raw


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_x1_errors_come_back_as_they_were(helper: Helper, number: int) -> None:
    wanted = ERRORS[number]
    with pytest.raises(SiteError) as caught:
        helper.call("fail", number, seconds=20)
    assert type(caught.value) is type(wanted)
    assert (str(caught.value), vars(caught.value)) == (str(wanted), vars(wanted))
    assert helper.call("double", 1, seconds=20)[1] == 2, "the child goes on"


def test_a_bug_is_raised_and_never_an_answer(helper: Helper) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        helper.call("bug", seconds=20)


@pytest.mark.parametrize(("act", "code"), [("die", "helper_lost"), ("sleep", "helper_slow")])
def test_x1_a_child_that_is_lost_or_late_is_unavailable_and_replaced(
    helper: Helper, act: str, code: str
) -> None:
    given, seconds = ((60,), 0.3) if act == "sleep" else ((), 20)
    with pytest.raises(UnavailableError) as caught:
        helper.call(act, *given, seconds=seconds)
    assert caught.value.code == code
    assert helper.call("double", 1, seconds=20)[1] == 2


def test_an_answer_nobody_waited_for_is_never_another_questions(helper: Helper) -> None:
    helper.ask("double", 1)
    helper.ask("double", 2)
    assert helper.answer(20)[1] == 4


def test_the_childs_end_is_the_parents_affair(helper: Helper) -> None:
    """SIGTERM of a whole control group reaches it too; what it does is ended by its parent."""
    helper.call("ignored", seconds=20)
    assert helper.call("double", 1, seconds=20)[1] == 2


def test_a_process_that_was_asked_to_end_begins_nothing() -> None:
    class Ending(nullcontext[None]):
        def __enter__(self) -> None:
            raise StopRequested

    helper = Helper(ACTS, Ending)
    with pytest.raises(StopRequested):
        helper.ask("double", 1)
    helper.end()


def test_s7_the_child_holds_no_lock_and_no_descriptor_of_its_parent(helper: Helper, tmp_path: Path) -> None:
    """A journal's lock dies with its process, however long the helper takes to notice."""
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert helper.call("open", seconds=20) <= 6, "three standard ones, two pipes, and the listing itself"
    os.close(lock)
    other = os.open(tmp_path / "lock", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)


def test_s7_the_child_ends_when_its_parent_is_killed() -> None:
    script = (
        "import os, signal; from site_bundle.kernel.helper import Helper;"
        "from tests.unit.site_bundle.helper_acts import ACTS;"
        "print(Helper(ACTS).call('double', 1, seconds=20)[0], flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    child, end = int(done.stdout), time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and _state(child) != "Z":
        assert time.monotonic() < end, "the helper outlives its parent"
        time.sleep(0.02)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_p1_s10_an_allocations_id_is_its_uuid5_and_brings_no_openssl() -> None:
    from uuid import uuid5

    resource = UUID(int=77)
    assert allocation_id("wäldur", resource) == uuid5(NAMESPACE, f"wäldur/{resource}")
    script = (
        "import sys; import site_bundle.reporter.run, site_bundle.reporter.compose;"
        "print({'_hashlib', 'ssl', 'http.client', 'email', 'ldap3'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
