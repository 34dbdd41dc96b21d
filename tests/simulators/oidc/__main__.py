"""Runs the issuer until SIGTERM or SIGINT; prints one JSON line `{"issuer": …}` once it listens."""

import argparse
import json
import os
import signal
import ssl
import sys
import threading
from pathlib import Path

from tests.simulators.oidc.issuer import Issuer, SigningKey, load_or_make
from tests.simulators.oidc.server import IssuerServer

WARNING = """\
******************************************************************************
* DEVELOPMENT STAND-IN: this OIDC issuer gives anybody who asks a token for  *
* any member. It listens on loopback only. Never point a real service at it. *
******************************************************************************"""


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulators.oidc", description=__doc__)
    parser.add_argument(
        "--listen", default="127.0.0.1:0", help="ADDRESS:PORT on loopback; port 0 takes a free one"
    )
    parser.add_argument("--audience", default="pharos", help="the audience of minted tokens")
    parser.add_argument("--keys", type=Path, help="file of signing keys, made at the first start")
    parser.add_argument("--tls-certificate", type=Path, help="PEM chain; the issuer is then https")
    parser.add_argument("--tls-key", type=Path, help="PEM private key of --tls-certificate")
    parser.add_argument("--tls-name", default="localhost", help="host name in the issuer's URL under TLS")
    parser.add_argument("--client-secret-file", type=Path, help="secret of the client pharos-central")
    parser.add_argument(
        "--slurm-audience", action="append", default=[], metavar="AUDIENCE",
        help="an audience of token exchange with a key set of its own, at /slurm/AUDIENCE/jwks",
    )  # fmt: skip
    parser.add_argument("--parent", type=int, help="end when this process is no longer the parent")
    return parser.parse_args(argv)


def slurm_key(keys: Path | None, audience: str) -> SigningKey:
    """The key of one Slurm, kept beside the issuer's own; an audience is a plain name."""
    if not audience.replace("-", "").replace(".", "").isalnum():
        raise SystemExit(f"--slurm-audience {audience}: letters, digits, . and - only")
    return load_or_make(keys and keys.with_name(f"{keys.name}.{audience}"))[0]


def main(argv: list[str]) -> int:
    """Serves until told to stop."""
    options = arguments(argv)
    host, _, port = options.listen.rpartition(":")
    if host not in ("127.0.0.1", "[::1]", "localhost"):
        print(f"--listen {options.listen}: a stand-in listens on loopback only", file=sys.stderr)
        return 2
    secret = options.client_secret_file
    issuer = Issuer(
        url="",
        audience=options.audience,
        keys=load_or_make(options.keys),
        client_secret=secret.read_text(encoding="ascii").strip() if secret else None,
        slurm_keys={each: slurm_key(options.keys, each) for each in options.slurm_audience},
    )
    with IssuerServer((host, int(port)), issuer) as server:
        bound = server.server_address[1]
        if options.tls_certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(options.tls_certificate, options.tls_key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            issuer.url = f"https://{options.tls_name}:{bound}"
        else:
            issuer.url = f"http://{host}:{bound}"
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(WARNING, file=sys.stderr, flush=True)
        print(json.dumps({"issuer": issuer.url, "developmentStandIn": True}), flush=True)
        while not stop.wait(1.0):
            if options.parent is not None and os.getppid() != options.parent:
                break
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
