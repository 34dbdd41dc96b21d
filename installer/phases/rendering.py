"""What a component gets from its release: unit text and settings, rendered; and whether what stands there
was edited.
"""

from installer.domain.activation import (
    ComponentState,
    PlacedFile,
    environment_path,
    linked_release,
    unit_path,
)
from installer.domain.files import FileText
from installer.domain.profile import Profile
from installer.domain.refusal import PREFLIGHT_REFUSED, VERIFICATION_FAILED, Refusal
from installer.domain.settings import environment_file
from installer.domain.template import TemplateError, render
from installer.host.context import Host
from installer.host.files import read_file
from installer.host.paths import RELEASE_ROOT
from installer.host.releases import InstalledRelease
from installer.host.site_inputs import Site


def rendered_unit(host: Host, site: Site, release: InstalledRelease, component: str) -> PlacedFile:
    """The unit file of ``component`` from the release's template. Raises Refusal ``unit_template``."""
    described = release.component(component)
    file = read_file(release.root / described.unit_template, limit=host.limits.input_size)
    values = {
        "release_root": RELEASE_ROOT,
        "component": component,
        "credentials_dir": site.config.credentials,
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


def unit_edited(host: Host, site: Site, component: str, prior: ComponentState, unit: str) -> bool:
    """Whether the unit file on the host is not the one the last activation wrote (row 32).

    After a rebuilt record, the linked release's own rendering takes the place of the lost digest.
    """
    found = next((placed.file for placed in prior.files if placed.path == unit_path(unit)), None)
    if found is None:
        return False
    if prior.record is not None and prior.record.unit_sha256:
        return found.sha256 != prior.record.unit_sha256
    linked = linked_release(prior.current, component)
    if linked is None:
        return True
    wanted = rendered_unit(host, site, host.releases.manifest_of(linked), component).file
    return wanted is None or found.sha256 != wanted.sha256


def refuse_edited(unit: str) -> Refusal:
    """The refusal for a unit file another hand wrote or changed."""
    return Refusal(
        "unit_edited",
        found=f"{unit_path(unit)} is not as the installer wrote it",
        wanted="the installer's own unit, changed by drop-ins alone",
        remedy=f"Move your changes to a drop-in (systemctl edit {unit}), then pass"
        f" --accept-edited-unit {unit}. It comes back byte for byte if the activation fails.",
        exit_code=PREFLIGHT_REFUSED,
    )
