"""The Git server as a process: `python -m tests.simulators.git --folder DIR --tls-certificate … --tls-key …`.

A development stand-in (X8). It prints one JSON line `{"url": …, "credentialsUrl": …}` once it listens, then
reads one command a line from standard input, each answered with one line of JSON, until standard input ends;
with `--parent` it reads nothing and ends with that process, or when told to.
With `--credentials-token-file` it gives out credentials of its own (`tests/simulators/git/credentials.py`).

    {"act": "create", "repository": "demo/work.git"}
    {"act": "grant", "username": …, "password": …, "repository": …, "seconds": 600, "writes": ["refs/…"]}
    {"act": "revoke", "username": …}
    {"act": "refs", "repository": …}
    {"act": "asked"}
    {"act": "faults", "status": 503, "times": 2}        any of Faults' fields; none: all is well again
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.simulators.git.credentials import CredentialServer, giving
from tests.simulators.git.server import GitServer
from tests.simulators.git.server_state import Credential, Faults, Repositories
from tests.simulators.git.serving import serving


def obey(repositories: Repositories, command: dict[str, Any]) -> dict[str, Any]:
    """Does one command. Raises `ValueError`, `KeyError` or `TypeError` for one that cannot be done."""
    act = command.pop("act", None)
    if act == "create":
        return {"path": str(repositories.create(command["repository"]))}
    if act == "grant":
        expires = time.time() + float(command.pop("seconds"))
        writes = tuple(command.pop("writes", ()))
        repositories.grant(Credential(expires=expires, writes=writes, **command))
        return {}
    if act == "revoke":
        repositories.revoke(command["username"])
        return {}
    if act == "refs":
        return {"refs": repositories.refs(command["repository"])}
    if act == "asked":
        return {"asked": [asdict(each) for each in repositories.asked()]}
    if act == "faults":
        repositories.faults = Faults(**command)
        return {}
    raise ValueError("no such act; known: create, grant, revoke, refs, asked, faults")


def _listen(server: GitServer, credentials: CredentialServer | None, parent: int | None) -> None:
    told = {"url": server.url, "credentialsUrl": credentials.url if credentials else None}
    print(json.dumps(told | {"developmentStandIn": True}), flush=True)
    if parent is not None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while not stop.wait(1.0) and os.getppid() == parent:
            pass
        return
    for line in sys.stdin:
        try:
            done = obey(server.repositories, json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            done = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(done), flush=True)


def _act(repositories: Repositories, given: argparse.Namespace) -> int:
    """What needs no server: one act, its outcome as one line of JSON."""
    try:
        if given.refs:
            done: dict[str, Any] = {"refs": repositories.refs(given.refs)}
        else:
            repositories.create(given.create)
            done = {"commit": repositories.commit(given.create, given.source)}
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(done))
    return 0


def main(argv: list[str]) -> int:
    """Serves until standard input ends."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulators.git",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, required=True, help="where the bare repositories lie")
    parser.add_argument("--listen", default="127.0.0.1:0", help="ADDRESS:PORT; port 0 takes a free one")
    parser.add_argument("--tls-certificate", type=Path, help="PEM chain")
    parser.add_argument("--tls-key", type=Path, help="PEM private key")
    parser.add_argument("--create", metavar="NAME", help="serve nothing: make a repository with one commit")
    parser.add_argument("--from", dest="source", type=Path, help="a folder: the files of that commit")
    parser.add_argument("--refs", metavar="NAME", help="serve nothing: print a repository's refs")
    parser.add_argument("--tls-name", default="localhost", help="the host its clients name")
    parser.add_argument("--credentials-token-file", type=Path, help="who may ask for credentials")
    parser.add_argument("--credentials-listen", default="127.0.0.1:0", help="ADDRESS:PORT on loopback")
    parser.add_argument("--parent", type=int, help="end when this process is no longer the parent")
    given = parser.parse_args(argv)
    if given.create or given.refs:
        return _act(Repositories(given.folder), given)
    if given.tls_certificate is None or given.tls_key is None:
        parser.error("--tls-certificate and --tls-key are needed to serve")
    host, _, port = given.listen.rpartition(":")
    given.folder.mkdir(parents=True, exist_ok=True)
    print("git: a DEVELOPMENT STAND-IN, not a real Git host", file=sys.stderr)
    with (
        serving(
            given.folder, given.tls_certificate, given.tls_key, address=(host, int(port)), name=given.tls_name
        ) as server,
        ExitStack() as held,
    ):
        credentials = None
        if given.credentials_token_file is not None:
            token = given.credentials_token_file.read_text(encoding="ascii").strip()
            at, _, credentials_port = given.credentials_listen.rpartition(":")
            credentials = held.enter_context(giving(server, token, (at, int(credentials_port))))
        _listen(server, credentials, given.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
