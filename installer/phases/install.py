"""``install``: lay down, build and seal the release; make identities and folders. Starts and switches
nothing (I1, I11).
"""

from dataclasses import replace
from pathlib import Path

from installer.bootstrap.archive import VerifiedArchive
from installer.bootstrap.lock import hold
from installer.domain.activation import linked_release
from installer.domain.files import FileText
from installer.domain.index import Index
from installer.domain.install_plan import (
    BuildRelease,
    InstallFacts,
    PlaceHostFile,
    Standing,
    describe_install,
    install_plan,
)
from installer.domain.refusal import VERIFICATION_FAILED, Refusal
from installer.host.context import Host
from installer.host.files import read_file
from installer.host.identities import local_identity
from installer.host.links import component_link
from installer.host.site_inputs import Site
from installer.phases.checks_host import host_findings, identity_findings
from installer.phases.guards import refuse_unfinished
from installer.phases.outcome import Outcome, announce, settle
from installer.steps.release_tree import Builder, perform_install

_HOST_FILES = (
    ("units/sysusers.d/pharos-hpc.conf", "/usr/lib/sysusers.d/pharos-hpc.conf"),
    ("units/tmpfiles.d/pharos-hpc.conf", "/usr/lib/tmpfiles.d/pharos-hpc.conf"),
)


def plan_install(host: Host, site: Site, archive: VerifiedArchive) -> Outcome:
    """What ``install`` would do now; nothing is written."""
    announce(host, "install (plan)", site.profile)
    actions = install_plan(_observe(host, archive))
    for action in actions:
        host.report.say("plan", describe_install(action))
    lines = [describe_install(action) for action in actions]
    text = "\n".join(["install would:", *lines]) if lines else f"no change: {archive.release_id} is installed"
    return Outcome(text=text, fields={"release": archive.release_id, "plan": lines})


def install(host: Host, site: Site, archive: VerifiedArchive) -> Outcome:
    """Install the release. Raises Refusal: 3 before any change, 4, 5, 9, or 6 with the host unchanged."""
    announce(host, "install", site.profile)
    with hold(host.paths.lock, verb="install") as lock_fd:
        refuse_unfinished(host)
        actions = install_plan(_observe(host, archive))
        if not actions:
            text = f"no change: release {archive.release_id} is installed and unchanged"
            return Outcome(text=text, fields={"release": archive.release_id})
        if any(isinstance(action, BuildRelease) for action in actions):
            settle(host, site.profile, "install", host_findings(host, site.profile, archive.manifest))
        builder = Builder(
            interpreter=host.paths.at(site.profile.python),
            lock_fd=lock_fd,
            index=_index(host, site),
        )
        for action in actions:
            host.report.say("step", describe_install(action), direction="do")
            perform_install(host, action, archive, builder=builder)
        users = {name: component.user for name, component in archive.manifest.components.items()}
        settle(host, site.profile, "install", identity_findings(host, site.profile, users, must_exist=True))
    text = f"release {archive.release_id} is installed; nothing was started. Next: validate"
    return Outcome(text=text, changed=True, fields={"release": archive.release_id})


def _index(host: Host, site: Site) -> Index | None:
    index = site.profile.dependencies.index
    if index is None or not index.ca_file:
        return index
    return replace(index, ca_file=str(host.paths.at(index.ca_file)))


def _observe(host: Host, archive: VerifiedArchive) -> InstallFacts:
    unfinished = host.releases.unsealed()
    linked = _linked(host, archive)
    _refuse_linked(set(unfinished) & linked)
    wanted = [
        PlaceHostFile(path=path, file=FileText.of(archive.read(member)))
        for member, path in _HOST_FILES
        if member in archive.paths("units/")
    ]
    return InstallFacts(
        release=archive.release_id,
        components=tuple(archive.manifest.components),
        standing=_standing(host, archive.release_id, unfinished, linked),
        unfinished=unfinished,
        host_files=[
            (place, read_file(host.paths.at(place.path), limit=host.limits.input_size)) for place in wanted
        ],
        missing_users=[
            component.user
            for component in archive.manifest.components.values()
            if local_identity(host.paths, component.user) is None
        ],
    )


def _standing(host: Host, release: str, unfinished: tuple[str, ...], linked: set[str]) -> Standing:
    if release in unfinished:
        return "unfinished"
    if not _exists(host.paths.release(release)):
        return "absent"
    try:
        host.releases.verified(release)
    except Refusal as refusal:
        if release in linked:
            raise
        host.report.say("warning", f"the release differs from its seal and is built anew: {refusal.found}")
        return "damaged"
    return "sealed"


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _linked(host: Host, archive: VerifiedArchive) -> set[str]:
    """Releases some component's link names; they are never removed."""
    found: set[str] = set()
    for component in archive.manifest.components:
        for name in ("current", "previous"):
            link = component_link(host.paths, component, "current" if name == "current" else "previous")
            release = linked_release(link, component)
            if release is not None:
                found.add(release)
    return found


def _refuse_linked(damaged: set[str]) -> None:
    if damaged:
        raise Refusal(
            "release_unsealed_linked",
            found=f"release {', '.join(sorted(damaged))} is linked and has no seal",
            wanted="sealed releases behind links",
            remedy="Somebody removed its SEAL. Switch to a sealed release, then install again.",
            exit_code=VERIFICATION_FAILED,
        )
