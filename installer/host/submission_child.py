"""Run as the runtime's user: does ``sbatch`` keep the token it submits with out of the job (S2)?

``python -I -m installer.host.submission_child`` reads ``{"sbatch": PATH}`` from stdin and writes one JSON
object: what two submissions would have sent, each to a listener of this process instead of the controller.
Nothing reaches Slurm, and the token is a word that opens nothing. sbatch packs a job's environment as plain
``NAME=value`` (seen with 24.11); the token itself stands in the request's header too, so only the pair is
looked for.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PLANTED = "planted.planted.planted"
MARK = "PHAROS_PROBE=1"
_LEAK = b"SLURM_JWT="
_LIMIT = 1 << 20
_SECONDS = 8.0
_CONFIGURATION = """\
ClusterName=probe
SlurmctldHost=localhost
SlurmctldPort={port}
AuthType=auth/munge
AuthAltTypes=auth/jwt
MessageTimeout=5
NodeName=probe
PartitionName=probe Nodes=probe
"""


def main() -> int:
    """Both submissions; always 0, the answer says what was seen."""
    sbatch = str(json.load(sys.stdin)["sbatch"])
    answer = {"usual": _submitted(sbatch, safe=False), "safe": _submitted(sbatch, safe=True)}
    json.dump(answer, sys.stdout)
    return 0


def _submitted(sbatch: str, *, safe: bool) -> dict[str, object]:
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory() as folder:
        heard: list[bytes] = []
        server = threading.Thread(target=_listen, args=(listener, heard), daemon=True)
        server.start()
        configuration = Path(folder) / "slurm.conf"
        configuration.write_text(_CONFIGURATION.format(port=listener.getsockname()[1]), encoding="ascii")
        words = _run(sbatch, configuration, safe=safe)
        listener.shutdown(socket.SHUT_RDWR)
        server.join(_SECONDS)
    sent = b"".join(heard)
    return {
        "heard": bool(sent),
        "token": _LEAK in sent,
        "environment": MARK.encode() in sent,
        "words": words,
    }


def _run(sbatch: str, configuration: Path, *, safe: bool) -> str:
    """What sbatch said, its last line; it always fails here."""
    read, write = os.pipe()
    os.write(write, MARK.encode() + b"\0")
    os.close(write)
    name, _, value = MARK.partition("=")
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "SLURM_CONF": str(configuration),
        "SLURM_JWT": PLANTED,
        name: value,
    }
    export = f"--export-file={read}" if safe else f"--export={name}"
    try:
        done = subprocess.run(
            [sbatch, export, "--chdir=/", "--wrap=true"],
            env=environment,
            pass_fds=(read,),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{sbatch}: {type(error).__name__}"
    finally:
        os.close(read)
    return (done.stderr.strip().splitlines() or ["no word"])[-1][:200]


def _listen(listener: socket.socket, heard: list[bytes]) -> None:
    """Takes whole messages, each preceded by its length in four bytes, and answers none."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(_SECONDS)
            heard.append(_message(connection))


def _message(connection: socket.socket) -> bytes:
    data = b""
    try:
        while len(data) < 4 or len(data) < min(4 + int.from_bytes(data[:4], "big"), _LIMIT):
            more = connection.recv(65536)
            if not more:
                break
            data += more
    except OSError:
        pass
    return data


if __name__ == "__main__":
    sys.exit(main())
