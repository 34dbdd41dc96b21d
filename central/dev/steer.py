"""Has Beto's stand-in of a running stack obey, at its socket."""

import json
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from central.dev.plan import DevRefused
from central.dev.state import read_dev_json
from central.kernel.site_names import no_such_site
from central.kernel.socket_paths import short_path
from central.provisioning.domain.account import posix_name_fault

_SECONDS: Final = 30.0


def steer(state: Path, act: str, **arguments: Any) -> dict[str, Any]:
    """What the stand-in answers to one command. Raises `DevRefused`."""
    control = Path(read_dev_json(state)["beto"]["control"])
    try:
        with short_path(control) as path, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(path)
            with connection.makefile("rw", encoding="utf-8") as stream:
                stream.write(json.dumps({"act": act, **arguments}) + "\n")
                stream.flush()
                answer: dict[str, Any] = json.loads(stream.readline())
    except (OSError, ValueError) as error:
        raise DevRefused(f"Beto's stand-in does not obey ({type(error).__name__}): is dev up?") from None
    if "error" in answer:
        raise DevRefused(f"Beto's stand-in: {answer['error']}")
    return answer


def the_project(state: Path, named: str | None) -> str:
    """The Project's id. Raises `DevRefused` unless exactly one fits."""
    projects = steer(state, "truth")["projects"]
    fitting = [
        str(each["projectId"])
        for each in projects
        if named is None
        or named == each["projectId"]
        or any(binding["projectRef"] == named for binding in each["providerBindings"])
    ]
    if len(fitting) != 1:
        raise DevRefused(
            f"{len(fitting)} Projects fit: name one with --project ID or make it with `project new`"
        )
    return fitting[0]


def join(state: Path, project: str | None, site: str, username: str, *, again: bool) -> str:
    """Adds a member; their Party. Raises `DevRefused` for who is one already, unless `again`, for a Site the
    stack does not have, and for a name no account there could have.
    """
    _check_name(site, username, read_dev_json(state)["sites"])
    where = the_project(state, project)
    party = party_of(state, username, site)
    (item,) = (each for each in steer(state, "truth")["projects"] if each["projectId"] == where)
    listed = {member["partyId"] for member in item["members"]}
    if party in listed and not again:
        raise DevRefused(f"{username} is a member already; `member readd` begins another generation")
    if party is None and again:
        raise DevRefused(f"nobody is known as {username} at {site}; `member add` makes a Party")
    return str(steer(state, "join", project=where, site=site, username=username)["party"])


def _check_name(site: str, username: str, sites: Collection[str]) -> None:
    """A Kubernetes Site makes its accounts' names itself; anywhere else a name is a POSIX login (P22)."""
    if site not in sites:
        raise DevRefused(no_such_site(site, sites))
    fault = None if site == "k8s" else posix_name_fault(username)
    if fault:
        raise DevRefused(f"--username {username!r}: {fault}")


def party_of(state: Path, username: str, site: str | None = None) -> str | None:
    """The Party known by this name at the Site, or at any."""
    for party in steer(state, "truth")["parties"]:
        for binding in party["providerBindings"]:
            fits = site is None or binding["instance"] == site
            if (binding["provider"], binding["subject"], binding["state"]) == (
                "site",
                username,
                "established",
            ) and fits:
                return str(party["partyId"])
    return None
