"""The stand-ins a Run meets beside Beto: an issuer with a key set for Slurm, a Git repository."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.simulators.git.server import GitServer
from tests.simulators.oidc.issuer import Issuer, SigningKey
from tests.simulators.oidc.server import IssuerServer

AUDIENCE = "slurm.icarus"
REPOSITORY = "group/project.git"
SECRET = "central-at-the-issuer"


def first_commit(git: GitServer, folder: Path) -> str:
    """A repository with one commit; its id."""
    bare, work = git.repositories.create(REPOSITORY), folder / "work"
    for words in (
        ("init", "--quiet", "--initial-branch=main", str(work)),
        ("-C", str(work), "commit", "--quiet", "--allow-empty", "--message", "first"),
        ("-C", str(work), "push", "--quiet", str(bare), "main"),
    ):
        plain_git(folder, *words, PHAROS_GIT_WRITES="refs/heads/")
    return plain_git(folder, "-C", str(work), "rev-parse", "HEAD")


def plain_git(folder: Path, *words: str, **more: str) -> str:
    """Git, apart from whatever this machine's configuration says."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        **{
            f"GIT_{who}_{what}": "a@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
        **more,
    }
    done = subprocess.run(["git", *words], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def issuer() -> Iterator[Issuer]:
    made = Issuer(
        url="",
        audience="pharos",
        keys=[SigningKey.make("ES256"), SigningKey.make("RS256")],
        client_secret=SECRET,
        slurm_keys={AUDIENCE: SigningKey.make("RS256")},
    )
    with IssuerServer(("127.0.0.1", 0), made) as server:
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield made
        server.shutdown()
        thread.join(10)
