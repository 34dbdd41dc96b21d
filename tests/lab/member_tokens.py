"""The site's administrator lets Slurm trust members' tokens: the issuer's key set for this Site (S2)."""

import json
import urllib.request
from collections.abc import Sequence

from tests.lab.errors import LabError
from tests.lab.host import LabHost
from tests.lab.processes import wait_until

KEY_SET = "/etc/slurm/jwks.json"
_SECONDS = 20.0


def published(url: str) -> bytes:
    """The key set an issuer of this machine publishes for one Slurm (RFC 7517 §5)."""
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
        document: bytes = answer.read()
    return document


def key_ids(key_set: bytes) -> Sequence[str]:
    """The ``kid`` of each key."""
    return [str(key["kid"]) for key in json.loads(key_set)["keys"]]


def trust(host: LabHost, key_set: bytes) -> None:
    """Put the key set where AuthAltParameters names it and have the daemons read it (docs/policy/slurm.md).

    Returns when both answer again.
    """
    host.put(KEY_SET, key_set, 0o644)
    host.exec(["chown", "slurm:slurm", KEY_SET])
    host.exec(["systemctl", "restart", "slurmdbd", "slurmctld"])
    answers = "scontrol ping | grep -q UP && sacctmgr -n show cluster | grep -q icarus"

    def up() -> bool:
        return host.exec(["sh", "-c", answers], check=False).returncode == 0

    if not wait_until(up, _SECONDS, every=0.2):
        raise LabError("Slurm does not answer after it was given another key set")
