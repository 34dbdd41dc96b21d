"""One HTTP process under gunicorn, as it runs in production (X13; F10, G02–G06)."""

import itertools
import json
import os
import signal
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import urllib3

from central.kernel.serving import ServingOptions, gunicorn_settings, site_api_threads
from tests.postgres.kernel.serving_rig import Running, Start, certificate
from tests.postgres.kernel.waiting import NEVER, done, until


def in_progress(running: Running) -> float:
    text = running.get("/metrics").data.decode()
    return float(
        next(line for line in text.splitlines() if line.startswith("pharos_http_in_progress ")).split()[1]
    )


def test_x13_beside_72_parked_polls_health_and_writes_answer(start: Start, kernel_url: str) -> None:
    """Health answers while every poll is parked; the write wakes them long before their own deadline."""
    running = start(threads=site_api_threads(sites=18, pollers=4))
    with ThreadPoolExecutor(72) as polls:
        parked = [polls.submit(running.get, "/poll?wait=600") for _ in range(72)]
        until(lambda: in_progress(running) >= 73)
        with psycopg.connect(kernel_url) as admin:
            row = admin.execute(
                "SELECT count(*), count(*) FILTER (WHERE application_name = 'pharos-listen')"
                " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()
        assert row is not None
        assert row[0] <= 5
        assert row[1] == 1
        assert running.get("/healthz").status == 200
        assert running.get("/readyz").status == 200
        assert not any(poll.done() for poll in parked)
        assert running.post("/write").status == 200
        assert [answer.json() for answer in done(parked)] == [{"changed": True}] * 72


def test_g03_sigterm_answers_parked_polls_and_slow_requests_and_refuses_new_ones(start: Start) -> None:
    running = start(threads=16)
    with ThreadPoolExecutor(8) as pool:
        polls = [pool.submit(running.get, "/poll?wait=600") for _ in range(4)]
        slow = [pool.submit(running.get, "/slow") for _ in range(2)]
        until(lambda: in_progress(running) >= 7)
        running.process.send_signal(signal.SIGTERM)
        assert [poll.status for poll in done(polls)] == [200] * 4
        assert not any(one.done() for one in slow), "polls wait for no request in hand"
        running.gate.touch()
        assert [one.status for one in done(slow)] == [200] * 2
        assert {one.result().headers["Connection"] for one in slow} == {"close"}
        assert running.process.wait(NEVER) == 0
    with pytest.raises(urllib3.exceptions.HTTPError):
        running.get("/healthz")
    assert running.lines()[-1]["event"] == "stopped"


def test_g02_a_worker_that_dies_mid_request_rolls_back_and_the_retry_gives_one_result(
    start: Start, kernel_url: str
) -> None:
    running = start(workers=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(running.post, "/held?wait=600", {"id": 1})
        until(lambda: in_progress(running) >= 2)
        worker = running.get("/worker").json()["pid"]
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(urllib3.exceptions.HTTPError):
            first.result(NEVER)
    until(lambda: _answers(running))
    with psycopg.connect(kernel_url) as admin:
        assert admin.execute("SELECT count(*) FROM public.notes").fetchone() == (0,)
    assert running.post("/held", {"id": 1}).json() == {"added": 1}
    assert running.post("/held", {"id": 1}).json() == {"added": 0}


def _answers(running: Running) -> bool:
    try:
        return running.get("/healthz").status == 200
    except urllib3.exceptions.HTTPError:
        return False


def test_f10_each_worker_opens_its_own_pool_after_the_fork(start: Start, kernel_url: str) -> None:
    running = start(workers=3, threads=4)
    until(lambda: sum(line["event"] == "serving" for line in running.lines()) == 3)
    pids: set[int] = set()
    # Who takes a connection is the kernel's choice: as many as it takes for a second worker to have one.
    for number in itertools.takewhile(lambda n: n < 200 or (len(pids) < 2 and n < 20_000), itertools.count()):
        one = urllib3.HTTPConnectionPool("127.0.0.1", running.port, retries=False)
        assert one.request("POST", "/held", json={"id": number % 50}).status == 200
        pids.add(one.request("GET", "/worker").json()["pid"])
        one.close()
    assert len(pids) > 1
    assert running.process.pid not in pids
    assert running.stop() == 0
    assert "bad record mac" not in running.log.read_text()
    with psycopg.connect(kernel_url) as admin:
        assert admin.execute("SELECT count(*) FROM public.notes").fetchone() == (50,)


POST = b"POST /held HTTP/1.1\r\nHost: x\r\n"
BROKEN = {
    "both_lengths": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "comma": POST + b"Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
    "vertical_tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "two_lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    "plus_length": POST + b"Content-Length: +2\r\n\r\n{}",
    "folded": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    "space_before_colon": b"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n",
    "bare_garbage": b"\x00\x01\x02\r\n\r\n",
    "no_host": b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
    "two_hosts": b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
    "lower_method": b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
}


def test_g04_http_that_two_readers_read_differently_is_refused_once(start: Start) -> None:
    """Each followed by a good request, which is not seen."""
    running = start()
    good = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    found = {case: _refused(running.raw(request + good)) for case, request in BROKEN.items()}
    assert found == {case: [(b"HTTP/1.1 4", True, True, "request_malformed")] for case in BROKEN}


def _refused(received: bytes) -> list[tuple[bytes, bool, bool, str]]:
    """Of each answer: its class, whether it closes, whether it is a problem document, its code."""
    answers = []
    for answer in received.split(b"HTTP/1.1 ")[1:]:
        head, _, body = answer.partition(b"\r\n\r\n")
        closes, problem = b"Connection: close" in head, b"application/problem+json" in head
        answers.append((b"HTTP/1.1 " + head[:1], closes, problem, str(json.loads(body).get("code"))))
    return answers


def test_g04_too_large_a_head_is_a_document_too(start: Start) -> None:
    running = start()
    long = running.raw(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert long.startswith(b"HTTP/1.1 414 ")
    assert b'"code":"uri_too_long"' in long
    many = running.raw(b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % n for n in range(100)) + b"\r\n")
    assert many.startswith(b"HTTP/1.1 431 ")
    assert b'"code":"headers_too_large"' in many


def test_g05_g06_no_header_and_no_variable_changes_route_scheme_or_peer(start: Start) -> None:
    running = start()
    seen = running.get(
        "/seen",
        X_Forwarded_Proto="https",
        Script_Name="/x",
        X_Test="1",
        **{"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.9.8.7", "SCRIPT_NAME": "/x"},
    ).json()
    assert seen["script"] == ""
    assert seen["scheme"] == "http"
    assert seen["peer"] == "127.0.0.1"
    assert "HTTP_X_TEST" not in seen["underscored"]
    assert running.get("/x/seen", Script_Name="/x", **{"Script-Name": "/x"}).status == 404
    assert running.lines()[-1]["peer"] == "127.0.0.1"


def test_x4_a_broken_off_body_is_no_500(start: Start) -> None:
    running = start()
    head = b"POST /held HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=NEVER) as connection:
        connection.sendall(head + b'{"id"')
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")


def test_slow_uploads_do_not_stop_the_service(start: Start) -> None:
    """An answer comes while they still hold their threads."""
    running = start(threads=8, receive=600)
    uploads = []
    for _ in range(4):
        connection = socket.create_connection(("127.0.0.1", running.port), timeout=NEVER)
        connection.sendall(
            b"POST /held HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        uploads.append(connection)
    assert running.get("/healthz").status == 200
    for connection in uploads:
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv(1)
        connection.close()


def test_i18_tls_by_our_certificate_and_no_older_protocol(start: Start, tmp_path: Path) -> None:
    certificate(tmp_path)
    running = start(tls=tmp_path)
    pool = urllib3.PoolManager(ca_certs=str(tmp_path / "cert.pem"), retries=False)
    answered = pool.request("GET", f"https://127.0.0.1:{running.port}/seen")
    assert answered.json()["scheme"] == "https"
    pool.clear()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(tmp_path / "cert.pem")
    assert _handshake(running.port, old) in {"TLSv1.2", "TLSv1.3"}
    settings = gunicorn_settings(ServingOptions("h", 1, threads=1))
    assert settings["ssl_context"](None, lambda: old).minimum_version == ssl.TLSVersion.TLSv1_2
    assert running.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") == b""
    assert running.stop() == 0


def _handshake(port: int, context: ssl.SSLContext) -> str | None:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=NEVER) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped,
    ):
        return wrapped.version()


def test_x9_a_worker_that_cannot_be_built_ends_the_process_with_an_error(
    start: Start, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="did not listen"):
        start(tls=tmp_path / "nothing")


def test_x9_nothing_but_structured_lines_is_logged(start: Start) -> None:
    running = start()
    running.get("/nothing")
    running.raw(b"\x00\r\n\r\n")
    assert running.stop() == 0
    plain = [line for line in running.log.read_text().splitlines() if not line.startswith("{")]
    assert plain == []
    assert not (running.log.parent / ".gunicorn").exists(), "no control socket"


def test_threads_are_sites_times_pollers_and_sixteen() -> None:
    assert site_api_threads(sites=18, pollers=4) == 88
