"""The stable links of the components, read where nobody else could have put them (rows 17, 18, 28)."""

import os

from installer.bootstrap.inputs import open_folder
from installer.domain.activation import LinkName
from installer.domain.refusal import VERIFICATION_FAILED, Refusal
from installer.host.files import read_link
from installer.host.paths import HostPaths


def component_link(paths: HostPaths, component: str, name: LinkName) -> str | None:
    """The text of a component's link; None when proven absent.

    Raises Refusal ``link_folder_untrusted`` when a folder above it is itself a link or could be changed by
    others, and as ``read_link``.
    """
    link = paths.link(component, name)
    try:
        with open_folder(link.parent, what="a folder of root", trust=paths.trust):
            return read_link(link)
    except Refusal as refusal:
        if refusal.code == "input_missing":
            return None
        if not refusal.code.startswith("input_"):
            raise
        raise Refusal(
            "link_folder_untrusted",
            found=refusal.found,
            wanted=f"{link.parent} as folders of root alone, none of them a link",
            remedy="Another hand made or changed it. See what runs from there; then put back a folder of root"
            " (0755) with the links that `pharos-installer status` says are recorded.",
            exit_code=VERIFICATION_FAILED,
        ) from refusal


def linked_components(paths: HostPaths) -> list[str]:
    """Names of the components that have a ``current`` link, sorted. Raises Refusal as ``component_link``."""
    try:
        names = sorted(os.listdir(paths.components))  # noqa: PTH208 - names alone
    except FileNotFoundError:
        return []
    return [
        name
        for name in names
        if (paths.components / name).is_dir() and component_link(paths, name, "current") is not None
    ]
