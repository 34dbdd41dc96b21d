"""What may stand in no file: machine paths, registry hosts, credentials; no lab fixture is packed (I10)."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.architecture.sources import ROOT, files

BINARY = (".png", ".ico", ".gz", ".whl", ".bin")
THIS = "tests/architecture/test_repository.py"
RULES = {
    "a package registry's host": re.compile(
        r"\b(?:(?:test\.)?pypi\.org|(?:files\.)?pythonhosted\.org|registry\.npmjs\.org|proxy\.golang\.org|crates\.io"
        r"|rubygems\.org)\b"
    ),
    "a path of one machine": re.compile(
        r"(?<![\w.$}/])/(?:work|tmp/w|root/\.pyenv|home/[a-z]+/(?:src|work|git))/"
    ),
    "a private key": re.compile(r"BEGIN (?:OPENSSH|RSA|EC|DSA)? ?PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}"),
    "a token": re.compile(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16}|xox[abp]-[\w-]{20,}"
        r"|eyJ[\w-]{15,}\.[\w-]{15,}\.[\w-]{15,})"
    ),
}


def text_faults(path: str, text: str) -> list[str]:
    """What of RULES stands in a file's text, by line."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1} holds {what}"
        for what, pattern in RULES.items()
        for match in pattern.finditer(text)
    ]


def packed_faults(names: list[str]) -> list[str]:
    """Members of a wheel or archive that belong to tests, the lab or a simulator."""
    banned = re.compile(r"(^|/)(tests?|lab|simulators?|fixtures?|conftest\.py|goldens?)(/|$|\.)")
    return [name for name in names if banned.search(name)]


def test_no_file_holds_what_it_must_not() -> None:
    faults = []
    for path in files():
        if not path.endswith(BINARY) and path != THIS:
            faults += text_faults(path, (ROOT / path).read_text(encoding="utf-8", errors="replace"))
    assert faults == []


@pytest.mark.slow
def test_wheel_packs_the_houses_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert packed_faults(names) == []
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"central", "site_bundle", "installer"}
    data = {path for path in files() if path.startswith(("central/", "site_bundle/", "installer/"))}
    assert {path for path in data if path.endswith((".sql", ".schema.json"))} <= set(names)


def test_archive_takes_no_folder_of_the_tests() -> None:
    """What release/components.yaml puts into the archive beside the wheels (I2, I10)."""
    plan = yaml.safe_load((ROOT / "release" / "components.yaml").read_text(encoding="utf-8"))
    taken = tuple(f"{folder}/" for folder in plan["folders"])
    assert taken
    assert packed_faults([path for path in files() if path.startswith(taken)]) == []
    assert packed_faults([f"{name}/" for name in plan["folders"]] + plan["top_files"]) == []


@pytest.mark.parametrize(
    "text",
    [
        "index = 'https://pypi" + ".org/simple'",
        "cd /work" + "/main",
        "see /tmp" + "/w/x",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1r" * 5,
        "token: ghp" + "_" + "A1b2" * 9,
    ],
)
def test_rule_of_texts_sees(text: str) -> None:
    assert text_faults("x", text)


@pytest.mark.parametrize("text", ["StateDirectory=/var/lib/work/", "framework/main", "a network/x"])
def test_rule_of_texts_lets_pass(text: str) -> None:
    assert text_faults("x", text) == []


@pytest.mark.parametrize(
    "name", ["tests/lab/host.sh", "central/simulators/x.py", "site_bundle/lab/seed.ldif"]
)
def test_rule_of_packing_sees(name: str) -> None:
    assert packed_faults([name]) == [name]
    assert packed_faults(["central/kernel/labels.py", "installer/phases/install.py"]) == []
