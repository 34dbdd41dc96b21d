"""What demos and journeys ask of a running stack."""

import json
import os
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import urllib3

from central.dev.plan import DevRefused
from central.dev.state import read_dev_json, write_private
from central.dev.steer import party_of
from central.settings import Settings, load_settings

__all__ = ["mint_token", "operator_environment", "operator_settings", "write_private"]

_GRANT_TYPE: Final = "urn:pharos:development:member"
_SECONDS: Final = 10.0


def mint_token(state: Path, member: str, lifetime: int) -> str:
    """A member's access token for `lifetime` seconds, from the development issuer. Raises `DevRefused`.

    Its subject is `member`; where accounts are the reported ones, the Party known by that username, if any.
    """
    running = read_dev_json(state)
    issuer = running["oidc"]["issuer"]
    if running["accounts"] is None:
        member = party_of(state, member) or member
    form = urlencode({"grant_type": _GRANT_TYPE, "member": member, "lifetime": lifetime})
    with urllib3.PoolManager(timeout=_SECONDS, retries=False) as pool:
        try:
            answer = pool.request(
                "POST",
                f"{issuer}/token",
                body=form.encode("ascii"),
                headers={"Content-Type": "application/x-www-form-urlencoded"},
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise DevRefused(
                f"the issuer {issuer} does not answer ({type(error).__name__}): is dev up?"
            ) from None
    document = json.loads(answer.data)
    if answer.status != 200:
        raise DevRefused(f"the issuer refused: {document.get('error_description', document)}")
    return str(document["access_token"])


def operator_environment(state: Path, role: str = "operator") -> dict[str, str]:
    """The settings of the operator's commands in the running stack: as `operator`, as `migrator` (the
    broker's administration), or as `owner` (the view).
    """
    running = read_dev_json(state)
    name, kept = {
        "operator": ("PHAROS_DATABASE_URL_FILE", "operatorDatabaseUrlFile"),
        "migrator": ("PHAROS_DATABASE_URL_FILE", "brokerDatabaseUrlFile"),
        "owner": ("RESOURCE_PROVISIONING_DATABASE_URL_FILE", "ownerDatabaseUrlFile"),
    }[role]
    return {
        "PHAROS_ENVIRONMENT": "development",
        name: str(running[kept]),
        "PHAROS_SITES": ",".join(running["sites"]),
    }


def operator_settings(state: Path) -> Settings:
    """The same, read; nothing of our own environment's settings joins in."""
    ours = {
        name: value for name, value in os.environ.items() if not name.startswith(("PHAROS_", "RESOURCE_"))
    }
    return load_settings({**ours, **operator_environment(state)}, "operator")
