"""Hostile repositories, work trees and servers against the stages' own scripts (S2, S4, K02–K08, K12)."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from site_bundle.runtime.domain.script import EXIT_CODES
from tests.simulators.git.server_state import Faults
from tests.simulators.git.serving import serving
from tests.site.stages import NAME, SECONDS, WORD, Ended, Stages, leaf
from tests.unit.site_bundle.runtime.scenes import REF

Git = Callable[..., str]


@pytest.fixture
def stages(pki: Path, tmp_path: Path) -> Iterator[Stages]:
    certificate, key = leaf(pki)
    with serving(tmp_path / "repositories", certificate, key, name="127.0.0.1") as served:
        served.repositories.create(NAME)
        yield Stages(served, pki, tmp_path)


def plain(work: Path, _git: Git) -> None:
    (work / "input.txt").write_text("seed\n")


def pointer(content: bytes) -> str:
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


def test_s2_there_and_back(stages: Stages) -> None:
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    assert stages.compute("sh", "-c", 'cat input.txt > out.txt; echo "$A" >> out.txt', A="1").status == 0
    ended = stages.stage_out(commit, "out.txt")
    assert ended.status == 0, ended.log
    output = stages.output()
    assert output is not None and stages.server.repositories.refs(NAME)[REF] == output.commit
    assert stages.shown("out.txt") == "seed\n1\n"


def test_k02_what_a_server_says_of_the_credential_is_scrubbed(stages: Stages) -> None:
    """The server repeats both forms of it in its words, several times a line, and is obeyed all the same."""
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    basic = "c3RhZ2U6cGxhbnRlZC1yZXBvc2l0b3J5LXdvcmQtNDFjNw=="
    hook = stages.server.repositories.path(NAME) / "hooks" / "update"
    hook.write_text(f"#!/bin/sh\necho 'seen {WORD}{WORD} and {basic}, {WORD}' >&2\n")
    ended = stages.stage_out(commit, "input.txt")
    assert ended.status == 0, ended.log
    assert "seen [credential][credential] and [credential], [credential]" in ended.log
    hook.write_text(f"#!/bin/sh\necho 'no {WORD}' >&2\nexit 1\n")
    # Another output: the same one, within the same second, is the same commit, and asks the hook nothing.
    assert stages.compute("sh", "-c", "echo more >> input.txt").status == 0
    ended = stages.stage_out(commit, "input.txt")
    assert ended.status == 89 and "no [credential]" in ended.log
    assert WORD not in ended.log and basic not in ended.log


def test_k02_callers_traces_are_cleared(stages: Stages, tmp_path: Path) -> None:
    commit = stages.seed(plain)
    traces = {"GIT_TRACE": "1", "GIT_CURL_VERBOSE": "1", "GIT_TRACE_CURL": str(tmp_path / "trace")}
    stages.environment |= traces | {"GIT_CONFIG_PARAMETERS": "'credential.helper=store'"}
    ended = stages.stage_in(commit)
    assert ended.status == 0 and not (tmp_path / "trace").exists()
    assert "trace:" not in ended.log and "Authorization" not in ended.log


def test_k04_submodule_on_the_same_host_is_not_fetched(stages: Stages) -> None:
    other = "group/other.git"
    stages.server.repositories.create(other)

    def build(work: Path, git: Git) -> None:
        (work / ".gitmodules").write_text(
            f'[submodule "s"]\n\tpath = s\n\turl = {stages.server.url}/{other}\n\tbranch = main\n'
        )
        git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},s")
        (work / "s").mkdir()

    commit = stages.seed(build)
    assert stages.stage_in(commit).status == 0
    assert {
        each.path.split("/info/")[0].split("/git-")[0] for each in stages.server.repositories.asked()
    } == {f"/{NAME}"}


@pytest.mark.parametrize("fault", ["missing", "no permission"])
def test_k05_helper_that_cannot_run_is_named_at_once(stages: Stages, fault: str) -> None:
    commit = stages.seed(plain)
    ended = stages.stage_in(commit)
    assert ended.status == 0
    (helper,) = stages.grants.root.glob("*/askpass")
    before = len(stages.server.repositories.asked())
    if fault == "missing":
        helper.unlink()
    else:
        helper.chmod(0o640)
    ended = rerun(stages)
    assert EXIT_CODES[ended.status] == "helper_unusable" and "noexec" in ended.log
    assert len(stages.server.repositories.asked()) == before, "Git was not asked anything without it"


def rerun(stages: Stages) -> Ended:
    """The script of before, without preparing its grant again."""
    ran = subprocess.run(
        ["/bin/sh", str(stages.folder / "stage-in.sh")], env=stages.environment, cwd="/",
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    return Ended(ran.returncode, ran.stderr)


def test_k06_wrong_password_ends_the_stage(stages: Stages) -> None:
    commit = stages.seed(plain)
    stages.environment |= {"PHAROS_REPOSITORY_PASSWORD": "wrong"}
    assert stages.stage_in(commit).status == 84


def test_k07_settings_of_the_home_folder_do_not_speak(stages: Stages) -> None:
    """Of the files Git reads settings, passwords and attributes from, none is the member's or the host's."""
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    script = (stages.folder / "stage-in.sh").read_text()
    head, mark, _ = script.partition('own_folder "$workspace"\n')
    assert mark
    asked = head + 'echo "$HOME"; git config --list --show-scope; git config credential.helper; env'
    ran = subprocess.run(
        ["/bin/sh", "-c", asked], env=stages.environment, cwd="/", capture_output=True, text=True, check=True
    )
    home, *told = ran.stdout.splitlines()
    assert home == "/nonexistent", "libcurl and git-lfs look for .netrc there, Git for attributes"
    scopes = {line.split("\t")[0] for line in told if "\t" in line}
    assert scopes == {"command"} and "GIT_ATTR_NOSYSTEM=1" in told


def test_k12_redirects_are_not_followed(stages: Stages, pki: Path) -> None:
    commit = stages.seed(plain)
    certificate, key = leaf(pki)
    with serving(stages.folder / "evil", certificate, key, name="127.0.0.1") as evil:
        stages.server.repositories.faults = Faults(redirect=evil.url)
        assert stages.stage_in(commit).status == 84
        assert evil.repositories.asked() == []


def test_s2_lfsconfig_of_the_repository_sends_nothing_elsewhere(stages: Stages, pki: Path) -> None:
    """Neither large inputs nor large outputs go to, or come from, a place that the work tree names."""
    content = os.urandom(4096)
    certificate, key = leaf(pki)
    with serving(stages.folder / "evil", certificate, key, name="127.0.0.1") as evil:
        evil.repositories.create(NAME)

        def build(work: Path, _git: Git) -> None:
            (work / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
            (work / "in.bin").write_text(pointer(content))
            (work / ".lfsconfig").write_text(
                f"[lfs]\n\turl = {evil.url}/{NAME}/info/lfs\n\tpushurl = {evil.url}/{NAME}/info/lfs\n"
                "\tskipdownloaderrors = true\n\tallowincompletepush = true\n"
            )

        commit = stages.seed(build)
        ended = stages.stage_in(commit)
        assert ended.status == 86, "a large file that nobody has is not passed over in silence"
        oid = hashlib.sha256(content).hexdigest()
        (stages.server.repositories.path(NAME) / "lfs" / oid).write_bytes(content)
        ended = stages.stage_in(commit)
        assert ended.status == 0, ended.log
        assert (stages.work / "in.bin").read_bytes() == content
        (stages.work / "out.bin").write_bytes(os.urandom(8192))
        ended = stages.stage_out(commit, "out.bin", large=4096)
        assert ended.status == 0, ended.log
        kept = hashlib.sha256((stages.work / "out.bin").read_bytes()).hexdigest()
        assert (stages.server.repositories.path(NAME) / "lfs" / kept).exists()
        assert evil.repositories.asked() == []


def test_s2_output_that_is_a_pointer_to_nothing_is_not_pushed(stages: Stages) -> None:
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    (stages.work / "out.txt").write_text(pointer(b"never made"))
    assert stages.stage_out(commit, "out.txt").status == 89
    assert REF not in stages.server.repositories.refs(NAME)


def test_s2_hostile_names_come_through_as_they_are(stages: Stages) -> None:
    names = [
        "-rf",
        "--force",
        "a\nb",
        "tab\there",
        "$(touch pwned)",
        "`id`",
        "'; exit 7; '",
        "*",
        ":(top)x",
        "é",
    ]

    def build(work: Path, git: Git) -> None:
        (work / "-in").write_text("x")
        git("config", "core.quotePath", "false")

    commit = stages.seed(build)
    assert stages.stage_in(commit).status == 0
    for name in names:
        (stages.work / name).write_text("small")
        (stages.work / "large").mkdir(exist_ok=True)
        (stages.work / "large" / name).write_text("l" * 5000)
    ended = stages.stage_out(commit, *names, "large", large=4096)
    assert ended.status == 0, ended.log
    assert set(stages.listed()) == {"-in", *names, *(f"large/{name}" for name in names)}
    assert not (stages.work / "pwned").exists()


def test_s2_declared_output_that_is_no_file_of_the_work_tree_is_named(stages: Stages) -> None:
    """And waits for nobody: a FIFO has no writer any more."""
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    outside = stages.folder / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "private.txt").write_text("p" * 5000)
    (outside / "deep" / "private.txt").write_text("p" * 5000)
    os.mkfifo(stages.work / "fifo")
    os.mknod(stages.work / "socket", stat.S_IFSOCK | 0o600)
    (stages.work / "file").write_text("x")
    (stages.work / "link").symlink_to(outside)
    declared = (
        "fifo",
        "socket",
        "nothing",
        "file/x",
        "link/private.txt",
        "link/deep/private.txt",
        "link/deep/",
    )
    for path in declared:
        ended = stages.stage_out(commit, path, large=4096)
        assert EXIT_CODES.get(ended.status) == "output_missing", (path, ended.log)
        assert "declared output" in ended.log
    assert REF not in stages.server.repositories.refs(NAME)


def test_s2_links_are_committed_as_links_and_a_folders_pipes_are_left_out(stages: Stages) -> None:
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    folder = stages.work / "out"
    folder.mkdir()
    (folder / "passwd").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to("loop")
    (folder / "sparse").touch()
    os.truncate(folder / "sparse", 1 << 26)
    os.mkfifo(folder / "pipe")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]\n\tfsmonitor = touch /tmp/pwned\n")
    ended = stages.stage_out(commit, "out", large=4096)
    assert ended.status == 0, ended.log
    assert set(stages.listed()) == {"input.txt", "out/passwd", "out/loop", "out/sparse"}
    assert stages.shown("out/passwd") == "/etc/passwd"
    assert "size 67108864" in stages.shown("out/sparse")


def test_s2_what_the_program_left_in_a_logs_place_holds_no_stage(stages: Stages) -> None:
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    path = stages.workspace / "logs" / "stage-out.log"
    for kind in ("fifo", "folder", "link"):
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("no/where")
        assert stages.stage_out(commit, "input.txt").status == 0
    shutil.rmtree(stages.workspace / "logs")
    (stages.workspace / "logs").symlink_to("/tmp")
    assert EXIT_CODES.get(stages.stage_out(commit, "input.txt").status) == "workspace_refused"


def test_s4_folder_that_another_made_before_is_refused(stages: Stages) -> None:
    commit = stages.seed(plain)
    mine = stages.workspace.parent
    elsewhere = stages.folder / "elsewhere"
    elsewhere.mkdir()
    mine.symlink_to(elsewhere)
    assert stages.stage_in(commit).status == 80
    assert list(elsewhere.iterdir()) == []
    mine.unlink()
    mine.mkdir()
    os.chown(mine, 12345, -1)
    assert stages.stage_in(commit).status == 80


def test_a41_hostile_environment_does_not_steer_the_stages_own_words(stages: Stages) -> None:
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    trap = stages.folder / "trap"
    trap.mkdir()
    for program in ("id", "cut", "getent", "stat", "mkdir", "chmod", "rm"):
        (trap / program).write_text(f"#!/bin/sh\ntouch {trap}/sprung\n")
        (trap / program).chmod(0o755)
    (trap / "profile").write_text(f"touch {trap}/sprung\n")
    profile = f"{trap}/profile"
    hostile = {
        "PATH": str(trap), "ENV": profile, "BASH_ENV": profile, "IFS": "/o", "CDPATH": str(trap),
        "HOME": str(trap), "LC_ALL": "de_DE", "POSIXLY_CORRECT": "1", "PS4": "$(touch sprung)",
    }  # fmt: skip
    for name, text in hostile.items():
        ended = stages.compute("/bin/sh", "-c", 'umask > seen; echo "$PATH" >> seen', **{name: text})
        assert ended.status == 0, ended.log
        path = text if name == "PATH" else "/usr/local/bin:/usr/bin:/bin"
        assert (stages.work / "seen").read_text() == f"0077\n{path}\n", "the member's PATH is for their words"
        (stages.work / "seen").unlink()
    assert not (trap / "sprung").exists()


def test_s2_x1_a_place_that_is_full_is_a_named_end_and_pushes_nothing(stages: Stages) -> None:
    """Wherever it runs out: in the clone, in a small output, in a large one; with room again it goes on."""

    def build(work: Path, _git: Git) -> None:
        (work / "data").write_bytes(os.urandom(400_000))

    commit = stages.seed(build)
    stages.blocks = "200"
    ended = stages.stage_in(commit)
    assert EXIT_CODES.get(ended.status) in {"clone_failed", "commit_missing"}, ended
    stages.blocks = "unlimited"
    commit = stages.seed(plain)
    assert stages.stage_in(commit).status == 0
    (stages.work / "out").write_bytes(os.urandom(400_000))
    for large in (1 << 20, 4096):
        stages.blocks = "200"
        ended = stages.stage_out(commit, "out", large=large)
        assert EXIT_CODES.get(ended.status) == "commit_failed", ended
        assert REF not in stages.server.repositories.refs(NAME) and stages.output() is None
    stages.blocks = "unlimited"
    assert stages.stage_out(commit, "out", large=4096).status == 0
    assert stages.output() is not None
