"""A scripted Site: speaks docs/wire.md's commands as a Runtime does, runs nothing, pushes what it says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import urllib3

from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.execution.stand_ins import REPOSITORY, plain_git
from tests.postgres.execution.world import Member, World
from tests.postgres.kernel.waiting import until

COMMANDS = "/v1/site/commands"


@dataclass(slots=True)
class ScriptedSite:
    """Does commands one by one. `jobs` are those it "submitted", by command; `tokens` what it was given.

    What it began it remembers, as a Runtime's journal does: a word whose answer was lost is said again byte
    for byte, for a command that central has as acknowledged is listed no more.
    """

    world: World
    jobs: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    begun: dict[str, dict[str, Any]] = field(default_factory=dict)
    said: dict[tuple[str, str], Any] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One call of the Site API."""
        return self.world.call("site", method, COMMANDS + path, self.world.grant, body)

    def listed(self) -> list[dict[str, Any]]:
        """Every command that is not acknowledged."""
        commands: list[dict[str, Any]] = []
        after, more = 0, True
        while more:
            status, page = self.ask("GET", f"/unacknowledged?after={after}")
            assert status == 200, page
            commands += page["commands"]
            after, more = page["next"], page["more"]
        return commands

    def maintain(self, draining: bool) -> None:
        """States whether it takes new work."""
        body = {
            "schema": 1,
            "statementId": str(uuid4()),
            "observedAt": format_rfc3339(utc_now()),
            "draining": draining,
            "until": None,
            "reason": "Slurm upgrade" if draining else None,
        }
        status, said = self.ask("PUT", "/maintenance", body)
        assert status == 204, said

    def of(self, run: str) -> list[dict[str, Any]]:
        """Those of one Run."""
        return [command for command in self.listed() if command["runId"] == run]

    def token(self, command: dict[str, Any]) -> tuple[int, Any]:
        """Asks for the member's token."""
        body = {"schema": 1, "attemptId": command["attemptId"]}
        return self.ask("POST", f"/{command['commandId']}/member-token", body)

    def ack(self, command: dict[str, Any], code: str | None = None) -> tuple[int, Any]:
        """Says that a job was submitted, or why not."""
        named = command["commandId"]
        if code is None and command["action"]["act"] == "submit":
            self.jobs.setdefault(named, len(self.jobs) + 1)
        body = {
            "schema": 1,
            "ackId": str(uuid4()),
            "attemptId": command["attemptId"],
            "acknowledgedAt": format_rfc3339(utc_now()),
            "outcome": "refused" if code else "accepted",
            "jobId": str(self.jobs[named]) if named in self.jobs else None,
            "cluster": "icarus" if named in self.jobs else None,
            "code": code,
        }
        return self.say(named, "ack", body)

    def say(self, command: str, what: str, body: Any) -> tuple[int, Any]:
        """Says a word of a command that was begun: the first form of it, however often."""
        if command in self.begun:
            body = self.said.setdefault((command, what), body)
        return self.ask("POST", f"/{command}/{what}", body)

    def result(
        self, command: dict[str, Any], verdict: str = "completed", output: Any = None
    ) -> tuple[int, Any]:
        """Says how it ended."""
        now = format_rfc3339(utc_now())
        body = {
            "schema": 1,
            "resultId": str(uuid4()),
            "attemptId": command["attemptId"],
            "observedAt": now,
            "verdict": verdict,
            "exitCode": 0 if verdict == "completed" else None,
            "signal": None,
            "startedAt": now,
            "endedAt": now,
            "usage": {"elapsedSeconds": 1, "allocated": {"cpu": 1000}},
            "output": output,
            "code": None,
        }
        return self.say(command["commandId"], "result", body)

    def do(self, command: dict[str, Any], *, push: bool = True) -> bool:
        """Does a command to its end; False where it may not begin now."""
        action = command["action"]
        if action["act"] == "submit":
            status, given = self.token(command)
            if status != 200:
                return False
            self.tokens[command["commandId"]] = given
        self.begun[command["commandId"]] = command
        return self.finish(command, push=push)

    def finish(self, command: dict[str, Any], *, push: bool) -> bool:
        """Goes on with a command that was begun."""
        action = command["action"]
        assert self.ack(command)[0] == 200
        output = None
        if action["act"] == "submit" and action["stage"] == "stage-out":
            output = self.push(command) if push else self.put(command)
        status, body = self.result(command, output=output)
        assert status == 200, body
        del self.begun[command["commandId"]]
        return True

    def push(self, command: dict[str, Any]) -> dict[str, str]:
        """Pushes over HTTPS with the stage's own credential, as stage-out does."""
        given = self.tokens[command["commandId"]]["repositoryCredential"]
        ref, folder = command["action"]["outputs"]["ref"], self.world.folder
        askpass = folder / "askpass"
        askpass.write_text('#!/bin/sh\ncase "$1" in Username*) echo "$U" ;; *) echo "$P" ;; esac\n')
        askpass.chmod(0o755)
        work = str(folder / "work")
        tree = plain_git(folder, "-C", work, "rev-parse", "HEAD^{tree}")
        commit = plain_git(folder, "-C", work, "commit-tree", tree, "-p", "HEAD", "-m", command["runId"])
        plain_git(
            folder, "-C", work, "push", "--quiet", f"{self.world.git.url}/{REPOSITORY}", f"{commit}:{ref}",
            GIT_ASKPASS=str(askpass), GIT_SSL_CAINFO=str(folder / "ca.crt"), U=given["username"],
            P=given["password"],
        )  # fmt: skip
        self.outputs[command["runId"]] = commit
        return {"ref": ref, "commit": commit}

    def put(self, command: dict[str, Any]) -> dict[str, str]:
        """As `push`, at the Git host itself: for many Runs at once."""
        ref = command["action"]["outputs"]["ref"]
        bare = self.world.git.repositories.path(REPOSITORY)
        plain_git(self.world.folder, "-C", str(bare), "update-ref", ref, self.world.commit)
        self.outputs[command["runId"]] = self.world.commit
        return {"ref": ref, "commit": self.world.commit}

    def work(self, run: str | None = None, *, push: bool = True) -> int:
        """Does what is listed, of one Run or of all; how many."""
        listed = self.listed() if run is None else self.of(run)
        return sum(self.do(command, push=push) for command in listed)

    def work_through(self, *, push: bool = True) -> int:
        """As `work`, through outages of central."""
        done = 0
        with suppress(urllib3.exceptions.HTTPError, AssertionError):
            for command in list(self.begun.values()):
                done += self.finish(command, push=push)
            for command in self.listed():
                done += self.do(command, push=push)
        return done


def started(world: World, member: Member, **changes: object) -> str:
    """A Run of the member, once Beto's view knows the member."""
    body = world.run_body(**changes)
    key, answers = str(uuid4()), list[tuple[int, object]]()

    def accepted() -> bool:
        answers.append(world.start(member, key, **body))
        return answers[-1][0] in (200, 201)

    until(accepted)
    return str(world.start(member, key, **body)[1]["runId"])


def finish(world: World, site: ScriptedSite, run: str) -> None:
    """The Site does whatever is asked of the Run until it is cleaned up."""

    def cleaned() -> bool:
        return any(
            command["action"]["act"] == "cleanup" and site.do(command, push=False)
            for command in site.of(run)
            if command["action"]["act"] == "cleanup" or not site.do(command, push=False)
        )

    until(cleaned)
