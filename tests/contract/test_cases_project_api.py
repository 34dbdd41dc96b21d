"""A member's rights turned against others at the Project API and the Site's commands (E3, E4, E7, X4, X7)."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.contract.goldens import load
from tests.contract.run_world import OTHER, PARTY, PROJECT, World

STRANGERS = UUID(int=77)


@pytest.fixture
def world() -> World:
    return World()


def test_x7_another_members_key_is_another_members_command(world: World) -> None:
    """The same key and body of somebody else: their own Run, not the first one's receipt, and no conflict."""
    status, mine = world.create(42)
    other, theirs = world.create(42, who="$OTHER")
    assert (status, other) == (201, 201)
    assert theirs["runId"] != mine["runId"]
    assert (mine["createdBy"], theirs["createdBy"]) == (str(PARTY), str(OTHER))


def test_x7_a_key_used_for_one_act_is_not_another_acts_receipt(world: World) -> None:
    _, run = world.create(42)
    for what in ("/cancel", "/retry", "/cleanup"):
        status, problem = world.ask("POST", run["runId"], what, key=_key(42))
        assert (status, problem["code"]) == (409, "command_reused"), what
    assert world.ask("GET", run["runId"])[1]["state"] != "cancelling"


def _key(number: int) -> int:
    return UUID(f"00000000-0000-4000-8000-0000000000{number}").int


@pytest.mark.parametrize("what", ["", "/results", "/cancel", "/retry", "/cleanup"])
def test_e7_a_run_of_another_project_is_not_told_apart_from_none(world: World, what: str) -> None:
    """Through one's own Project: unknown, whether it exists or not; through the other's: forbidden."""
    _, run = world.create()
    before = dict(world.runs.runs)
    world.others.project = STRANGERS  # from here on the caller is a member of this one alone
    for project, refused in ((STRANGERS, (404, "run_unknown")), (PROJECT, (403, "forbidden"))):
        for name in (run["runId"], str(UUID(int=999))):
            status, answer = _asked(world, f"/api/v1/projects/{project}/runs/{name}{what}")
            assert (status, answer["code"]) == refused, (project, name)
    assert world.runs.runs == before


def _asked(world: World, path: str) -> tuple[int, Any]:
    """Another member's request, with the body its act has."""
    headers: dict[str, str] = {"Authorization": "$OTHER"}
    act = path.rpartition("/")[2]
    if act not in ("cancel", "retry", "cleanup"):
        return world.send({"method": "GET", "path": path, "headers": headers})
    headers |= {"Content-Type": "application/json", "Idempotency-Key": str(uuid4())}
    body = {"schema": 1} | ({"reason": None} if act == "cancel" else {})
    return world.send({"method": "POST", "path": path, "headers": headers}, json.dumps(body).encode())


HOSTILE_PATHS = [
    "/api/v1/projects/{project}/runs/{run}/../../{project}/runs",
    "/api/v1/projects/{project}/runs/{run}%2Fcancel",
    "/api/v1/projects/%00/runs",
    "/api/v1/projects/{project}%0a/runs",
    "/api/v1/projects/{{{project}}}/runs",
    "/api/v1/projects/urn:uuid:{project}/runs",
    "//api/v1/projects/{project}/runs",
    "/api/v1/projects/{project}/runs/{run}?expand=environment",
    "/api/v1/projects/{project}/runs?page_size=501",
    "/api/v1/projects/{project}/runs?page_size=0",
    "/api/v1/projects/{project}/runs?page_size=1e2",
    "/api/v1/projects/{project}/runs?page_size=1&page_size=2",
    "/api/v1/projects/{project}/runs?page_token=%%%",
    "/api/v1/projects/{project}/runs?page_token=%C3%A9",
    "/api/v1/projects/{project}/runs?page_token=" + "A" * 21,
    "/api/v1/projects/{project}/runs?page_token=" + "A" * 5000,
    "/api/v1/projects/{project}/runs?access_token=x",
]


@pytest.mark.parametrize("path", HOSTILE_PATHS)
def test_x4_a_hostile_address_is_refused_by_a_document(world: World, path: str) -> None:
    _, run = world.create()
    named = path.format(project=PROJECT, run=run["runId"])
    status, problem = world.send({"method": "GET", "path": named, "headers": {"Authorization": "$MEMBER"}})
    assert 400 <= status < 500 and problem["code"], (status, problem)
    assert "environment" not in json.dumps(problem)


def hostile(**changes: Any) -> bytes:
    return json.dumps(dict(load("run-create").valid[0].body) | changes).encode()


HOSTILE_BODIES: dict[str, bytes] = {
    "argv of a mapping": hostile(argv={"0": "sh"}),
    "no argv": hostile(argv=[]),
    "257 words": hostile(argv=["x"] * 257),
    "NUL in a word": hostile(argv=["a\0b"]),
    "escape in a word": hostile(argv=["\x1b]0;title\x07"]),
    "surrogate in a word": hostile(argv=["\ud800"]),
    "name of the loader": hostile(environment={"LD_PRELOAD": "/tmp/x.so"}),
    "name of Slurm": hostile(environment={"SLURM_JWT": "x"}),
    "name of Git": hostile(environment={"GIT_ASKPASS": "x"}),
    "name with a newline": hostile(environment={"A\nLD_PRELOAD": "x"}),
    "name with an equals sign": hostile(environment={"A=B": "x"}),
    "name that is empty": hostile(environment={"": "x"}),
    "number as a value": hostile(environment={"A": 1}),
    "output above": hostile(outputs=["../../etc/passwd"]),
    "output at the root": hostile(outputs=["/etc/passwd"]),
    "output in .git": hostile(outputs=["a/.gIt/hooks/pre-push"]),
    "output that is empty": hostile(outputs=[""]),
    "output with a newline": hostile(outputs=["a\nb"]),
    "repository of a file": hostile(repository={"url": "file:///etc", "commit": "a" * 40}),
    "repository over ssh": hostile(repository={"url": "ssh://-oProxyCommand=x/y", "commit": "a" * 40}),
    "repository of a transport": hostile(repository={"url": "ext::sh -c x", "commit": "a" * 40}),
    "repository with a user": hostile(repository={"url": "https://u:p@h/x", "commit": "a" * 40}),
    "repository with a query": hostile(repository={"url": "https://h/x?y", "commit": "a" * 40}),
    "repository without a path": hostile(repository={"url": "https://h", "commit": "a" * 40}),
    "a branch for the commit": hostile(repository={"url": "https://h/x", "commit": "main"}),
    "an option for the commit": hostile(repository={"url": "https://h/x", "commit": "--upload-pack=x"}),
    "a commit in capitals": hostile(repository={"url": "https://h/x", "commit": "A" * 40}),
    "a partition": hostile(partition="root"),
    "an account": hostile(account="root"),
    "a negative amount": hostile(resources={"cpu": -1000, "memory": 1 << 30}),
    "an amount as text": hostile(resources={"cpu": "1000", "memory": 1 << 30}),
    "an amount beyond": hostile(resources={"cpu": 2**63, "memory": 1 << 30}),
    "a component of the shell": hostile(resources={"cpu": 1000, "memory": 1 << 30, "gpu.a,license:x": 1}),
    "no end": hostile(timeLimitSeconds=0),
    "a year and a second": hostile(timeLimitSeconds=31_536_001),
    "a deadline without a zone": hostile(deadline="2026-11-02T12:00:00"),
    "a deadline without an end": hostile(deadline="infinity"),
    "another schema": hostile(schema=2),
    "a key twice": hostile()[:-1] + b',"site":"other"}',
    "depth": b'{"a":' * 40 + b"1" + b"}" * 40,
}


@pytest.mark.parametrize("name", HOSTILE_BODIES)
def test_x4_a_hostile_body_is_refused_and_nothing_is_saved(world: World, name: str) -> None:
    golden = load("run-create")
    status, problem = world.send(golden.request, HOSTILE_BODIES[name])
    assert status == 400 and problem["code"], (status, problem)
    assert world.runs.runs == {} and world.listed() == []


def test_e3_a_grant_of_the_other_scope_reads_and_says_nothing(world: World) -> None:
    """The agent for keys has no business with commands, whatever it names."""
    world.create()
    [command] = world.listed()
    request = load("site-commands-request").request | {"path": "/v1/site/commands?after=0"}
    headers = request["headers"] | {"Authorization": "$GRANT_SSH_ACCESS"}
    assert world.send({**request, "headers": headers})[1]["code"] == "forbidden"
    words = {"command-ack": "ack", "command-result": "result", "member-token-request": "member-token"}
    for golden, word in words.items():
        said = load(golden).request
        path = f"/v1/site/commands/{command['commandId']}/{word}"
        body = load(golden).valid[0].body | {"attemptId": command["attemptId"]}
        wrong = said["headers"] | {"Authorization": "$GRANT_SSH_ACCESS"}
        status, problem = world.send({**said, "path": path, "headers": wrong}, json.dumps(body).encode())
        assert (status, problem["code"]) == (403, "forbidden")
    for person in ("$MEMBER", "$OTHER"):
        headers = request["headers"] | {"Authorization": person}
        assert world.send({**request, "headers": headers})[0] == 401, "a member's bearer is no grant"
    assert world.listed()[0] == command
