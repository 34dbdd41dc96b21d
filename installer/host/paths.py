"""Every path the installer reads or writes, below one root: ``/`` on a host, a folder in tests."""

from dataclasses import dataclass, field
from pathlib import Path

from installer.bootstrap.inputs import Trust
from installer.domain.activation import LinkName

RELEASE_ROOT = "/opt/pharos-hpc"
CREDENTIALS = "/etc/pharos-hpc/credentials"
SITE_CONFIG = "/etc/pharos-hpc/site.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPaths:
    """Where things are. ``trust`` says who may own inputs: root alone on a host."""

    root: Path = Path("/")
    trust: Trust = field(default_factory=Trust)

    def at(self, absolute: str) -> Path:
        """The place of an absolute host path."""
        return self.root / absolute.lstrip("/")

    @property
    def releases(self) -> Path:
        """Immutable release folders."""
        return self.at(f"{RELEASE_ROOT}/releases")

    @property
    def components(self) -> Path:
        """Folders of stable links."""
        return self.at(f"{RELEASE_ROOT}/components")

    def release(self, release: str) -> Path:
        """One release's folder."""
        return self.releases / release

    def venv(self, release: str, component: str) -> Path:
        """A component's environment inside a release."""
        return self.release(release) / "components" / component / "venv"

    def link(self, component: str, name: LinkName) -> Path:
        """A component's stable link."""
        return self.components / component / name

    @property
    def memory(self) -> Path:
        """The installer's own folder, 0700."""
        return self.at("/var/lib/pharos-installer")

    @property
    def state(self) -> Path:
        """Success records."""
        return self.memory / "state.json"

    @property
    def journal(self) -> Path:
        """The write-ahead journal of the operation under way."""
        return self.memory / "journal"

    @property
    def history(self) -> Path:
        """Journals of closed operations."""
        return self.memory / "history"

    @property
    def lock(self) -> Path:
        """The single writer's lock."""
        return self.memory / "lock"

    @property
    def log(self) -> Path:
        """One log file a run."""
        return self.memory / "log"

    @property
    def sysusers(self) -> Path:
        """Identities, for systemd-sysusers."""
        return self.at("/usr/lib/sysusers.d/pharos-hpc.conf")

    @property
    def tmpfiles(self) -> Path:
        """Folders, for systemd-tmpfiles."""
        return self.at("/usr/lib/tmpfiles.d/pharos-hpc.conf")

    def status_file(self, component: str) -> Path:
        """What the running component says of itself."""
        return self.at(f"/run/pharos-{component}/status.json")

    def component_journal(self, component: str) -> Path:
        """The component's own journal, never written by the installer."""
        return self.at(f"/var/lib/pharos-{component}/journal.sqlite")
