"""The Site API client against a misbehaving central: three outcomes, no redirect, bounded answers (X1, X4,
I18, K12).
"""

from __future__ import annotations

import http.server
import json
import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.errors import RefusedError, UnavailableError
from site_bundle.kernel.site_api import SiteApi as Client
from site_bundle.kernel.site_api import SiteApiLimits, SiteApiRefusedError, SiteApiUnavailableError
from site_bundle.ssh_access.adapters.site_api_keys import SiteApiKeys
from site_bundle.ssh_access.application.check_self import Grant
from tests.simulators.site_api.server import TOKEN, SiteApi
from tests.site.agent import AgentProcess
from tests.site.keys import K1

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
LIMITS = SiteApiLimits(connect_seconds=5, read_seconds=2, whole_seconds=2, answer_bytes=256 * 1024)


def client(
    api: SiteApi, *, url: str | None = None, token: str = TOKEN, ca_file: Path | None = None
) -> Client:
    return Client(
        origin=url or api.url,
        credential=Credential(value=token),
        ca_file=ca_file or api.ca_file,
        limits=LIMITS,
    )


@pytest.fixture
def keys(site_api: SiteApi) -> Iterator[SiteApiKeys]:
    with closing(client(site_api)) as made:
        yield SiteApiKeys(made)


def grant(api: SiteApi, **more: Any) -> Grant:
    """Asks once with a client of its own."""
    with closing(client(api, **more)) as made:
        return SiteApiKeys(made).grant()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("drop", "site_api_unreachable"),
        ("status:500", "unavailable"),
        ("status:502", "unavailable"),
        ("retry:7", "unavailable"),
        ("html", "answer_malformed"),
        ("encoded", "answer_malformed"),
        ("oversized", "answer_malformed"),
        ("drip:10", "site_api_slow"),
        ("delay:3", "site_api_unreachable"),
        ("body:[]", "answer_malformed"),
        ('body:{"schema":1}', "answer_malformed"),
        ('body:{"schema":2}', "answer_malformed"),
        ('body:{"schema":1,"schema":1}', "answer_malformed"),
    ],
)
def test_unavailable_is_neither_value_nor_absence(
    site_api: SiteApi, keys: SiteApiKeys, fault: str, code: str
) -> None:
    # An idle connection that is dropped is tried once more, so both tries fail here.
    site_api.server.faults.plan("changes", fault, fault)
    with pytest.raises(SiteApiUnavailableError) as caught:
        keys.read(after=0, wait=0, limit=10)
    assert caught.value.code == code, "each has its own limit's code"
    assert caught.value.retry_after == (7 if fault == "retry:7" else 0)
    site_api.server.faults.planned.clear()
    assert keys.read(after=0, wait=0, limit=10).changes == ()


def test_idle_connection_that_was_ended_is_no_fault(site_api: SiteApi, keys: SiteApiKeys) -> None:
    keys.read(after=0, wait=0, limit=10)
    site_api.server.cut()
    time.sleep(0.1)
    assert keys.read(after=0, wait=0, limit=10).changes == ()


def test_s10_calls_at_once_keep_as_many_connections_and_each_may_have_ended(
    site_api: SiteApi, keys: SiteApiKeys
) -> None:
    before = len(site_api.server.connections)
    for _ in range(2):
        with ThreadPoolExecutor(3) as pool:
            assert len(list(pool.map(lambda n: keys.read(after=0, wait=0, limit=n), range(1, 31)))) == 30
        assert len(site_api.server.connections) - before <= 3
        site_api.server.cut()
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("redirect", 307, "site_api_redirect"),
        ("status:400", 400, "unavailable"),
        ("status:404", 404, "unavailable"),
    ],
)
def test_definite_answers(site_api: SiteApi, keys: SiteApiKeys, fault: str, status: int, code: str) -> None:
    site_api.server.faults.plan("changes", fault)
    with pytest.raises(SiteApiRefusedError) as caught:
        keys.read(after=0, wait=0, limit=10)
    assert (caught.value.status, caught.value.code) == (status, code)


def test_K12_token_goes_to_no_other_host(site_api: SiteApi, keys: SiteApiKeys) -> None:
    seen = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))

    other = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    site_api.server.faults.plan("changes", f"redirect:http://127.0.0.1:{other.server_address[1]}/")
    with pytest.raises(SiteApiRefusedError):
        keys.read(after=0, wait=0, limit=10)
    other.shutdown()
    other.server_close()
    assert seen == []


def test_proxies_of_the_environment_are_not_asked(
    site_api: SiteApi, keys: SiteApiKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert keys.read(after=0, wait=0, limit=10).changes == ()


def test_wrong_token_is_refused_and_not_shown(site_api: SiteApi) -> None:
    with pytest.raises(SiteApiRefusedError) as caught:
        grant(site_api, token="phs1_wrong")
    assert (caught.value.status, caught.value.code) == (401, "unauthenticated")
    assert "phs1_wrong" not in str(caught.value)


def test_grant(site_api: SiteApi, keys: SiteApiKeys) -> None:
    site_api.server.expires_at = "2027-01-01T00:00:00Z"
    found = keys.grant()
    assert (found.site, found.scopes) == ("slurm", frozenset({"ssh-access"}))
    assert found.expires_at is not None
    assert found.expires_at.year == 2027


def test_certificate_of_another_authority(site_api: SiteApi, tmp_path: Path) -> None:
    other = ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"
    if not Path(other).exists():
        pytest.fail("no system store: install ca-certificates")
    with pytest.raises(SiteApiUnavailableError) as caught:
        grant(site_api, ca_file=Path(other))
    assert caught.value.code == "site_api_tls"


def test_certificate_of_another_name(site_api: SiteApi) -> None:
    with pytest.raises(SiteApiUnavailableError) as caught:
        grant(site_api, url=f"https://localhost:{site_api.port}")
    assert caught.value.code == "site_api_tls"


def test_ca_file_that_is_missing_or_empty(site_api: SiteApi, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    for path in (tmp_path / "missing", tmp_path / "empty"):
        with pytest.raises(UnavailableError) as caught:
            grant(site_api, ca_file=path)
        assert caught.value.code == "ca_file_unreadable"


def _writable(path: Path) -> Path:
    path.chmod(0o666)
    return path


def _group_writable(path: Path) -> Path:
    path.chmod(0o664)
    return path


def _link(path: Path) -> Path:
    link = path.with_name("link.crt")
    link.symlink_to(path)
    return link


def _folder_link(path: Path) -> Path:
    link = path.parent.with_name("link")
    link.symlink_to(path.parent)
    return link / path.name


def _folder_writable(path: Path) -> Path:
    path.parent.chmod(0o777)
    return path


def _foreign(path: Path) -> Path:
    os.chown(path, 65534, 65534)
    return path


def _fifo(path: Path) -> Path:
    path.unlink()
    os.mkfifo(path, 0o644)
    return path


SPOILT = [_writable, _group_writable, _link, _folder_link, _folder_writable, _fifo]


@pytest.mark.parametrize("spoil", [*SPOILT, pytest.param(_foreign, marks=ROOT_ONLY)])
def test_I18_ca_file_others_may_change_is_not_trusted(
    site_api: SiteApi, tmp_path: Path, spoil: Callable[[Path], Path]
) -> None:
    """Who can change it can be the Site API and learn the token: nothing is sent."""
    path = tmp_path / "pki" / "ca.crt"
    path.parent.mkdir(mode=0o755)
    path.write_bytes(site_api.ca_file.read_bytes())
    path.chmod(0o644)
    assert grant(site_api, ca_file=path).site == "slurm"
    before = list(site_api.server.requests)
    with pytest.raises(RefusedError) as caught:
        grant(site_api, ca_file=spoil(path))
    assert caught.value.code == "ca_file_untrusted"
    assert site_api.server.requests == before


def test_I18_doctor_fails_for_a_ca_file_others_may_change(agent: AgentProcess, tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(agent.site_api.ca_file.read_bytes())
    path.chmod(0o666)
    done = agent.ask("doctor", "--json", PHAROS_SITE_API_CA_FILE=str(path))
    check = next(item for item in json.loads(done.stdout)["checks"] if item["id"] == "site_api")
    assert (done.returncode, check["status"]) == (3, "fail")
    assert f"{path} has mode 0666" in check["found"]


def test_ca_file_with_comments_in_any_language(site_api: SiteApi, tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes("# Büro\n".encode() + b"\xff\n" + site_api.ca_file.read_bytes())
    assert grant(site_api, ca_file=path).site == "slurm"


def test_plain_http_behind_an_https_origin(site_api: SiteApi) -> None:
    plain = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=plain.serve_forever, args=(0.02,), daemon=True).start()
    with pytest.raises(SiteApiUnavailableError):
        grant(site_api, url=f"https://127.0.0.1:{plain.server_address[1]}")
    plain.shutdown()
    plain.server_close()


def test_answer_to_another_question(site_api: SiteApi, keys: SiteApiKeys) -> None:
    body = {
        "schema": 1,
        "site": "slurm",
        "feed": site_api.history.feed,
        "after": 5,
        "changes": [],
        "next": 5,
        "more": False,
    }
    site_api.server.faults.plan("changes", f"body:{json.dumps(body)}")
    with pytest.raises(SiteApiUnavailableError) as caught:
        keys.read(after=0, wait=0, limit=10)
    assert caught.value.code == "answer_malformed"


# The same through the whole agent.

QUICK = json.dumps(
    {"limits": {"central_retry_seconds": 0.3, "first_retry_seconds": 0.1, "refused_retry_seconds": 0.3}}
)


@pytest.mark.slapd
def test_each_fault_in_turn_and_every_key_once(agent: AgentProcess) -> None:
    api = agent.site_api
    api.server.faults.plan(
        "changes", "drop", "status:503", "html", "oversized", "redirect", "encoded", "lose", "body:{}"
    )
    api.server.faults.plan("results", "drop", "status:500", "lose", "html", "status:409", "redirect")
    key = api.history.present(K1, agent.slapd.target("alice"))
    agent.start(module="tests.site.driven_agent", DRIVE=QUICK)
    agent.wait_until(
        lambda: "report_received" in agent.log() and not api.server.faults.planned, "the end of faults"
    )
    agent.outcome(key, "applied")
    agent.wait_ready()
    assert agent.slapd.values("alice") == [K1.encode()]


@pytest.mark.slapd
def test_central_restarts_under_a_parked_poll(agent: AgentProcess) -> None:
    api = agent.site_api
    agent.start(module="tests.site.driven_agent", DRIVE=QUICK)
    agent.wait_ready()
    agent.wait_until(lambda: api.server.parked == 1, "a parked poll")
    with api.away():
        agent.wait_until(lambda: (agent.status() or {}).get("state") == "degraded", "degraded")
    key = api.history.present(K1, agent.slapd.target("alice"))
    agent.outcome(key, "applied")
    agent.wait_ready()


@pytest.mark.slapd
def test_retry_after_is_obeyed(agent: AgentProcess) -> None:
    api = agent.site_api
    api.server.faults.plan("changes", "retry:600")
    agent.start(module="tests.site.driven_agent", DRIVE=QUICK)
    agent.wait_until(lambda: (agent.status() or {}).get("lastErrors", {}).get("site_api"), "the refusal")
    before = len(api.server.requests)
    time.sleep(1)
    assert len(api.server.requests) == before, "by its own back-off it had asked three times"


@pytest.mark.slapd
def test_unknown_and_stale_receipts_do_not_spin(agent: AgentProcess) -> None:
    """`stale` because a later observation stands (a clock that went back): decided anew, reported with
    back-off.
    """
    api = agent.site_api
    key = api.history.present(K1, agent.slapd.target("alice"))
    change = api.history.changes[key]["changeId"]
    known = {"changeId": change, "keyId": key, "outcome": "pending", "code": "x"}
    api.history.results[change] = (datetime.now(UTC) + timedelta(hours=1), known)
    agent.start(module="tests.site.driven_agent", DRIVE=QUICK)
    agent.wait_until(lambda: len(api.history.reports) >= 2, "reported again")
    api.history.results[change] = (datetime.now(UTC) - timedelta(hours=1), known)
    agent.outcome(key, "applied")
    assert len(api.history.reports) <= 60
    bob = agent.slapd.target("bob")
    with api.history.changed:  # nobody is answered before both are forgotten
        other = api.history.present(K1, bob)
        api.history.known.clear()
    agent.wait_until(lambda: " unknown=1" in agent.log(), "told")
    assert api.history.outcome(other) is None
    reports = len(api.history.reports)
    time.sleep(1)
    assert len(api.history.reports) == reports
