"""Slurm's definite rejections of a submission, as a table per version (S12).

Only what the controller itself says after having decided counts. A text that is not here, a version that is
not here, a killed or silent sbatch: an unknown outcome, and the marker tells (A33).
"""

from __future__ import annotations

from collections.abc import Mapping

# `sbatch: error: Batch job submission failed: <text>` of slurm_errno.c, seen with the version named.
_24_11: Mapping[str, str] = {
    "Invalid account or account/partition combination specified": "account_refused",
    "Invalid partition name specified": "partition_unknown",
    "Invalid qos specification": "qos_refused",
    "Requested node configuration is not available": "resources_unavailable",
    "Node count specification invalid": "resources_unavailable",
    "More processors requested than permitted": "resources_unavailable",
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
REJECTIONS: Mapping[tuple[int, int], Mapping[str, str]] = {(24, 11): _24_11}
# A token that Slurm refuses says nothing about the command: another token may do. The command waits.
RETRIED = frozenset({"token_refused", "partition_down"})


def rejection(version: tuple[int, int], complaint: str) -> str | None:
    """The code of what sbatch said on its standard error, or None: not a definite rejection."""
    head = "sbatch: error: Batch job submission failed: "
    said = [line.removeprefix(head) for line in complaint.split("\n") if line.startswith(head)]
    if len(said) != 1:
        return None
    return REJECTIONS.get(version, {}).get(said[0].strip())
