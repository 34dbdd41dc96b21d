"""What a component gets from its release: unit text and settings, rendered; and whether what stands there
was edited.
"""

from installer.domain.activation import (
    ComponentState,
    PlacedFile,
    environment_path,
    linked_release,
    recorded_sha256,
    unit_path,
)
from installer.domain.files import FileText
from installer.domain.profile import Profile
from installer.domain.refusal import PREFLIGHT_REFUSED, VERIFICATION_FAILED, Refusal
from installer.domain.settings import environment_file
from installer.domain.template import TemplateError, render
from installer.host.context import Host
from installer.host.files import ownership_fault, read_file
from installer.host.paths import RELEASE_ROOT
from installer.host.releases import InstalledRelease
from installer.host.site_inputs import Site

_MODE = 0o644


def rendered_unit(host: Host, site: Site, release: InstalledRelease, component: str) -> PlacedFile:
    """The unit file of ``component`` from the release's template. Raises Refusal ``unit_template``."""
    described = release.component(component)
    file = read_file(release.root / described.unit_template, limit=host.limits.input_size)
    runtime = site.profile.runtime
    values = {
        "release_root": RELEASE_ROOT,
        "component": component,
        "credentials_dir": site.config.credentials,
        "scratch": runtime.scratch if runtime is not None else "",
        "members_group": runtime.supplementary_group if runtime is not None else "",
    }
    try:
        if file is None:
            raise TemplateError("it is absent")
        text = render(file.data.decode("utf-8"), values)
    except (TemplateError, UnicodeDecodeError) as error:
        raise Refusal(
            "unit_template",
            found=f"{described.unit_template} of release {release.id}: {error}",
            wanted="a template of plain {{ name }} substitutions that are known",
            remedy="Use a release made for this installer.",
            exit_code=VERIFICATION_FAILED,
        ) from error
    return PlacedFile(path=unit_path(described.unit), file=FileText.of(text.encode("utf-8")))


def rendered_files(
    host: Host, site: Site, release: InstalledRelease, component: str
) -> tuple[PlacedFile, PlacedFile]:
    """Unit and settings."""
    return rendered_unit(host, site, release, component), rendered_settings(site.profile, component)


def rendered_settings(profile: Profile, component: str) -> PlacedFile:
    """The environment file."""
    text = environment_file(component, profile)
    return PlacedFile(path=environment_path(component), file=FileText.of(text.encode("utf-8")))


def edited_files(
    host: Host, site: Site | None, component: str, prior: ComponentState, unit: str
) -> tuple[str, ...]:
    """Paths of the unit and settings files on the host that are not as the last activation wrote them (I4,
    row 32): their bytes, their mode, or somebody else's to change.

    Where the record keeps no digest, the linked release's own rendering takes its place; without ``site``
    such a file is not judged.
    """
    edited: list[str] = []
    for placed in prior.files:
        wanted = recorded_sha256(prior.record, placed, unit)
        if not wanted:
            if site is None:
                continue
            wanted = _rendered_sha256(host, site, component, prior, placed.path)
        if placed.file is not None and _edited(host, placed.path, placed.file, wanted):
            edited.append(placed.path)
    return tuple(edited)


def _edited(host: Host, path: str, found: FileText, wanted: str) -> bool:
    return (
        found.sha256 != wanted
        or found.mode != _MODE
        or ownership_fault(host.paths.at(path).lstat(), host.paths.trust) is not None
    )


def _rendered_sha256(host: Host, site: Site, component: str, prior: ComponentState, path: str) -> str:
    """The digest of what would be written at ``path`` for the linked release; empty while none is linked."""
    linked = linked_release(prior.current, component)
    if linked is None:
        return ""
    files = rendered_files(host, site, host.releases.manifest_of(linked), component)
    return next((placed.file.sha256 for placed in files if placed.path == path and placed.file), "")


def refuse_edited(path: str, unit: str) -> Refusal:
    """The refusal for a unit or settings file another hand wrote or changed."""
    if path == unit_path(unit):
        return Refusal(
            "unit_edited",
            found=f"{path} is not as the installer wrote it",
            wanted="the installer's own unit, changed by drop-ins alone",
            remedy=f"Move your changes to a drop-in (systemctl edit {unit}), then pass"
            f" --accept-edited-unit {unit}. It comes back byte for byte if the activation fails.",
            exit_code=PREFLIGHT_REFUSED,
        )
    return Refusal(
        "settings_edited",
        found=f"{path} is not as the installer wrote it",
        wanted="the settings of the profile, mode 0644, root's",
        remedy="See who changed it, and bring what is meant into the profile; then pass"
        f" --accept-edited-unit {unit}. It comes back byte for byte if the activation fails.",
        exit_code=PREFLIGHT_REFUSED,
    )


def refuse_edited_files(
    host: Host, site: Site, component: str, prior: ComponentState, unit: str, *, accepted: bool
) -> None:
    """Raise ``unit_edited`` or ``settings_edited`` (exit 3) for the first edited file not ``accepted``."""
    edited = () if accepted else edited_files(host, site, component, prior, unit)
    if edited:
        raise refuse_edited(edited[0], unit)
