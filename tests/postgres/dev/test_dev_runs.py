"""The stack with `--runs`: a Run reaches the Site with a token and a credential that work (E4, E5, S2)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import jwt
import pytest
import urllib3

from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.dev.rig import Dev, fresh
from tests.postgres.dev.site import Site, bound
from tests.postgres.kernel.waiting import until
from tests.postgres.provisioning.conftest import PROJECT_REF


@pytest.fixture
def dev() -> Iterator[Dev]:
    with fresh() as stack:
        yield stack


def call(method: str, url: str, token: str, body: Any = None) -> tuple[int, Any]:
    """Status and answer."""
    headers = {"Authorization": f"Bearer {token}", "Pharos-Schema": "1-1", "Idempotency-Key": str(uuid4())}
    answer = urllib3.request(method, url, json=body, headers=headers, timeout=60)
    return answer.status, json.loads(answer.data or b"null")


def test_x8_runs_need_reported_accounts(dev: Dev) -> None:
    with pytest.raises(AssertionError, match="--accounts reported"):
        dev.start("--runs")


def test_e4_a_run_of_the_stack_reaches_the_site(dev: Dev, tmp_path: Path) -> None:
    document = dev.start("--accounts", "reported", "--runs")
    site = Site(document)
    until(lambda: site.members() == "project_unknown")
    project = dev.helper("project", "new", "--ref", PROJECT_REF)
    party = dev.helper("member", "add", "--username", "u1")
    until(lambda: bound(site, project))
    until(lambda: site.members() == {"u1": (1, "active")})
    site.accounts(site.allocation())
    (tmp_path / "main.sh").write_text("true\n")
    words = ("repository", "new", "--name", "group/project.git", "--from", str(tmp_path))
    url, commit = dev.helper(*words).split(" ")
    assert dev.helper("repository", "refs", "--name", "group/project.git") == f"{commit} refs/heads/main"
    assert dev.helper("consent", "--member", "u1") == "standing"
    token = dev.helper("token", "--member", "u1")
    runs = f"{document['runs']['projectApi']['url']}/api/v1/projects/{project}/runs"
    body = {
        "schema": 1,
        "site": "slurm",
        "allocationId": None,
        "repository": {"url": url, "commit": commit},
        "argv": ["sh", "main.sh"],
        "environment": {},
        "resources": {"cpu": 1000, "memory": 1 << 30},
        "timeLimitSeconds": 60,
        "outputs": [],
        "deadline": format_rfc3339(utc_now() + timedelta(hours=1)),
    }
    status, run = call("POST", runs, token, body)
    assert (status, run["state"], run["createdBy"]) == (201, "running", party), run

    grant = dev.helper("grant", "--scope", "commands")
    commands = f"{document['siteApi']['url']}/v1/site/commands"
    [command] = call("GET", f"{commands}?after=0", grant)[1]["commands"]
    ask = {"schema": 1, "attemptId": command["attemptId"]}
    status, given = call("POST", f"{commands}/{command['commandId']}/member-token", grant, ask)
    assert status == 200, given
    keys = jwt.PyJWKSet.from_dict(call("GET", document["runs"]["slurmKeySets"]["slurm"], "")[1])
    claims = jwt.decode(given["token"], keys.keys[0], algorithms=["RS256"], audience="slurm.slurm")
    assert claims["preferred_username"] == "u1"
    listed = ls_remote(url, given["repositoryCredential"], document["runs"]["git"]["caFile"], tmp_path)
    assert f"{commit}\trefs/heads/main" in listed
    assert dev.end(signal.SIGTERM) == 0
    assert dev.left() == []


def ls_remote(url: str, given: dict[str, str], ca_file: str, folder: Path) -> str:
    """What Git sees with the stage's credential."""
    askpass = folder / "askpass"
    askpass.write_text('#!/bin/sh\ncase "$1" in Username*) echo "$U" ;; *) echo "$P" ;; esac\n')
    askpass.chmod(0o755)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ASKPASS": str(askpass),
        "GIT_SSL_CAINFO": ca_file,
        "U": given["username"],
        "P": given["password"],
    }
    done = subprocess.run(
        ["git", "ls-remote", url], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
