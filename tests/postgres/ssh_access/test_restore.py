"""Central restored to an earlier time: a Site that knows more is told, and nothing of it is lost (E3)."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

from central.kernel.database import Database, DatabaseOptions
from central.ssh_access.adapters.postgres_keys import PostgresMemberKeys
from central.ssh_access.application.add_key import AddKey, AddRequest
from tests.contract.member_keys_suite import ALICE, NOW, SLURM, Accounts, command, ed25519
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.environment import without_ours
from tests.postgres.ssh_access.conftest import Running, launch

ROOT = Path(__file__).parents[3]


def add(url: str, *numbers: int) -> list[UUID]:
    with Database(DatabaseOptions(url, pool_size=1)) as database:
        use_case = AddKey(Accounts(), PostgresMemberKeys(database))
        return [
            use_case(AddRequest(command(), ALICE, SLURM, f"key {number}", ed25519(number)), NOW).key.key_id
            for number in numbers
        ]


def feeds(running: Running, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "central.cli", "feeds", *arguments],
        cwd=ROOT,
        env={
            **without_ours(),
            "PHAROS_DATABASE_URL": running.operator_url,
            "PHAROS_SITES": "slurm,k8s",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_e3_a_restored_central_is_noticed_with_and_without_a_new_feed(
    pg_server: PgServer, database_name: str, clone: Callable[[str], str], tmp_path: Path
) -> None:
    member = "pharos_member_api"
    add(pg_server.role_url(member, database_name), 1, 2)
    backup = clone(database_name)
    add(pg_server.role_url(member, database_name), 3, 4, 5)
    cursor = 5  # the agent followed the feed to here
    pg_server.execute(f"DROP DATABASE {database_name} WITH (FORCE)")
    pg_server.execute(f"CREATE DATABASE {database_name} TEMPLATE {backup}")
    with ExitStack() as stack:
        running = launch(pg_server, database_name, tmp_path, stack)
        grant = running.grant()
        told = running.site(grant, "GET", f"/changes?after={cursor}&wait=55")
        assert (told.status, told.body["code"], told.body["head"]) == (409, "feed_position_unknown", 2)

        later = add(pg_server.role_url(member, database_name), 6, 7, 8, 9)
        missed = running.site(grant, "GET", f"/changes?after={cursor}").body
        assert [change["keyId"] for change in missed["changes"]] == [str(later[3])], "no position tells now"

        before = json.loads(feeds(running, "list", "--json"))["feeds"][0]
        assert before == {"site": "slurm", "scope": "ssh-access", "feed": missed["feed"], "head": 6}
        assert "slurm has ssh-access feed" in feeds(running, "renew", "--site", "slurm")
        whole = running.site(grant, "GET", "/changes?after=0").body
        assert whole["feed"] not in {before["feed"], None}
        assert {str(one) for one in later} <= {change["keyId"] for change in whole["changes"]}


def test_renewing_what_is_not_there_is_refused(pg_server: PgServer, database_name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "central.cli", "feeds", "renew", "--site", "slurm"],
        cwd=ROOT,
        env={
            **without_ours(),
            "PHAROS_DATABASE_URL": pg_server.role_url("pharos_operator", database_name),
            "PHAROS_SITES": "slurm",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, "(feed_unknown)" in done.stderr) == (3, True)
