"""The Project API and the Site's commands in this process, over memory stores, at the goldens' own time."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from central.execution.application.cancel_run import CancelRun
from central.execution.application.create_run import CreateRun
from central.execution.application.list_commands import ListCommands
from central.execution.application.member_token import FetchMemberToken
from central.execution.application.read_runs import ReadRuns
from central.execution.application.record_site import RecordSite
from central.execution.application.retry_run import RetryRun
from central.execution.application.settle_cleanup import CleanUpRun
from central.execution.application.state_maintenance import StateMaintenance
from central.execution.domain.run import Identity
from central.execution.entrypoints.project_routes import ProjectRoutes
from central.execution.entrypoints.site_routes import CommandRoutes
from central.grants.application.authenticate import Authenticate
from central.grants.domain.grant import Scope, format_token, issue
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.http import HttpLimits, create_app
from central.kernel.notifications import Waiters
from central.kernel.observability import Metrics
from central.kernel.site_polls import SitePolls
from tests.contract.asking import send, whoever
from tests.contract.goldens import load
from tests.contract.memory_keys import MemoryGrants
from tests.contract.memory_runs import MemoryRuns, Others, ready

CLOCK = datetime(2026, 11, 2, 10, 0, 30, tzinfo=UTC)
MAX_AGE = timedelta(minutes=15)
PROJECT = UUID("00000000-0000-4000-8000-000000000302")
PARTY = UUID("00000000-0000-4000-8000-000000000301")
OTHER = UUID("00000000-0000-4000-8000-000000000305")
ALLOCATION = UUID("00000000-0000-4000-8000-000000000303")
IDENTITY = Identity("u1", 5000001, "e/42", "p1-alloc1", UUID(int=304), 1, 1)
READY = ready(ALLOCATION, CLOCK)
SECRET = bytes(32)
GRANTS = {
    "$GRANT_COMMANDS": (UUID(int=1), Scope.COMMANDS),
    "$GRANT_SSH_ACCESS": (UUID(int=2), Scope.SSH_ACCESS),
}
CREDENTIALS = {name: f"Bearer {format_token(grant_id, SECRET)}" for name, (grant_id, _) in GRANTS.items()}
PERSONS = {"member": PARTY, "other": OTHER}
CREDENTIALS |= {"$MEMBER": "Bearer member", "$OTHER": "Bearer other"}


class World:
    """The two applications over one store."""

    def __init__(self) -> None:
        self.runs = MemoryRuns()
        self.persons = dict(PERSONS)
        self.others = Others(PROJECT, {"slurm": [READY]}, IDENTITY)
        self.build()

    def build(self) -> None:
        """The applications, over what this world has now."""
        self.app = create_app(
            "both", metrics=Metrics("both"), ready=lambda: None, limits=HttpLimits(body_bytes=262_144)
        )
        self.app.register_blueprint(self._project().blueprint())
        self.app.register_blueprint(self._site().blueprint())

    def _project(self) -> ProjectRoutes:
        others, runs = self.others, self.runs
        return ProjectRoutes(
            member=whoever(self.persons),
            create_run=CreateRun(others, others, others, others, others, others, runs),
            read_runs=ReadRuns(others, others, runs),
            cancel_run=CancelRun(others, others, runs),
            retry_run=RetryRun(others, others, others, others, others, others, runs),
            clean_up_run=CleanUpRun(others, others, runs),
            clock=lambda: CLOCK,
        )

    def _site(self) -> CommandRoutes:
        others, runs, grants = self.others, self.runs, MemoryGrants()
        for grant_id, scope in GRANTS.values():
            grants.issue(
                "slurm",
                lambda _, grant_id=grant_id, scope=scope: issue(  # type: ignore[misc]
                    [], grant_id=grant_id, site="slurm", scopes=(scope,), secret=SECRET, expires_at=None,
                    now=CLOCK,
                ),
            )  # fmt: skip
        return CommandRoutes(
            caller=SiteCaller(Authenticate(grants), lambda: CLOCK),
            list_commands=ListCommands(runs, others, others, MAX_AGE),
            record_site=RecordSite(runs),
            fetch_token=FetchMemberToken(runs, others, others, others, others, others, MAX_AGE),
            state_maintenance=StateMaintenance(others),
            polls=SitePolls(Waiters("postgresql://nowhere", ["x"], clock=lambda: float("inf")), "x", 4),
            clock=lambda: CLOCK,
        )

    def send(self, request: dict[str, Any], body: bytes | None = None) -> tuple[int, Any]:
        """Sends a golden's request; status and decoded answer."""
        status, answer, _ = send(self.app.test_client(), CREDENTIALS, request, body)
        return status, answer

    def create(self, number: int = 42, *, who: str = "$MEMBER", **changes: object) -> tuple[int, Any]:
        """Asks for the golden's Run, `who` being a credential."""
        golden = load("run-create")
        headers = golden.request["headers"] | {
            "Authorization": who,
            "Idempotency-Key": f"00000000-0000-4000-8000-0000000000{number}",
        }
        body = {**golden.valid[0].body, **changes}
        return self.send({**golden.request, "headers": headers}, json.dumps(body).encode())

    def say(self, golden: str, command: str, attempt: str, **changes: object) -> tuple[int, Any]:
        """Says a golden's word about a command."""
        request = load(golden).request
        what = request["path"].rsplit("/", 1)[1]
        body = {**load(golden).valid[0].body, "attemptId": attempt, **changes}
        return self.send(
            {**request, "path": f"/v1/site/commands/{command}/{what}"}, json.dumps(body).encode()
        )

    def listed(self, path: str = "/v1/site/commands?after=0") -> Any:
        """The Site's commands."""
        status, page = self.send({**load("site-commands-request").request, "path": path})
        assert status == 200, page
        return page["commands"]

    def ask(
        self, method: str, run: str, what: str = "", *, key: int = 60, who: str = "$MEMBER"
    ) -> tuple[int, Any]:
        """What a member's program gets of a Run; `what` begins with a slash. `who` names a credential."""
        path = f"/api/v1/projects/{PROJECT}/runs/{run}{what}"
        headers = {"Authorization": who}
        if method == "GET":
            return self.send({"method": method, "path": path, "headers": headers})
        headers |= {"Idempotency-Key": str(UUID(int=key)), "Content-Type": "application/json"}
        body = {"schema": 1, "reason": None} if what == "/cancel" else {"schema": 1}
        return self.send({"method": method, "path": path, "headers": headers}, json.dumps(body).encode())

    def do(self, *, verdict: str = "completed", accepted: bool = True, code: str | None = None) -> None:
        """The Site does the latest command listed: accepts it and ends it so, or refuses it."""
        command = self.listed()[-1]
        named, attempt = command["commandId"], command["attemptId"]
        word = str(UUID(int=command["sequence"]))
        if not accepted:
            answer = self.say("command-ack", named, attempt, ackId=word, outcome="refused", jobId=None,
                              cluster=None, code=code)  # fmt: skip
            assert answer[0] == 200, answer
            return
        for golden, changes in (
            ("command-ack", {"ackId": word}),
            ("command-result", {
                "resultId": word, "verdict": verdict, "exitCode": 0 if verdict == "completed" else None,
                "output": None, "code": code,
            }),
        ):  # fmt: skip
            answer = self.say(golden, named, attempt, **changes)
            assert answer[0] == 200, answer
