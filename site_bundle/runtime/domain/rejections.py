"""Slurm's definite rejections of a submission, as a table per version (S12).

1. Only what the controller itself says after having decided counts. A text that is not here, a killed or
   silent sbatch: an unknown outcome, and the marker tells (A33).
2. A version is here when its own library was asked for the texts (tests/lab/record_rejections.py). Of any
   other, what all of them say is definite, and nothing else: the texts have not changed since 22.05.
"""

from __future__ import annotations

from collections.abc import Mapping

# `sbatch: error: Batch job submission failed: <text>`; the texts are those of slurm_strerror(3).
_22_05: Mapping[str, str] = {
    "Invalid account or account/partition combination specified": "account_refused",
    "Invalid partition name specified": "partition_unknown",
    "Invalid qos specification": "qos_refused",
    "Requested node configuration is not available": "resources_unavailable",
    "Node count specification invalid": "resources_unavailable",
    "More processors requested than permitted": "resources_unavailable",
    "Memory required by task is not available": "resources_unavailable",
    "CPU count specification invalid": "resources_unavailable",
    "Invalid generic resource (gres) specification": "gres_refused",
    "Requested time limit is invalid (missing or exceeds some limit)": "time_limit_refused",
    "Requested partition configuration not available now": "partition_limit",
    "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)": "policy_limit",
    "User's group not permitted to use this partition": "partition_refused",
    "Access/permission denied": "access_denied",
    "Required partition not available (inactive or drain)": "partition_down",
    "Protocol authentication error": "token_refused",
    "Invalid user id": "user_unknown",
    "Unspecified error": "site_policy_refused",
}
_24_11 = {**_22_05, "Requested topology configuration is not available": "resources_unavailable"}
REJECTIONS: Mapping[tuple[int, int], Mapping[str, str]] = {
    (22, 5): _22_05,
    (23, 11): _22_05,
    (24, 11): _24_11,
    (25, 11): _24_11,
    (26, 5): _24_11,
}
COMMON: Mapping[str, str] = {
    text: code
    for text, code in _22_05.items()
    if all(table.get(text) == code for table in REJECTIONS.values())
}
# What says nothing about the command, which waits: another token may do, the partition may be up again, the
# controller may learn of a user whom this host resolved a moment ago (C12).
RETRIED = frozenset({"token_refused", "partition_down", "user_unknown"})


def known_versions() -> str:
    """For people."""
    return ", ".join(f"{major}.{minor:02}" for major, minor in sorted(REJECTIONS))


def rejection(version: tuple[int, int] | None, complaint: str) -> str | None:
    """The code of what sbatch said on its standard error, or None: not a definite rejection. `version` None:
    of a form nobody knows (rule 2).
    """
    head = "sbatch: error: Batch job submission failed: "
    said = [line.removeprefix(head) for line in complaint.split("\n") if line.startswith(head)]
    if len(said) != 1:
        return None
    table = COMMON if version is None else REJECTIONS.get(version, COMMON)
    return table.get(said[0].strip())
