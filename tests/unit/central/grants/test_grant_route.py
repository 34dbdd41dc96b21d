"""`GET /v1/site/commands/grant`: a grant of its scope is told, another is refused (E3, I18)."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from central.grants.application.authenticate import Authenticate
from central.grants.domain.grant import Scope, format_token, issue
from central.grants.entrypoints.grant_route import commands_grant
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.http import HttpLimits, create_app
from central.kernel.observability import Metrics
from tests.contract.memory_keys import MemoryGrants

NOW = datetime(2026, 11, 30, 20, tzinfo=UTC)
GRANT, SECRET = UUID("00000000-0000-4000-8000-000000000001"), bytes(32)
PATH = "/v1/site/commands/grant"


@pytest.mark.parametrize(
    ("scopes", "status"),
    [((Scope.COMMANDS,), 200), ((Scope.SSH_ACCESS,), 403), ((Scope.COMMANDS, Scope.SSH_ACCESS), 200)],
)
def test_i18_a_grant_of_commands_is_told_and_another_refused(scopes: tuple[Scope, ...], status: int) -> None:
    grants = MemoryGrants()
    made = issue([], grant_id=GRANT, site="slurm", scopes=scopes, secret=SECRET, expires_at=None, now=NOW)
    grants.issue("slurm", lambda _: made)
    app = create_app(
        "site-api", metrics=Metrics("t"), ready=lambda: None, limits=HttpLimits(), trusted_proxies=()
    )
    app.register_blueprint(commands_grant(SiteCaller(Authenticate(grants), lambda: NOW)))
    headers = {"Authorization": f"Bearer {format_token(GRANT, SECRET)}", "Pharos-Schema": "1-1"}
    answer = app.test_client().get(PATH, headers=headers)
    assert answer.status_code == status
    if status == 200:
        assert answer.get_json() == {
            "schema": 1,
            "site": "slurm",
            "scopes": sorted(scope.value for scope in scopes),
            "grantId": str(GRANT),
            "expiresAt": None,
        }
