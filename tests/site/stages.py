"""The stages' scripts as a node's shell runs them, against the Git stand-in: no Slurm, this user, a scratch
of the test's own.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from central.dev.certificates import issue_leaf
from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.adapters.scripts import Scripts, template
from site_bundle.runtime.domain.command import Compute, Outputs, Repository, StageName, Submit
from site_bundle.runtime.domain.script import PASSWORD, USERNAME
from site_bundle.runtime.domain.stage import Stage
from site_bundle.runtime.domain.verdict import Output
from tests.simulators.git.server import GitServer
from tests.simulators.git.server_state import Credential
from tests.unit.site_bundle.runtime.scenes import REF, RESOURCES, RUN, command

NAME = "group/work.git"
WORD = "planted-repository-word-41c7"
RUNS = "refs/heads/pharos/runs/"
SECONDS = 60  # a stage that waits for somebody is a failed test


def leaf(pki: Path) -> tuple[Path, Path]:
    """Certificate and key of the Git host."""
    return issue_leaf(pki, "git.test", "127.0.0.1", datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a stage ended, and its log."""

    status: int
    log: str


class Stages:
    """One Attempt's three stages; `commit` is the repository's at the beginning."""

    def __init__(self, server: GitServer, pki: Path, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.scratch = folder / "scratch"
        for made, mode in ((self.scratch, 0o3770), (self.scratch / ".runtime", 0o2710)):
            made.mkdir()
            made.chmod(mode)
        self.grants = ScratchGrants(
            self.scratch / ".runtime", template("askpass"), pki / "ca.crt", lambda: "salt"
        )
        self.url = f"{server.url}/{NAME}"
        self.environment = {USERNAME: "stage", PASSWORD: WORD}
        self.blocks = "unlimited"  # of 512 bytes: what a stage may write into one file
        self.allow()

    def allow(self, *writes: str) -> None:
        """What the stage's credential may write besides the Run's own branch."""
        granted = (f"{RUNS}{RUN}", *writes)
        self.server.repositories.grant(Credential("stage", WORD, NAME, time.time() + 600, granted))

    @property
    def workspace(self) -> Path:
        owner = pwd.getpwuid(os.getuid()).pw_name
        return self.scratch / owner / str(command().attempt_id)

    @property
    def work(self) -> Path:
        return self.workspace / "work"

    def seed(self, build: Callable[[Path, Callable[..., str]], None]) -> str:
        """A commit on the repository's main; `build` is given a work tree and its git."""
        work = self.folder / f"seed-{time.monotonic_ns()}"
        work.mkdir()
        settings = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        environment = settings | {"PHAROS_GIT_WRITES": "refs/"}

        def git(*words: str) -> str:
            named = ["-c", "user.name=t", "-c", "user.email=t@t"]
            ran = subprocess.run(
                ["git", "-C", str(work), *named, *words],
                env=environment, check=True, capture_output=True, text=True,
            )  # fmt: skip
            return ran.stdout.strip()

        git("init", "--quiet", "--initial-branch=main")
        build(work, git)
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", "seed")
        git("push", "--quiet", "--force", str(self.server.repositories.path(NAME)), "main")
        return git("rev-parse", "HEAD")

    def stage_in(self, commit: str, url: str | None = None) -> Ended:
        at = Repository(url or self.url, commit)
        return self.run(Submit(StageName.STAGE_IN, RESOURCES, 600, at, None, None))

    def compute(self, *argv: str, **environment: str) -> Ended:
        wanted = Compute(argv, environment)
        return self.run(Submit(StageName.COMPUTE, RESOURCES, 600, None, wanted, None), environment)

    def stage_out(self, commit: str, *paths: str, large: int = 1 << 20) -> Ended:
        outputs = Outputs(paths, REF, large)
        at = Repository(self.url, commit)
        return self.run(Submit(StageName.STAGE_OUT, RESOURCES, 600, at, None, outputs))

    def run(self, action: Submit, environment: dict[str, str] | None = None) -> Ended:
        """The script as slurmstepd starts it: these values, nothing else."""
        if action.repository is not None:
            url = action.repository.url
            self.grants.prepare(self.grants.grant(command().attempt_id, url), url)
        text = Scripts(self.grants, self.scratch).render(Stage(command(1, action)))
        path = self.folder / f"{action.stage.value}.sh"
        path.write_text(text)
        given = self.environment if environment is None else environment
        ran = subprocess.run(
            ["/bin/sh", "-c", f'ulimit -f {self.blocks}; exec /bin/sh "$0"', str(path)],
            env=given, cwd="/", stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        log = self.workspace / "logs" / f"{action.stage.value}.log"
        told = log.read_text(errors="replace") if log.is_file() else ""
        return Ended(ran.returncode, ran.stdout + ran.stderr + told)

    def output(self) -> Output | None:
        return self.grants.output(command().attempt_id, command().command_id, os.getuid())

    def shown(self, path: str) -> str:
        """A file of the Run's branch on the server."""
        words = ["git", "-C", str(self.server.repositories.path(NAME)), "show", f"{REF}:{path}"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def listed(self) -> list[str]:
        """Every path of the Run's branch."""
        words = ["git", "-C", str(self.server.repositories.path(NAME)), "ls-tree", "-rz", "--name-only", REF]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]
