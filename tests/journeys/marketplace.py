"""The marketplace beside a lab host: a simulated Waldur over TLS with a provider's offering and tokens, and
what of it stands in the Site's profile and credentials (I15, I18, X8).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import yaml

from tests.journeys.central import Central
from tests.journeys.releases import ROOT
from tests.lab.host import LabHost
from tests.simulators.waldur.process import WaldurProcess

NAME = "waldur.lab.test"
REPORTER_SECTIONS = ("intake", "waldur", "gid_range", "site_agent_modes", "event_process")
OTHER_CREDENTIALS = {"reporter/ldap-password": b"agentpw"}
"""What the lab's own administrators give: the directory password of ``pharos-agent``."""


@dataclass(slots=True)
class Marketplace:
    """A running Waldur and what ``stand`` made in it: UUIDs, and a token a role."""

    process: WaldurProcess
    made: dict[str, str]
    role: str = "owner"

    @classmethod
    def open(cls, host: LabHost) -> Self:
        """Start it where ``host`` reaches it, with a node-hour offering and its provider.

        It ends with the host, whoever started it.
        """
        process = WaldurProcess(
            host.scratch / "waldur", address=host.host_side_addr, name=NAME, beside=host.beside
        )
        process.start()
        return cls(process, process.stand())

    def stop(self) -> None:
        """End it."""
        self.process.stop()

    @property
    def ca(self) -> bytes:
        """The authority its callers must trust, PEM."""
        return self.process.ca_file.read_bytes()

    def token(self, role: str = "") -> bytes:
        """A token of the role the Site is given, or of another."""
        return self.made[role or self.role].encode()

    def tell(self, profile: dict[str, Any], central: Central) -> None:
        """Write into ``profile`` where marketplace and intake are."""
        profile["waldur"] |= {
            "api_url": self.process.api,
            "offering_uuid": self.made["offering"],
            "instance": central.facts()["intake"]["waldurInstance"],
        }
        profile["intake"]["url"] = central.intake_url


def laboratory_profile(components: Sequence[str]) -> dict[str, Any]:
    """The laboratory's profile for some of its components."""
    profile: dict[str, Any] = yaml.safe_load((ROOT / "profiles/laboratory.yaml").read_bytes())
    profile["components"] = list(components)
    if "reporter" not in components:
        for section in REPORTER_SECTIONS:
            profile.pop(section, None)
        profile["ldap"].pop("agent", None)
        profile["slurm"].pop("capacity")
    if "runtime" not in components:
        profile.pop("runtime")
    if not {"reporter", "runtime"} & set(components):
        profile.pop("slurm")
    return profile
