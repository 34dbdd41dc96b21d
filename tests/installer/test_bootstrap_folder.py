"""The extracted folder equals the archive, file for file (I4, H08)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from installer.bootstrap.archive import open_verified
from installer.bootstrap.folder import verify_folder
from installer.domain.refusal import Refusal
from tests.installer.archives import TRUST, Workshop


def check(workshop: Workshop, folder: Path) -> None:
    with open_verified(
        workshop.archive, allowed_signers=workshop.keys.allowed_signers, trust=TRUST
    ) as archive:
        verify_folder(folder, archive, trust=TRUST)


def test_I4_the_folder_as_extracted_is_accepted(workshop: Workshop) -> None:
    workshop.write()
    check(workshop, workshop.extracted())


def _edit(folder: Path) -> None:
    (folder / "LICENSE").write_bytes(b"licence!")


def _same_size(folder: Path) -> None:
    (folder / "LICENSE").write_bytes(b"LICENCE\n")


def _cache(folder: Path) -> None:
    (folder / "units" / "__pycache__").mkdir()
    (folder / "units" / "__pycache__" / "x.cpython-313.pyc").write_bytes(b"")


def _link(folder: Path) -> None:
    (folder / "LICENSE").rename(folder.parent / "LICENSE")
    (folder / "LICENSE").symlink_to("../LICENSE")


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (_edit, "changed: LICENSE"),
    "edited_same_size": (_same_size, "changed: LICENSE"),
    "manifest": (lambda f: (f / "manifest.json").write_bytes(b"{}"), "changed: manifest.json"),
    "missing": (lambda f: (f / "LICENSE").unlink(), "missing: LICENSE"),
    "extra": (lambda f: (f / "ssl.py").write_bytes(b""), "not in the manifest: ssl.py"),
    "extra_empty_folder": (lambda f: (f / "x").mkdir(), "not in the manifest: 'x'/"),
    "bytecode_cache": (_cache, "not in the manifest: units/__pycache__/x.cpython-313.pyc"),
    "link": (_link, "'LICENSE' is no regular file"),
    "fifo": (_fifo, "'pipe' is no regular file"),
    "mode": (lambda f: (f / "LICENSE").chmod(0o600), "mode 0600 instead of 0644: LICENSE"),
    "writable": (lambda f: (f / "LICENSE").chmod(0o666), "can be written by others"),
    "writable_folder": (lambda f: (f / "units").chmod(0o777), "can be written by others"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_I4_H08_changed_folder_is_refused_and_named(workshop: Workshop, name: str) -> None:
    workshop.write()
    folder = workshop.extracted()
    CHANGES[name][0](folder)
    with pytest.raises(Refusal) as caught:
        check(workshop, folder)
    assert (caught.value.code, caught.value.exit_code) == ("folder_differs", 4)
    assert CHANGES[name][1] in caught.value.found


def test_row17_the_folder_is_a_link(workshop: Workshop) -> None:
    workshop.write()
    folder = workshop.extracted()
    folder.rename(folder.with_name("real"))
    folder.symlink_to("real")
    with pytest.raises(Refusal, match="input_link"):
        check(workshop, folder)
