"""Who the process is: root gives itself up for the component's user before it asks anything (I7, X5)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest

from site_bundle.directory.connection import DirectoryLimits, LdapiConnection
from site_bundle.directory.errors import DirectoryUnavailableError
from tests.site.agent import AgentProcess
from tests.site.identities import NOBODY, ROOT_ONLY, open_to_all
from tests.site.slapd import IDENTITY

pytestmark = pytest.mark.slapd


@ROOT_ONLY
def test_doctor_as_root_asks_as_the_components_user(agent: AgentProcess) -> None:
    """slapd sees the owner of the state folder, not root; the token was read before."""
    os.chown(agent.state, NOBODY, NOBODY)
    agent.slapd.folder.chmod(0o755)
    agent.token_file.chmod(0o600)
    open_to_all(agent.folder)
    open_to_all(agent.site_api.ca_file.parent)
    done = agent.ask("doctor", "--json")
    assert done.stdout, done.stderr
    checks = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    assert f"uidNumber={NOBODY}" in checks["directory_identity"]["found"]
    assert checks["directory_identity"]["status"] == "fail"
    assert checks["site_api"]["status"] == "pass", checks["site_api"]


@ROOT_ONLY
def test_accept_feed_as_root_writes_as_the_components_user(agent: AgentProcess) -> None:
    """A link planted in the state folder is not followed by root."""
    os.chown(agent.state, NOBODY, NOBODY)
    open_to_all(agent.folder)
    victim = agent.folder / "victim"
    victim.write_text("root's")
    (agent.state / "journal.sqlite.lock").symlink_to(victim)
    done = agent.ask("accept-feed", "00000000-0000-4000-8000-000000000001")
    assert done.returncode == 3
    assert "journal_unreachable" in done.stderr
    (agent.state / "journal.sqlite.lock").unlink()
    done = agent.ask("accept-feed", "00000000-0000-4000-8000-000000000001")
    assert "feed_not_current" in done.stderr
    assert {path.stat().st_uid for path in agent.state.iterdir()} == {NOBODY}
    assert victim.read_text() == "root's"


def test_request_unwritten_is_said(agent: AgentProcess) -> None:
    agent.start()
    agent.wait_ready()
    # A folder in the place of the request: nobody can write a file there.
    (agent.state / "accept-feed").mkdir()
    (agent.state / "accept-feed" / "x").touch()
    assert agent.process is not None
    agent.process.send_signal(19)
    done = agent.ask("accept-feed", "00000000-0000-4000-8000-000000000001")
    agent.process.send_signal(18)
    shutil.rmtree(agent.state / "accept-feed")
    assert done.returncode == 3
    assert "request_unwritten" in done.stderr


def test_feed_malformed_is_usage(agent: AgentProcess) -> None:
    done = agent.ask("accept-feed", "nonsense")
    assert (done.returncode, "feed_malformed" in done.stderr) == (2, True)


def bind_response(request: bytes, result: int) -> bytes:
    """RFC 4511, 4.2.2: the request's message id, the result code, no DN, no text."""
    message_id = request[2 : 4 + request[3]]
    body = message_id + bytes([0x61, 7, 10, 1, result, 4, 0, 4, 0])
    return bytes([0x30, len(body)]) + body


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        # authMethodNotSupported, inappropriateAuthentication; then no LDAP at all.
        (7, "directory_bind_refused"),
        (48, "directory_bind_refused"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "directory_unreachable"),
        (b"", "directory_unreachable"),
    ],
)
def test_server_that_offers_no_external(answer: int | bytes, code: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="ldapi-", dir="/tmp"))  # short: a socket's path has 107 bytes
    path = folder / "ldapi"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            channel, _ = server.accept()
            with channel:
                request = channel.recv(4096)
                # The answer bears the request\'s message id.
                channel.sendall(bind_response(request, answer) if isinstance(answer, int) else answer)

        thread = threading.Thread(target=serve)
        thread.start()
        limits = DirectoryLimits(connect_seconds=2, answer_seconds=2)
        connection = LdapiConnection(socket_path=path, identity=IDENTITY, limits=limits)
        with pytest.raises(DirectoryUnavailableError) as caught:
            connection.ensure_bound()
        thread.join(60)
    shutil.rmtree(folder)
    assert caught.value.code == code, repr(caught.value.__cause__)
