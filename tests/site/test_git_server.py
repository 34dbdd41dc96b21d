"""The Git stand-in against the real git and git-lfs: what a stage's credential opens, and what not."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from central.dev.certificates import issue_leaf
from tests.simulators.git.server import GitServer
from tests.simulators.git.server_state import Credential, Faults
from tests.simulators.git.serving import serving

NAME = "demo/work.git"
RUNS = "refs/heads/pharos/runs/"
Git = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def server(pki: Path, tmp_path: Path) -> Iterator[GitServer]:
    certificate, key = issue_leaf(pki, "git.test", "127.0.0.1", datetime.now(UTC))
    with serving(tmp_path / "repositories", certificate, key, name="127.0.0.1") as served:
        served.repositories.create(NAME)
        yield served


@pytest.fixture
def git(pki: Path, tmp_path: Path) -> Git:
    home = tmp_path / "home"
    home.mkdir()
    askpass = tmp_path / "askpass"
    askpass.write_text('#!/bin/sh\ncase "$1" in Username*) echo stage ;; *) echo "$GIT_WORD" ;; esac\n')
    askpass.chmod(0o755)

    def run(*arguments: str, word: str = "right") -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "GIT_ASKPASS": str(askpass),
            "GIT_WORD": word,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSL_CAINFO": str(pki / "ca.crt"),
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        return subprocess.run(
            ["git", *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )

    return run


@pytest.fixture
def work(server: GitServer, git: Git, tmp_path: Path) -> Path:
    """A clone with one commit pushed to main by a credential that may write everything."""
    grant(server, writes=("refs/",))
    clone = tmp_path / "work"
    assert git("clone", "-q", f"{server.url}/{NAME}", str(clone)).returncode == 0
    (clone / "input.txt").write_text("one\n")
    for command in (
        ("add", "."),
        ("commit", "-qm", "first"),
        ("push", "-q", "origin", "HEAD:refs/heads/main"),
    ):
        done = git("-C", str(clone), *command)
        assert done.returncode == 0, done.stderr
    return clone


def grant(
    server: GitServer, *, writes: tuple[str, ...] = (), seconds: float = 600, repository: str = NAME
) -> None:
    server.repositories.grant(Credential("stage", "right", repository, time.time() + seconds, writes))


def test_s2_a_stage_clones_the_exact_commit(server: GitServer, git: Git, work: Path, tmp_path: Path) -> None:
    commit = server.repositories.refs(NAME)["refs/heads/main"]
    grant(server)
    fresh = tmp_path / "fresh"
    git("init", "-q", str(fresh))
    fetched = git("-C", str(fresh), "fetch", "-q", "--depth=1", f"{server.url}/{NAME}", commit)
    assert fetched.returncode == 0, fetched.stderr
    assert git("-C", str(fresh), "rev-parse", "FETCH_HEAD").stdout.strip() == commit


def test_s2_outputs_go_only_to_the_runs_ref(server: GitServer, git: Git, work: Path) -> None:
    grant(server, writes=(RUNS + "7",))
    refused = git("-C", str(work), "push", "-q", "origin", "HEAD:refs/heads/main2")
    assert refused.returncode != 0
    assert "may not write" in refused.stderr
    assert git("-C", str(work), "push", "-q", "origin", f"HEAD:{RUNS}7").returncode == 0
    assert set(server.repositories.refs(NAME)) == {"refs/heads/main", RUNS + "7"}


def test_a_reading_credential_writes_nothing(server: GitServer, git: Git, work: Path) -> None:
    grant(server)
    assert git("-C", str(work), "push", "-q", "origin", f"HEAD:{RUNS}7").returncode != 0
    assert set(server.repositories.refs(NAME)) == {"refs/heads/main"}


@pytest.mark.parametrize("wrong", ["word", "expired", "revoked", "repository"])
def test_k06_a_credential_that_does_not_fit_is_refused_at_once(
    server: GitServer, git: Git, work: Path, wrong: str
) -> None:
    grant(server, seconds=-1 if wrong == "expired" else 600)
    if wrong == "revoked":
        server.repositories.revoke("stage")
    if wrong == "repository":
        server.repositories.create("demo/other.git")
        grant(server, repository="demo/other.git")
    refused = git("ls-remote", f"{server.url}/{NAME}", word="wrong" if wrong == "word" else "right")
    assert refused.returncode != 0
    assert {each.status for each in server.repositories.asked()[-1:]} == {
        404 if wrong == "repository" else 401
    }


def test_nothing_is_read_without_a_credential(server: GitServer, git: Git, work: Path) -> None:
    before = len(server.repositories.asked())
    git("-c", "core.askPass=false", "ls-remote", f"{server.url}/{NAME}", word="")
    assert all(each.status == 401 for each in server.repositories.asked()[before:])


def test_large_objects_travel_and_are_verified(
    server: GitServer, git: Git, work: Path, tmp_path: Path
) -> None:
    grant(server, writes=("refs/",))
    git("-C", str(work), "lfs", "install", "--local")
    git("-C", str(work), "lfs", "track", "*.bin")
    content = os.urandom(200_000)
    (work / "big.bin").write_bytes(content)
    for command in (("add", "."), ("commit", "-qm", "big"), ("push", "-q", "origin", "HEAD:refs/heads/main")):
        done = git("-C", str(work), *command)
        assert done.returncode == 0, done.stderr
    assert server.repositories.path(NAME).joinpath("big.bin").exists() is False
    grant(server)
    other = tmp_path / "other"
    assert git("clone", "-q", f"{server.url}/{NAME}", str(other)).returncode == 0
    git("-C", str(other), "lfs", "install", "--local")
    pulled = git("-C", str(other), "lfs", "pull")
    assert pulled.returncode == 0, pulled.stderr
    assert (other / "big.bin").read_bytes() == content


def test_k12_a_redirect_is_told_apart_from_an_answer(server: GitServer, git: Git, work: Path) -> None:
    server.repositories.faults = Faults(redirect="https://127.0.0.1:1")
    done = git("-c", "http.followRedirects=false", "ls-remote", f"{server.url}/{NAME}")
    assert done.returncode != 0


def test_faults_end_after_their_times(server: GitServer, git: Git, work: Path) -> None:
    server.repositories.faults = Faults(status=503, times=1)
    assert git("ls-remote", f"{server.url}/{NAME}").returncode != 0
    assert git("ls-remote", f"{server.url}/{NAME}").returncode == 0


def test_a_cut_answer_is_no_clone(server: GitServer, git: Git, work: Path, tmp_path: Path) -> None:
    server.repositories.faults = Faults(cut_after=40)
    assert git("clone", "-q", f"{server.url}/{NAME}", str(tmp_path / "cut")).returncode != 0


def test_x5_no_password_is_remembered(server: GitServer, git: Git, work: Path) -> None:
    assert "right" not in repr(server.repositories.asked())
    assert "right" not in repr(Credential("stage", "right", NAME, 0.0))
