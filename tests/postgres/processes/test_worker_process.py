"""`pharos-central work provisioning`: two replicas keep the view, say so, and end when told (P14, P20, O3,
X9).
"""

from __future__ import annotations

import json

from central.kernel.database import Database, DatabaseOptions
from central.projects.adapters.postgres_view import PostgresView
from central.projects.domain.ids import Scope
from tests.postgres.kernel.waiting import until
from tests.postgres.processes.rig import Programs, beto_at, get, ports


def scopes(programs: Programs) -> dict[str, str]:
    """Scope → phase, as the operator sees it."""
    shown = programs.run(programs.owner(), "view", "list", "--json")
    return {scope["scope"]: scope["phase"] for scope in json.loads(shown.stdout)["scopes"]}


def test_o3_two_replicas_keep_the_view_and_end_when_told(programs: Programs) -> None:
    programs.administer()
    one, two = ports(2)
    command = ("work", "provisioning")
    with beto_at(programs), programs.serving(programs.worker(one), one, *command) as log:
        with programs.serving(programs.worker(two), two, *command):
            until(lambda: set(scopes(programs).values()) == {"current"})
            until(lambda: 'pharos_view_current{scope="projects"} 1.0' in get(two, "/metrics")[1])
        assert get(one, "/healthz")[0] == 200
        assert get(one, "/v1/site/ssh-access/grant")[0] == 404
        events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
        assert {"serving", "view_pass"} <= set(events)


def test_p20_a_start_without_betos_scope_is_refused_with_the_remedy(programs: Programs) -> None:
    (port,) = ports(1)
    done = programs.tried(programs.worker(port), "work", "provisioning")
    assert done.returncode == 3
    assert "not enrolled to consume at resource_provisioning.project-changed" in done.stderr
    assert "run `pharos-central broker administer`" in done.stderr
    failed = programs.tried(programs.worker(port), "check", "provisioning-worker")
    assert failed.returncode == 3
    assert failed.stdout.count("FAIL  broker") == 2
    programs.administer()
    passed = programs.run(programs.worker(port), "check", "provisioning-worker")
    assert passed.stdout.count("pass  broker") == 2, passed.stdout


def test_p14_a_restored_beto_is_accepted_by_an_operator_alone(programs: Programs) -> None:
    programs.administer()
    (port,) = ports(1)
    worker = programs.worker(port), port, "work", "provisioning"
    with beto_at(programs) as (beto, _):
        beto.truth.position = 10
        with programs.serving(*worker):
            until(lambda: set(scopes(programs).values()) == {"current"})
            for more in ((), ("--dry-run",)):
                healthy = programs.tried(programs.owner(), "view", "accept-restored", "projects", *more)
                assert (healthy.returncode, "nothing_to_accept" in healthy.stderr) == (3, True), (
                    healthy.stderr
                )
            assert set(scopes(programs).values()) == {"current"}, "a healthy scope is left alone"
    with Database(DatabaseOptions(programs.server.admin_url(programs.database))) as database:
        PostgresView(database).refuse(Scope.PROJECTS, 3)
    assert "went back to 3" in programs.run(programs.owner(), "view", "list").stdout
    dry = programs.run(programs.owner(), "view", "accept-restored", "projects", "--dry-run")
    assert dry.stdout.startswith("would accept: projects current at 10, Beto at 3"), dry.stdout + dry.stderr
    done = programs.run(programs.owner(), "view", "accept-restored", "projects")
    assert done.stdout.startswith("projects diverged: accepted."), done.stderr
    assert "until the provisioning worker has repaired it" in done.stdout
    assert scopes(programs) == {"projects": "diverged", "parties": "current", "authorities": "current"}
