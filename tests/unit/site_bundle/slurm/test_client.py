"""The client over commands that misbehave; it alone runs processes (A04, A06, A16, A29, A36, W17; FirecREST's
F08–F10).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from site_bundle.slurm.associations import ShowAssociations
from site_bundle.slurm.client import SlurmClient, SlurmLimits
from site_bundle.slurm.comments import MAX_LINES, Comment, ModifyComments, is_writable
from site_bundle.slurm.errors import SlurmUnavailableError
from site_bundle.slurm.known_tres import ShowTres
from site_bundle.slurm.running_jobs import ShowRunningJobs
from tests.simulators.slurm.world import Cluster
from tests.unit.site_bundle.slurm.recordings import complaint

SHOW = ShowAssociations("icarus")


def client(folder: Path, **limits: float) -> SlurmClient:
    return SlurmClient(
        commands=folder, environment=os.environ, limits=SlurmLimits(**limits)  # type: ignore[arg-type]
    )  # fmt: skip


def command(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("name", ["sacctmgr-show-association", "sacctmgr-show-tres"])
def test_a29_w17_recorded_outage_is_unavailable(tmp_path: Path, name: str) -> None:
    status, text = complaint(name)
    (tmp_path / "text").write_text(text)
    command(tmp_path, "sacctmgr", f"/bin/cat {tmp_path}/text >&2; exit {status}")
    with pytest.raises(SlurmUnavailableError, match="Connection refused") as caught:
        client(tmp_path).read(SHOW)
    assert caught.value.code == "slurm_unavailable"


def test_a29_recorded_outage_of_the_controller(tmp_path: Path) -> None:
    status, text = complaint("squeue")
    (tmp_path / "text").write_text(text)
    command(tmp_path, "squeue", f"/bin/cat {tmp_path}/text >&2; exit {status}")
    with pytest.raises(SlurmUnavailableError, match="Unable to contact slurm controller"):
        client(tmp_path).read(ShowRunningJobs())


@pytest.mark.parametrize("output", ["", "7|p1|\\n"])
def test_x1_a43_an_answer_with_an_error_beside_it_is_none(tmp_path: Path, output: str) -> None:
    """Seen with 24.11: squeue passes over a user it cannot resolve, says so, and ends with 0."""
    command(tmp_path, "squeue", f"printf '{output}'; echo 'squeue: error: Invalid user: 5000001' >&2")
    with pytest.raises(SlurmUnavailableError, match="Invalid user: 5000001"):
        client(tmp_path).read(ShowRunningJobs())


@pytest.mark.parametrize("language", ["C", "POSIX", "en_US.ISO-8859-1", None])
def test_a04_bytes_that_are_no_utf8_hide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str | None
) -> None:
    monkeypatch.setenv("LANG", language) if language else monkeypatch.delenv("LANG", raising=False)
    rows = r"icarus|proj_a|||pharos|||9\nicarus|proj_a|alice||||caf\351|12\nicarus|proj_a|bob||||ok|13\n"
    command(tmp_path, "sacctmgr", f"printf '{rows}'")
    found = client(tmp_path).read(SHOW)
    assert [(item.user, item.comment) for item in found] == [("", ""), ("alice", "caf\ufffd"), ("bob", "ok")]


@pytest.mark.parametrize("answer", ["icarus|proj_a|bob", "icarus|proj_a|bob||||x|1"])
def test_x1_a06_exit_0_after_half_an_answer_is_unreadable(tmp_path: Path, answer: str) -> None:
    """Also where what is left reads as a row: of association 12 the 1 is left."""
    command(tmp_path, "sacctmgr", f"printf 'icarus|proj_a|||pharos|||9\\n{answer}'")
    with pytest.raises(SlurmUnavailableError) as caught:
        client(tmp_path).read(SHOW)
    assert caught.value.code == "slurm_output_unreadable"


def test_a50_accounting_that_is_off_is_unavailable(tmp_path: Path) -> None:
    command(tmp_path, "sacctmgr", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    with pytest.raises(SlurmUnavailableError, match="accounting storage is disabled"):
        client(tmp_path).read(SHOW)


def test_a04_a16_a41_w07_firecrest_f08_environment_is_the_clients_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("PHAROS_INTAKE_KEY", "secret")
    monkeypatch.setenv("SLURM_CONF", "/etc/other/slurm.conf")
    command(tmp_path, "sacctmgr", f"/usr/bin/env | /usr/bin/sort > {tmp_path}/seen; echo 'cpu|'")
    assert client(tmp_path).read(ShowTres()) == {"cpu"}
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    own = {name: seen[name] for name in ("LC_ALL", "TZ", "SLURM_TIME_FORMAT", "SLURM_CONF")}
    assert own == {
        "LC_ALL": "C",
        "TZ": "UTC",
        "SLURM_TIME_FORMAT": "%s",
        "SLURM_CONF": "/etc/other/slurm.conf",
    }
    assert not {"LANG", "PHAROS_INTAKE_KEY"} & seen.keys()


def test_firecrest_f09_timeout_ends_the_whole_process_group(tmp_path: Path) -> None:
    command(tmp_path, "sacctmgr", f"/bin/sleep 600 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(SlurmUnavailableError) as caught:
        client(tmp_path, command_seconds=2.0).read(SHOW)
    assert caught.value.code == "slurm_timeout"
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 30
    while _lives(child):
        assert time.monotonic() < deadline, "what the command started lives on"
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    """A zombie waits for its parent alone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_s10_output_is_bounded(tmp_path: Path) -> None:
    command(tmp_path, "sacctmgr", "exec /usr/bin/yes 'icarus|proj_a|bob||||x|12'")
    with pytest.raises(SlurmUnavailableError, match="more than 4096 bytes"):
        client(tmp_path, output_bytes=4096).read(SHOW)


def test_s8_absolute_paths_alone(tmp_path: Path) -> None:
    with pytest.raises(SlurmUnavailableError) as caught:
        client(tmp_path / "nowhere").read(SHOW)
    assert caught.value.code == "slurm_command_missing"


def test_a36_a48_one_process_writes_many_and_goes_on(tmp_path: Path) -> None:
    """A line that changes nothing does not stop the next; what became true is read back."""
    cluster = Cluster(tmp_path / "slurm")
    cluster.add_account("proj_a")
    numbers = {name: cluster.add_user("proj_a", name) for name in ("alice", "bob")}
    slurm = client(cluster.folder)
    names = ("alice", "gone", "bob")
    slurm.write(ModifyComments("icarus", [Comment("proj_a", name, "", f"of {name} | é") for name in names]))
    comments = {item.id: item.comment for item in slurm.read(SHOW)}
    assert comments[numbers["alice"]] == "of alice | é" and comments[numbers["bob"]] == "of bob | é"
    assert slurm.runs == 2


@pytest.mark.parametrize(
    ("comment", "writable"),
    [
        (Comment("proj_a", "alice", "", "plain | words = pharos:1:x:1 \\ é"), True),
        (Comment("proj_a", "alice", "compute", ""), True),
        (Comment("proj_a", "alice", "", 'say "hi"'), False),
        (Comment("proj_a", "alice", "", "it's"), False),
        (Comment("proj_a", "alice", "", "two\nlines"), False),
        (Comment("proj_a", "alice", "", "x" * 2000), False),
        (Comment("proj_a", "alice", "", "\U0001f600" * 257), False),
        (Comment("proj_a", "alice", "", "caf\ufffd pharos:1:x:1"), False),
        (Comment("proj_a", "al ice", "", ""), False),
        (Comment("proj_a", "", "", ""), False),
        (Comment("proj_a", "alice account=other", "", ""), False),
        (Comment('a" set adminlevel=Administrator', "alice", "", ""), False),
    ],
)
def test_s8_only_what_is_stored_as_it_stands_is_written(comment: Comment, writable: bool) -> None:
    """sacctmgr turns quotes into backticks, a line end would begin another command, and bytes that were no
    UTF-8 would be lost (A04).
    """
    assert is_writable(comment) is writable
    if not writable:
        with pytest.raises(ValueError, match="cannot be written"):
            ModifyComments("icarus", [comment]).stdin()


def test_s8_a_command_takes_so_many_changes() -> None:
    many = [Comment("proj_a", f"m{number}", "", "x") for number in range(MAX_LINES + 1)]
    with pytest.raises(ValueError, match="cannot be written"):
        ModifyComments("icarus", many).stdin()
    assert ModifyComments("icarus", many[:MAX_LINES]).stdin().count(b"\n") == MAX_LINES
