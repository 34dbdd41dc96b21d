"""A verified archive handed to a fake host, and what an environment's build leaves."""

import hashlib
import json
from collections.abc import Callable

import pytest

from installer.bootstrap.archive import VerifiedArchive
from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.bootstrap.environment import EnvironmentSpec
from installer.host.commands import Completed
from installer.steps import release_tree
from tests.installer.archives import Item, Workshop
from tests.installer.rig import Rig

PYTHON = Completed(
    code=0,
    stdout=json.dumps(
        {
            "python": "3.13",
            "full": "3.13.5",
            "implementation": "CPython",
            "machine": "x86_64",
            "threaded": False,
            "virtual": False,
            "libc": "glibc 2.41",
            "missing": [],
        }
    ),
    stderr="",
)


def build_stand_in(
    spec: EnvironmentSpec,
    archive: VerifiedArchive,
    *,
    checkpoint: Checkpoint = no_checkpoint,
    progress: Callable[[str], None],
) -> None:
    """Writes what an environment holds, with the real one's checkpoints; the real one has its own tests."""
    for step in ("unpack", "venv", "pip", "compile", "check", "smoke"):
        checkpoint(f"before-{step}")
        if step == "venv":
            (spec.path / "bin").mkdir(parents=True)
        if step == "pip":
            progress("installing")
            (spec.path / "bin" / spec.console_script).write_text("#!/bin/sh\nexit 0\n")
            (spec.path / "bin" / spec.console_script).chmod(0o755)
            (spec.path / "pharos-release").write_text(archive.release_id)
            (spec.path / "pharos-release").chmod(0o644)
            for folder in (spec.path, spec.path / "bin"):
                folder.chmod(0o755)
        checkpoint(f"after-{step}")


@pytest.fixture
def offered(rig: Rig, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A host to which install.sh handed a verified archive."""
    workshop.entries["units/sysusers.d/pharos-hpc.conf"] = b"u pharos-ssh-access - - - /usr/sbin/nologin\n"
    workshop.entries["units/tmpfiles.d/pharos-hpc.conf"] = b"d /etc/pharos-hpc 0755 root root -\n"
    offer(rig, workshop)
    monkeypatch.setattr(release_tree, "build_environment", build_stand_in)
    rig.fake.programs["python3.13"] = PYTHON
    return rig


def offer(rig: Rig, workshop: Workshop, items: list[Item] | None = None) -> None:
    archive = workshop.write(items)
    rig.write("/etc/pharos-hpc/allowed_signers", workshop.keys.allowed_signers.read_bytes())
    rig.environment["PHAROS_ARCHIVE"] = str(archive)
    rig.environment["PHAROS_ARCHIVE_SHA256"] = hashlib.sha256(archive.read_bytes()).hexdigest()
