"""`pharos-central grants`, `explain`, `check`, `migrate` as typed (E3, O1, X5, X6)."""

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from central.kernel.database import Database, DatabaseOptions
from tests.contract.member_keys_suite import Accounts, command
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.environment import without_ours

ROOT = Path(__file__).parents[3]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(pg_server: PgServer, database_name: str, tmp_path: Path) -> Run:
    """The command line over a database of the test's own, as the operator."""
    secret = tmp_path / "database-url"
    secret.touch(mode=0o600)
    secret.write_text(pg_server.role_url("pharos_operator", database_name) + "\n")

    def go(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        given = {"PHAROS_DATABASE_URL_FILE": str(secret), "PHAROS_SITES": "slurm,k8s", **environment}
        return subprocess.run(
            [sys.executable, "-m", "central.cli", *arguments],
            cwd=ROOT,
            env={**without_ours(), **given},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return go


def test_a_token_goes_to_its_own_file_and_nowhere_else(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "token"
    done = run("grants", "issue", "--site", "slurm", "--scope", "ssh-access", "--output", str(output))
    token = output.read_text().strip()
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    assert token.startswith("phs1_")
    assert token.split("_", 2)[2] not in done.stdout + done.stderr


def test_a_token_is_shown_only_when_asked_for(run: Run) -> None:
    assert run("grants", "issue", "--site", "slurm", "--scope", "ssh-access").returncode == 2
    done = run("grants", "issue", "--site", "slurm", "--scope", "ssh-access", "--show")
    assert done.stdout.startswith("phs1_")
    assert done.stdout.strip().split("_", 2)[2] not in done.stderr


def test_an_existing_file_is_not_overwritten_and_no_grant_is_left(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "token"
    output.write_text("precious")
    done = run("grants", "issue", "--site", "slurm", "--scope", "ssh-access", "--output", str(output))
    assert (done.returncode, output.read_text()) == (3, "precious")
    assert "grant_output" in done.stderr
    assert json.loads(run("grants", "list", "--json").stdout) == {"schema": 1, "grants": []}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--site", "icarus-hpc", "--scope", "ssh-access"), "site_unknown"),
        (("--site", "slurm", "--scope", "ssh-access", "--expires", "2020-01-01T00:00:00Z"), "grant_expiry"),
        (("--site", "slurm", "--scope", "ssh-access", "--expires", "2020-01-01"), "grant_expiry"),
        (("--site", "slurm", "--scope", "ssh-access", "--expires", "0d"), "grant_expiry"),
    ],
)
def test_a_refused_grant_leaves_no_file(
    arguments: tuple[str, ...], code: str, run: Run, tmp_path: Path
) -> None:
    output = tmp_path / "token"
    done = run("grants", "issue", *arguments, "--output", str(output))
    assert (done.returncode, output.exists()) == (3, False)
    assert f"({code})" in done.stderr


def test_list_and_revoke(run: Run) -> None:
    empty = run("grants", "list")
    assert (empty.stdout, empty.stderr.strip()) == ("", "none")
    run("grants", "issue", "--site", "k8s", "--scope", "commands", "--scope", "ssh-access", "--show")
    run("grants", "issue", "--site", "slurm", "--scope", "ssh-access", "--expires", "90d", "--show")
    first, second = json.loads(run("grants", "list", "--json").stdout)["grants"]
    assert (first["scopes"], first["expiresAt"], first["state"]) == (
        ["commands", "ssh-access"],
        None,
        "valid",
    )
    assert second["expiresAt"] is not None
    assert run("grants", "revoke", first["grantId"]).returncode == 0
    assert json.loads(run("grants", "list", "--json").stdout)["grants"][0]["state"] == "revoked"
    heading, *lines = run("grants", "list").stdout.splitlines()
    assert heading.split() == ["GRANT", "SITE", "SCOPES", "STATE", "LAST", "USED"]
    assert [line[heading.index("STATE") :].split() for line in lines] == [
        ["revoked", "never"],
        ["valid", "never"],
    ]
    unknown = run("grants", "revoke", str(uuid4()))
    assert (unknown.returncode, "grant_unknown" in unknown.stderr) == (3, True)


def test_settings_are_refused_before_anything_is_opened(run: Run) -> None:
    done = run("grants", "list", PHAROS_DATABSE_URL="postgresql://x:hunter2@y/z")
    assert done.returncode == 2
    assert "PHAROS_DATABSE_URL" in done.stderr
    assert "hunter2" not in done.stderr


def test_an_unreachable_database_is_unavailable_and_not_an_empty_list(run: Run) -> None:
    done = run(
        "grants",
        "list",
        PHAROS_DATABASE_URL_FILE="",
        PHAROS_DATABASE_URL="postgresql://a:hunter2@127.0.0.1:1/z",
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert "hunter2" not in done.stderr


def test_explain_tells_each_link_of_a_key(
    run: Run,
    pg_server: PgServer,
    database_name: str,
    open_database: Callable[[DatabaseOptions], Database],
) -> None:
    """O1: wished, numbered, the Site without a grant, nothing reported yet."""
    from central.ssh_access.adapters.postgres_keys import PostgresMemberKeys
    from central.ssh_access.application.add_key import AddKey, AddRequest
    from tests.contract.member_keys_suite import ALICE, K1, NOW, SLURM

    keys = PostgresMemberKeys(
        open_database(DatabaseOptions(pg_server.role_url("pharos_member_api", database_name)))
    )
    key = AddKey(Accounts(), keys)(AddRequest(command(), ALICE, SLURM, "laptop", K1), NOW).key
    links = {
        link["link"]: link
        for link in json.loads(run("explain", "key", str(key.key_id), "--json").stdout)["links"]
    }
    assert links["state"]["text"] == "pending (revision 1)"
    assert links["change"]["text"].startswith("sequence 1")
    assert "no valid ssh-access grant" in links["site"]["text"]
    assert links["report"]["at"] is None
    assert links["wish"]["ageSeconds"] > 0
    assert "pending" in run("explain", "key", str(key.key_id)).stdout
    unknown = run("explain", "key", str(uuid4()))
    assert (unknown.returncode, "key_unknown" in unknown.stderr) == (3, True)


def test_check_names_what_stands_in_the_way(run: Run, pg_server: PgServer, database_name: str) -> None:
    assert run("check", "operator").returncode == 0
    with psycopg.connect(pg_server.admin_url(database_name), autocommit=True) as connection:
        connection.execute("DELETE FROM pharos.migrations WHERE package = 'central.grants'")
    done = run("check", "operator")
    assert done.returncode == 3
    assert "FAIL  schema" in done.stdout
    assert "pharos-central migrate" in done.stdout
    for words in (("show", "runs"), ("grants", "list"), ("explain", "run", str(uuid4()))):
        told = run(*words)
        assert (told.returncode, told.stdout) == (3, "")
        assert told.stderr.startswith("refused (schema_refused): the schema lacks")


def test_p37_check_names_the_role_a_process_lacks(run: Run, pg_server: PgServer, database_name: str) -> None:
    site_api = pg_server.role_url("pharos_site_api", database_name)
    right = run("check", "site-api", PHAROS_DATABASE_URL_FILE="", PHAROS_DATABASE_URL=site_api)
    assert "pass  role: pharos_site_api" in right.stdout, right.stdout + right.stderr
    wrong = run("check", "site-api")
    assert wrong.returncode == 3
    assert "FAIL  role" in wrong.stdout
    assert "pharos_operator is logged in, who has not the rights of pharos_site_api" in wrong.stdout


def test_migrate_is_done_once(run: Run, pg_server: PgServer) -> None:
    name = f"t_{uuid4().hex[:12]}"
    pg_server.execute(f"CREATE DATABASE {name}")
    try:
        url = {"PHAROS_DATABASE_URL_FILE": "", "PHAROS_DATABASE_URL": pg_server.admin_url(name)}
        early = run("migrate", "--phase", "post", **url)
        first, second = run("migrate", **url), run("migrate", **url)
    finally:
        pg_server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert "central.ssh_access/01_pre_member_keys" in first.stdout.splitlines()
    assert (second.returncode, second.stdout) == (0, "")
    assert "nothing to do" in second.stderr
    assert early.returncode == 3
    assert "run `--phase pre` first" in early.stderr


def test_x1_migrate_without_a_database_is_unavailable_as_every_other_command(run: Run) -> None:
    nobody = "postgresql://u@127.0.0.1:1/nothing"
    done = run("migrate", PHAROS_DATABASE_URL_FILE="", PHAROS_DATABASE_URL=nobody)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("unavailable (database_unavailable): ")


@pytest.mark.parametrize("process", ["site-api", "member-api"])
def test_a_start_on_an_empty_database_is_refused_with_the_remedy(
    process: str, run: Run, pg_server: PgServer, tmp_path: Path
) -> None:
    done = run(
        "serve",
        process,
        PHAROS_DATABASE_URL_FILE="",
        PHAROS_DATABASE_URL=pg_server.admin_url(),
        PHAROS_OIDC_ISSUER="https://issuer.test",
        PHAROS_OIDC_AUDIENCE="pharos",
    )
    assert done.returncode == 3
    assert "pharos-central migrate" in done.stderr
