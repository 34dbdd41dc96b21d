"""The Site API and the member API in this process, over memory stores, at the goldens' own time.

`$GRANT`, `$MEMBER` in a golden stand for the credentials these apps accept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from flask import Flask
from flask.testing import FlaskClient

from central.grants.application.authenticate import Authenticate
from central.grants.domain.grant import Scope, format_token, issue
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.http import HttpLimits, create_app
from central.kernel.notifications import Waiters
from central.kernel.observability import Metrics
from central.kernel.site_polls import SitePolls
from central.ssh_access.adapters.postgres_keys import CHANNEL
from central.ssh_access.application.add_key import AddKey
from central.ssh_access.application.list_changes import ListChanges
from central.ssh_access.application.list_keys import ListKeys
from central.ssh_access.application.record_results import RecordResults
from central.ssh_access.application.remove_key import RemoveKey
from central.ssh_access.domain.member_key import MemberId
from central.ssh_access.entrypoints.member_routes import MemberRoutes
from central.ssh_access.entrypoints.site_routes import SiteRoutes
from central.ssh_access.entrypoints.wire import ADD_BYTES_MAX, REPORT_BYTES_MAX
from tests.contract import asking
from tests.contract.asking import whoever
from tests.contract.member_keys_suite import Accounts
from tests.contract.memory_keys import MemoryGrants, MemoryMemberKeys

CLOCK = datetime(2026, 11, 2, 10, 0, 30, tzinfo=UTC)
GRANT_ID = UUID("00000000-0000-4000-8000-000000000001")
SECRET = bytes(32)
CREDENTIALS = {"$GRANT": f"Bearer {format_token(GRANT_ID, SECRET)}", "$MEMBER": "Bearer alice"}


MEMBERS = ("alice", "bob", "carol", "dave", "erin", "frank")


@dataclass(frozen=True)
class Apps:
    """Both applications over one store."""

    site: Flask
    member: Flask
    keys: MemoryMemberKeys
    grants: MemoryGrants

    def client(self, path: str) -> FlaskClient:
        """The one whose origin a golden's path belongs to."""
        return (self.member if path.lstrip("/").startswith("api") else self.site).test_client()


def make_apps() -> Apps:
    """Fresh stores, one grant of `slurm`."""
    keys, grants = MemoryMemberKeys(), MemoryGrants()
    grant = issue(
        [],
        grant_id=GRANT_ID,
        site="slurm",
        scopes=(Scope.SSH_ACCESS,),
        secret=SECRET,
        expires_at=datetime(2027, 11, 2, 10, tzinfo=UTC),
        now=CLOCK,
    )
    grants.issue("slurm", lambda _: grant)
    return Apps(_site_app(keys, grants), _member_app(keys), keys, grants)


def send(apps: Apps, request: Mapping[str, Any], body: bytes | None) -> tuple[int, Any, Mapping[str, str]]:
    """Sends a golden's request; status, decoded answer and headers."""
    return asking.send(apps.client(str(request["path"])), CREDENTIALS, request, body)


def _site_app(keys: MemoryMemberKeys, grants: MemoryGrants) -> Flask:
    app = create_app(
        "site-api",
        metrics=Metrics("site-api"),
        ready=lambda: None,
        limits=HttpLimits(body_bytes=REPORT_BYTES_MAX),
    )
    routes = SiteRoutes(
        caller=SiteCaller(Authenticate(grants), lambda: CLOCK),
        list_changes=ListChanges(keys),
        record_results=RecordResults(keys),
        polls=SitePolls(Waiters("postgresql://nowhere", [CHANNEL], clock=lambda: float("inf")), CHANNEL, 4),
        clock=lambda: CLOCK,
    )
    app.register_blueprint(routes.blueprint())
    return app


def _member_app(keys: MemoryMemberKeys) -> Flask:
    app = create_app(
        "member-api",
        metrics=Metrics("member-api"),
        ready=lambda: None,
        limits=HttpLimits(body_bytes=ADD_BYTES_MAX),
    )
    routes = MemberRoutes(
        member=whoever({name: MemberId(name) for name in MEMBERS}),
        add_key=AddKey(Accounts(), keys),
        list_keys=ListKeys(keys),
        remove_key=RemoveKey(keys),
        clock=lambda: CLOCK,
    )
    app.register_blueprint(routes.blueprint())
    return app
