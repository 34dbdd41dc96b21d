"""Small release archives, made and signed on demand, right or wrong in one chosen way.

``Workshop`` is the maker: ``release()`` is a valid archive; every attack of the tests changes its entries,
its manifest, its tar members or its bytes. Nothing here needs a network or the release tool.
"""

import base64
import functools
import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import distribution
from pathlib import Path

import pytest

from installer.bootstrap.inputs import Trust
from installer.domain.manifest import (
    Component,
    JournalSchemas,
    Manifest,
    ManifestFile,
    encode,
)

NAMESPACE = "pharos-hpc-release"
PRINCIPAL = "release@pharos-hpc.invalid"
TRUST = Trust(owners=frozenset({0, os.geteuid()}), sticky_parents=True)
BUILT_AT = "2026-01-02T03:04:05Z"


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Two keys of the release's maker, one of a stranger, and the maker's allowed signers."""

    ed25519: Path
    ecdsa_p256: Path
    stranger: Path
    allowed_signers: Path


@dataclass(frozen=True, slots=True)
class Item:
    """One tar member as its header says it; ``kind`` is the type flag."""

    name: str
    data: bytes = b""
    mode: int = 0o644
    kind: bytes = tarfile.REGTYPE
    link: str = ""
    uid: int = 0
    owner: str = ""
    size: int | None = None


@dataclass(slots=True)
class Workshop:
    """Makes archives in ``folder``."""

    folder: Path
    keys: SigningKeys
    version: str = "0.1.0"
    entries: dict[str, bytes] = field(default_factory=dict)

    @property
    def top(self) -> str:
        """The archive's one folder."""
        return f"pharos-hpc-site-v{self.version}"

    @property
    def archive(self) -> Path:
        """Where the archive goes."""
        return self.folder / f"{self.top}.tar.gz"

    def manifest(self, **changes: object) -> Manifest:
        """The right manifest of ``entries``, or one that differs by ``changes``."""
        manifest = Manifest(
            version=self.version,
            revision="1" * 40,
            built_at=BUILT_AT,
            dependency_mode="wheelhouse",
            architecture="x86_64",
            python="3.13",
            glibc="2.17",
            files=tuple(
                ManifestFile(path, hashlib.sha256(data).hexdigest(), len(data), mode_of(path))
                for path, data in sorted(self.entries.items())
            ),
            components={"ssh-access": COMPONENT},
            controller_requirements="requirements/controller.txt",
            overrides=(),
            contracts={"central-bootstrap": "1"},
        )
        return replace(manifest, **changes)  # type: ignore[arg-type]

    def items(self, manifest: bytes | None = None) -> list[Item]:
        """The tar members of a right archive."""
        content = {**self.entries, "manifest.json": encode(self.manifest()) if manifest is None else manifest}
        return [Item(f"{self.top}/{path}", data, mode_of(path)) for path, data in sorted(content.items())]

    def write(
        self, items: list[Item] | None = None, *, tar: bytes | None = None, raw: bytes | None = None
    ) -> Path:
        """Write and sign the archive: of ``items``, of the tar file ``tar``, or of the bytes ``raw``."""
        if raw is None:
            raw = gzip.compress(
                pack(self.items() if items is None else items) if tar is None else tar, mtime=0
            )
        self.archive.write_bytes(raw)
        self.archive.chmod(0o644)
        self.sign()
        return self.archive

    def sign(self, *, kinds: tuple[str, ...] = ("ed25519", "ecdsa-p256"), namespace: str = NAMESPACE) -> None:
        """Sign what is there with the maker's keys."""
        for kind in kinds:
            key = self.keys.ed25519 if kind == "ed25519" else self.keys.ecdsa_p256
            self.signature(kind).write_bytes(sign(self.archive, key, namespace))
            self.signature(kind).chmod(0o644)

    def unsign(self) -> None:
        """Take both signatures away."""
        for kind in ("ed25519", "ecdsa-p256"):
            self.signature(kind).unlink()

    def signature(self, kind: str) -> Path:
        """Where the signature of that kind lies."""
        return self.archive.with_name(f"{self.archive.name}.{kind}.sig")

    def extracted(self) -> Path:
        """The folder an administrator gets by extracting the archive."""
        subprocess.run(["tar", "-xzpf", self.archive, "-C", self.folder], check=True)
        for path in [self.folder / self.top, *(self.folder / self.top).rglob("*")]:
            os.chown(path, os.geteuid(), os.getegid())
            if path.is_dir():
                path.chmod(0o755)
        return self.folder / self.top


COMPONENT = Component(
    name="ssh-access",
    requirements="requirements/ssh-access.txt",
    console_script="pharos-ssh-access",
    unit="pharos-ssh-access.service",
    user="pharos-ssh-access",
    journal_schemas=JournalSchemas((1,), 1),
    contracts=("central-bootstrap",),
)


def mode_of(path: str) -> int:
    """The mode a release gives that file."""
    return 0o755 if path.endswith(".sh") else 0o644


def header(item: Item) -> bytes:
    """A ustar header that says exactly what ``item`` does, however wrong."""
    info = tarfile.TarInfo(item.name)
    info.mode, info.type, info.linkname, info.uid, info.uname = (
        item.mode,
        item.kind,
        item.link,
        item.uid,
        item.owner,
    )
    info.size = len(item.data) if item.size is None else item.size
    return info.tobuf(tarfile.USTAR_FORMAT)


def pack(items: list[Item]) -> bytes:
    """The tar file of ``items``, in that order."""
    blocks = io.BytesIO()
    for item in items:
        blocks.write(header(item))
        blocks.write(item.data + b"\0" * (-len(item.data) % 512))
    blocks.write(b"\0" * 1024)
    blocks.write(b"\0" * (-blocks.tell() % 10240))
    return blocks.getvalue()


def wheel(
    name: str,
    version: str = "1.0",
    *,
    requires: tuple[str, ...] = (),
    modules: Mapping[str, str] | None = None,
    scripts: Mapping[str, str] | None = None,
    extra_metadata: str = "",
) -> tuple[str, bytes]:
    """File name and bytes of a small pure wheel."""
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{extra_metadata}"
    files = {
        **(modules or {f"{plain}.py": "VALUE = 1\n"}),
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {text}\n" for text in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if scripts:
        lines = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}"
    record = "".join(f"{path},sha256={_record(text)},{len(text.encode())}\n" for path, text in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return f"{plain}-{version}-py3-none-any.whl", packed.getvalue()


def requirements(wheels: Mapping[str, bytes]) -> bytes:
    """The complete hashed requirements file of ``wheels`` (file name to bytes)."""
    lines = []
    for file_name, data in sorted(wheels.items()):
        name, version, *_ = file_name.split("-")
        digest = hashlib.sha256(data).hexdigest()
        lines.append(f"{name.replace('_', '-').lower()}=={version} --hash=sha256:{digest}\n")
    return "".join(lines).encode()


def sign(path: Path, key: Path, namespace: str = NAMESPACE) -> bytes:
    """A signature over the bytes of ``path``."""
    with path.open("rb") as message:
        command = ["ssh-keygen", "-Y", "sign", "-q", "-n", namespace, "-f", os.fspath(key)]
        return subprocess.run(command, stdin=message, capture_output=True, check=True).stdout


def allow(path: Path, *keys: Path, options: str = f'namespaces="{NAMESPACE}"') -> Path:
    """Write allowed signers for ``keys``."""
    lines = [f"{PRINCIPAL} {options} {' '.join(_public(key))}\n" for key in keys]
    path.write_text("".join(lines), encoding="ascii")
    path.chmod(0o644)
    return path


@pytest.fixture(scope="session")
def signing_keys(tmp_path_factory: pytest.TempPathFactory) -> SigningKeys:
    """Keys for the whole run."""
    folder = tmp_path_factory.mktemp("keys")
    for name, kind in (("ed25519", "ed25519"), ("ecdsa", "ecdsa"), ("stranger", "ed25519")):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", folder / name], check=True)
    ed25519, ecdsa = folder / "ed25519", folder / "ecdsa"
    return SigningKeys(ed25519, ecdsa, folder / "stranger", allow(folder / "allowed_signers", ed25519, ecdsa))


@pytest.fixture
def workshop(tmp_path: Path, signing_keys: SigningKeys) -> Workshop:
    """A maker whose entries are those of a small right release."""
    return make_workshop(tmp_path, signing_keys)


def make_workshop(folder: Path, signing_keys: SigningKeys) -> Workshop:
    """A maker in ``folder`` whose entries are those of a small right release."""
    wheels = dict([wheel("pip", "24.0"), wheel("pharos-hpc", "0.1.0"), wheel("Foo.Bar-baz", "1.0")])
    component = {name: data for name, data in wheels.items() if not name.startswith("pip")}
    return Workshop(
        folder,
        signing_keys,
        entries={
            "install.sh": b"#!/bin/sh\n",
            "LICENSE": b"licence\n",
            "units/pharos-ssh-access.service.j2": b"[Unit]\n",
            "requirements/controller.txt": requirements(wheels),
            "requirements/ssh-access.txt": requirements(component),
            **{f"wheels/{name}": data for name, data in wheels.items()},
        },
    )


def _record(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def _public(key: Path) -> list[str]:
    return key.with_suffix(".pub").read_text(encoding="ascii").split()[:2]


@functools.cache
def pip_wheel() -> tuple[str, bytes]:
    """The pip of this environment, as the wheel it came from: pip runs from it as on a host."""
    pip = distribution("pip")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(pip.files or [], key=str):
            if not path.parts[0].startswith("..") and "__pycache__" not in path.parts:
                archive.writestr(zipfile.ZipInfo(path.as_posix()), path.read_binary())
    return f"pip-{pip.version}-py3-none-any.whl", packed.getvalue()


def real_release(workshop: Workshop, *others: tuple[str, bytes]) -> None:
    """Give ``workshop`` a release whose controller can be built: pip, our own wheel with its console
    script, ``others``.
    """
    own = wheel(
        "pharos-hpc",
        "0.1.0",
        modules={"installer/__init__.py": "", "installer/cli.py": "def main():\n    print('controller')\n"},
        scripts={"pharos-installer": "installer.cli:main"},
    )
    wheels = dict([pip_wheel(), own, *others])
    for path in [path for path in workshop.entries if path.startswith("wheels/")]:
        del workshop.entries[path]
    workshop.entries |= {f"wheels/{name}": data for name, data in wheels.items()}
    # pip is in the other file, so that it is not compiled again for every controller of a test.
    workshop.entries["requirements/ssh-access.txt"] = requirements(wheels)
    workshop.entries["requirements/controller.txt"] = requirements(
        {name: data for name, data in wheels.items() if not name.startswith("pip-")}
    )
