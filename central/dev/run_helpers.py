"""What demos and journeys do for a Run in a stack of `--runs`: a member's consent, a repository."""

import json
import secrets
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from central.dev.helpers import mint_token
from central.dev.plan import DevRefused
from central.dev.processes import inherited
from central.dev.state import read_dev_json
from central.dev.steer import party_of

_SECONDS: Final = 30.0
_BACK: Final = "http://127.0.0.1/development"


def give_consent(state: Path, username: str) -> str:
    """Goes the member's way: a code from the issuer, handed to the member API. What stands then."""
    running = _runs(state)
    party = party_of(state, username)
    if party is None:
        raise DevRefused(f"nobody is known as {username}; `dev member add` makes a Party")
    issuer, verifier = running["oidc"]["issuer"], secrets.token_urlsafe(48)
    _post(f"{issuer}/development/login", {"member": party, "preferred_username": username})
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    form = {"member": party, "redirect_uri": _BACK, "code_challenge": challenge}
    code = str(_post(f"{issuer}/development/consent", form)["code"])
    body = {"schema": 1, "code": code, "codeVerifier": verifier, "redirectUri": _BACK}
    given = _ask(
        "PUT",
        f"{running['memberApi']['url']}/api/v1/me/execution-consent",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {mint_token(state, username, 300)}", "Content-Type": "application/json"},
    )
    return str(given["state"])


def new_repository(state: Path, name: str, source: Path | None) -> tuple[str, str]:
    """A repository with one commit on `main`: its URL and the commit. Raises `DevRefused`."""
    git = _runs(state)["runs"]["git"]
    words = ["--create", name, *(["--from", str(source)] if source is not None else [])]
    return f"{git['url']}/{name}", str(_at_host(git, words)["commit"])


def refs_of(state: Path, name: str) -> dict[str, str]:
    """Each ref with its commit. Raises `DevRefused`."""
    found: dict[str, str] = _at_host(_runs(state)["runs"]["git"], ["--refs", name])["refs"]
    return found


def _at_host(git: Mapping[str, Any], words: list[str]) -> dict[str, Any]:
    """What the stand-in's own program does with the repositories it serves."""
    command = [sys.executable, "-P", "-m", "tests.simulators.git", "--folder", git["folder"], *words]
    done = subprocess.run(command, env=inherited(), capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise DevRefused(f"the Git host's stand-in: {done.stderr.strip()[-500:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _runs(state: Path) -> dict[str, Any]:
    running = read_dev_json(state)
    if running.get("runs") is None:
        raise DevRefused("this stack accepts no Runs: start it with --runs --accounts reported")
    return running


def _post(url: str, form: Mapping[str, str]) -> dict[str, Any]:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return _ask("POST", url, urlencode(form).encode("ascii"), headers)


def _ask(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    with urllib3.PoolManager(timeout=_SECONDS, retries=False) as pool:
        try:
            answer = pool.request(method, url, body=body, headers=dict(headers), redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise DevRefused(f"{url} does not answer ({type(error).__name__}): is dev up?") from None
    told: dict[str, Any] = json.loads(answer.data)
    if answer.status != 200:
        raise DevRefused(f"{url} answers {answer.status}: {told.get('detail', told)}")
    return told
