"""The page as an operator starts it: checked, served on loopback, refused anywhere else (O1, X6)."""

from __future__ import annotations

from tests.html import faults, words
from tests.postgres.processes.rig import Programs, get, ports, programs

__all__ = ["programs"]


def test_o1_checked_and_served_as_a_role_that_only_reads(programs: Programs) -> None:
    (port,) = ports(1)
    environment = {
        "PHAROS_DATABASE_URL_FILE": programs.url("pharos_overview"),
        "PHAROS_SITES": "slurm,k8s",
        "PHAROS_OVERVIEW_LISTEN": f"127.0.0.1:{port}",
    }
    assert "FAIL" not in programs.run(environment, "check", "overview").stdout
    anywhere = environment | {"PHAROS_OVERVIEW_LISTEN": f"0.0.0.0:{port}"}
    refused = programs.tried(anywhere, "serve", "overview")
    assert refused.returncode == 2
    assert "PHAROS_OVERVIEW_LISTEN: wanted a loopback ADDRESS:PORT" in refused.stderr
    with programs.serving(environment, port, "serve", "overview") as log:
        status, text = get(port, "/")
        assert (status, faults(text)) == (200, [])
        assert "Site slurm" in words(text)
        assert "Site k8s" in words(text)
        assert get(port, "/", {"Host": f"rebound.example:{port}"})[0] == 421
        assert 'route="/"' in get(port, "/metrics")[1]
    assert "Traceback" not in log.read_text()
