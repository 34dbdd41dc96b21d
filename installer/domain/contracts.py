"""Which accepted contract each component needs before it may run (I12)."""

from typing import Final

from installer.domain.components import REPORTER, RUNTIME, SSH_ACCESS

DELEGATION: Final = "member-credential-delegation"
CONTRACTS: Final[dict[str, str]] = {
    "central-bootstrap": "provider, offering, pools and Site API grants exist and were checked (I15)",
    "beto-synchronisation": "Beto's Projects and members reach central, complete and current",
    "member-site-project-bindings": "members' and Projects' bindings at this site are established",
    "project-run-cancel-authority": "who may start, see and cancel a Run is decided by its owner",
    DELEGATION: "a member's own consent yields the token each native action needs",
    "repository-grants": "Run-scoped repository credentials are issued and end with the stage",
    "member-owned-workspace": "workspaces are the member's own, without filesystem ACLs",
}

NEEDS: Final[dict[str, tuple[str, ...]]] = {
    SSH_ACCESS: ("central-bootstrap", "beto-synchronisation", "member-site-project-bindings"),
    REPORTER: ("central-bootstrap", "beto-synchronisation", "member-site-project-bindings"),
    RUNTIME: tuple(CONTRACTS),
}
