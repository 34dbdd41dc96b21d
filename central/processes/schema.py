"""The contexts whose schemas central migrates and requires, in order."""

from typing import Final

CONTEXTS: Final = (
    "central.ssh_access",
    "central.grants",
    "central.projects",
    "central.provisioning",
    "central.retention",
    "central.execution",
)
