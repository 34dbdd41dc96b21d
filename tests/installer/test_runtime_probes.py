"""The probes of the runtime's checks themselves: what ``sbatch`` sends to a stand-in for the controller, and
what scratch lets a user make (S2, S4).
"""

import os
import sys
from pathlib import Path

import pytest

from installer.host.commands import Completed, RunAs, run_command
from installer.host.scratch_probe import Scratch, try_scratch
from installer.host.submission_probe import Submission, Submissions, ask_submission

HERE = RunAs(uid=os.geteuid(), gid=os.getegid())
SBATCH = """#!{python} -I
import os, re, socket, sys
how, = (word for word in sys.argv if word.startswith("--export"))
port = int(re.search(r"SlurmctldPort=(\\d+)", open(os.environ["SLURM_CONF"]).read())[1])
if how.startswith("--export-file="):
    {file}
    body = os.read(int(how.partition("=")[2]), 4096)
else:
    body = "".join(f"{{name}}={{value}}\\0" for name, value in os.environ.items()).encode()
body = b"header " + os.environ["SLURM_JWT"].encode() + b" " + body
{leak}
with socket.create_connection(("127.0.0.1", port)) as connection:
    connection.sendall(len(body).to_bytes(4, "big") + body[:10])
    connection.sendall(body[10:])
    connection.recv(10)
sys.exit("sbatch: error: Zero Bytes were transmitted or received")
"""


def sbatch(folder: Path, *, file: str = "", leak: str = "") -> str:
    path = folder / "sbatch"
    path.write_text(SBATCH.format(python=sys.executable, file=file, leak=leak))
    path.chmod(0o755)
    return str(path)


def asked(path: str) -> Submissions:
    answer = ask_submission(run_command, path, run_as=HERE, timeout=30)
    assert isinstance(answer, Submissions), answer
    return answer


def test_s2_the_stand_in_hears_what_each_way_sends(tmp_path: Path) -> None:
    answer = asked(sbatch(tmp_path))
    words = "sbatch: error: Zero Bytes were transmitted or received"
    assert answer.usual == Submission(heard=True, token=True, environment=True, words=words)
    assert answer.safe == Submission(heard=True, token=False, environment=True, words=words)


def test_s2_a_token_that_sbatch_adds_to_a_given_environment_is_seen(tmp_path: Path) -> None:
    answer = asked(sbatch(tmp_path, leak='body += b"SLURM_JWT=" + os.environ["SLURM_JWT"].encode()'))
    assert answer.safe.token


def test_s2_an_sbatch_that_does_not_know_the_option_sends_nothing(tmp_path: Path) -> None:
    complaint = "sys.exit(\"sbatch: unrecognized option '--export-file=5'\")"
    answer = asked(sbatch(tmp_path, file=complaint))
    assert not answer.safe.heard and "unrecognized option" in answer.safe.words and answer.usual.heard


def test_x1_without_sbatch_nothing_is_heard(tmp_path: Path) -> None:
    answer = asked(str(tmp_path / "sbatch"))
    assert not answer.safe.heard and not answer.usual.heard and "FileNotFoundError" in answer.safe.words


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Folders with the right modes, of the test's own user and group."""
    folder = tmp_path / "scratch"
    for path, mode in ((folder, 0o3770), (folder / ".runtime", 0o2710)):
        path.mkdir()
        path.chmod(mode)
    return folder


def tried(folder: Path) -> Scratch | str:
    return try_scratch(run_command, str(folder), str(folder / ".runtime"), run_as=HERE, timeout=30)


def test_s4_a_folder_and_a_program_are_made_and_taken_away(scratch: Path) -> None:
    seen = tried(scratch)
    assert isinstance(seen, Scratch), seen
    assert (seen.scratch.mode, seen.grants.mode, seen.grants.kind) == (0o3770, 0o2710, "directory")
    gid = os.getegid()
    assert seen.made == ((0o2710, gid), (0o750, gid)) and seen.runs
    assert list((scratch / ".runtime").iterdir()) == []


def test_s4_absent_linked_and_closed_folders_are_told(scratch: Path, tmp_path: Path) -> None:
    assert "No such file" in str(tried(tmp_path / "nothing"))
    (scratch / ".runtime").rmdir()
    (scratch / ".runtime").symlink_to(tmp_path)
    seen = tried(scratch)
    assert isinstance(seen, Scratch) and seen.grants.kind == "symbolic link"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_s4_i7_another_user_without_the_group_does_not_get_in() -> None:
    """Asked below /tmp: a test's own folders are closed to everybody else."""

    def made(path: str, mode: int, uid: int, gid: int) -> None:
        Path(path).mkdir()
        os.chown(path, uid, gid)
        Path(path).chmod(mode)

    uid, gid = 64_999, 64_998
    above = f"/tmp/pharos-scratch-{os.getpid()}"
    made(above, 0o3770, 0, gid)
    made(f"{above}/.runtime", 0o2710, uid, gid)
    try:
        answers = [
            try_scratch(
                run_command,
                above,
                f"{above}/.runtime",
                timeout=30,
                run_as=RunAs(uid=uid, gid=uid, groups=groups),
            )
            for groups in ((), (gid,))
        ]
    finally:
        Path(f"{above}/.runtime").rmdir()
        Path(above).rmdir()
    without, within = answers
    assert "Permission denied" in str(without)
    assert isinstance(within, Scratch) and within.made == ((0o2710, gid), (0o750, gid)) and within.runs


@pytest.mark.parametrize("stdout", ["", "odd\n", "3770 0 0 directory\n", "3770 0 0 directory\n2710 0 0\n"])
def test_x1_another_answer_is_no_scratch(stdout: str) -> None:
    def run(*_given: object, **_more: object) -> Completed:
        return Completed(code=0, stdout=stdout, stderr="")

    assert isinstance(try_scratch(run, "/a", "/b", run_as=HERE, timeout=1), str)
