"""Releases on the host: which are sealed, what their manifests say, whether they are unchanged (I11, I14)."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from installer.bootstrap.seal import read_seal, verify_seal
from installer.domain.decoding import ManifestError
from installer.domain.limits import Limits
from installer.domain.manifest import MANIFEST_NAME, Component, Manifest, decode, release_id
from installer.domain.refusal import VERIFICATION_FAILED, Refusal
from installer.host.files import read_file
from installer.host.paths import HostPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledRelease:
    """A sealed release that was verified just now."""

    id: str
    root: Path
    manifest: Manifest

    def component(self, name: str) -> Component:
        """What the manifest says of a component. Raises Refusal ``component_unknown``."""
        component = self.manifest.components.get(name)
        if component is None:
            raise Refusal(
                "component_unknown",
                found=f"release {self.id} has no component {name}",
                wanted=f"one of {', '.join(self.manifest.components)}",
                remedy="Correct the name, or install a release that has it.",
                exit_code=VERIFICATION_FAILED,
            )
        return component


class ReleaseStore:
    """The folder of releases."""

    def __init__(self, paths: HostPaths, limits: Limits) -> None:
        self._paths = paths
        self._limits = limits

    def sealed(self) -> tuple[str, ...]:
        """Ids of the releases that carry a seal, sorted by text; foreign names (lost+found) are left alone
        (B29).
        """
        return tuple(name for name in self._names() if self._has_seal(name))

    def unsealed(self) -> tuple[str, ...]:
        """Folders named like a release that were never finished."""
        return tuple(name for name in self._names() if not self._has_seal(name))

    def verified(self, release: str) -> InstalledRelease:
        """The release after its whole tree was compared with its seal. Raises Refusal (exit 4)."""
        root = self._paths.release(release)
        seal = verify_seal(root, release_id=release)
        file = read_file(root / MANIFEST_NAME, limit=self._limits.journal_size)
        if file is None or hashlib.sha256(file.data).hexdigest() != seal.manifest_sha256:
            raise _damaged(release, "its manifest is not the sealed one")
        return self._decode(release, root, file.data)

    def manifest_of(self, release: str) -> InstalledRelease:
        """The release's manifest without looking at its whole tree, for plans and status."""
        root = self._paths.release(release)
        file = read_file(root / MANIFEST_NAME, limit=self._limits.journal_size)
        if file is None:
            raise _damaged(release, "it has no manifest")
        return self._decode(release, root, file.data)

    def _decode(self, release: str, root: Path, data: bytes) -> InstalledRelease:
        try:
            manifest = decode(data)
        except ManifestError as error:
            raise _damaged(release, str(error)) from error
        if release_id(data, manifest.version) != release:
            raise _damaged(release, "its manifest is another release's")
        return InstalledRelease(id=release, root=root, manifest=manifest)

    def _names(self) -> list[str]:
        try:
            entries = sorted(self._paths.releases.iterdir())
        except FileNotFoundError:
            return []
        return [entry.name for entry in entries if is_release_name(entry.name) and entry.is_dir()]

    def _has_seal(self, name: str) -> bool:
        return read_seal(self._paths.release(name)) is not None


def is_release_name(name: str) -> bool:
    """Whether a folder's name is one the installer gives: ``<version>-<digest12>``."""
    version, separator, digest = name.rpartition("-")
    hexadecimal = len(digest) == 12 and all(character in "0123456789abcdef" for character in digest)
    return bool(separator) and hexadecimal and all(part.isdecimal() for part in version.split("."))


def _damaged(release: str, why: str) -> Refusal:
    return Refusal(
        "release_damaged",
        found=f"release {release}: {why}",
        wanted="the release as it was sealed",
        remedy="Keep a copy to look at. Once no link names it (see `pharos-installer status`; switch to"
        " another release first), move its folder away and install it again.",
        exit_code=VERIFICATION_FAILED,
    )
