"""Central's evidence: what it may say, and that the Site's verifier believes it (I12, X8)."""

import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from central.cli import cli
from central.evidence.adapters.signed_files import SignedFiles, SigningFailed, render
from central.evidence.application.issue_evidence import IssueEvidence
from central.evidence.domain.statement import (
    CONTRACTS,
    DELEGATION,
    NAMESPACE,
    NEEDS,
    EvidenceRefused,
    Statement,
    TokenKeys,
    check,
)
from installer.domain.contracts import CONTRACTS as INSTALLERS
from installer.domain.contracts import NEEDS as INSTALLERS_NEEDS
from installer.domain.evidence import NAMESPACE as INSTALLERS_NAMESPACE
from installer.domain.evidence import parse_evidence

SITES = ("slurm", "k8s")
NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)
STATEMENT = Statement(
    contract="central-bootstrap",
    revision="1",
    component="ssh-access",
    site="slurm",
    issued_by="Anna Example",
    issued_at=NOW,
    valid_until=NOW + timedelta(days=90),
    laboratory=False,
)


@pytest.fixture(scope="module")
def signing_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "evidence"
    subprocess.run(
        ["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-C", "", "-f", path], check=True, timeout=60
    )
    return path


def test_both_ends_name_the_same_contracts_and_namespace() -> None:
    assert set(CONTRACTS) == set(INSTALLERS)
    assert NAMESPACE == INSTALLERS_NAMESPACE
    assert dict(NEEDS) == INSTALLERS_NEEDS


@pytest.mark.parametrize("site", ["icarus-hpc", "Slurm", "other", ""])
def test_i12_evidence_is_for_a_site_of_the_platform(site: str) -> None:
    with pytest.raises(EvidenceRefused, match="known are slurm, k8s") as refused:
        check(replace(STATEMENT, site=site), SITES)
    assert refused.value.code == "evidence_site"


def test_i12_evidence_is_for_a_contract_its_component_needs() -> None:
    with pytest.raises(EvidenceRefused, match="needs central-bootstrap, beto") as refused:
        check(replace(STATEMENT, contract="repository-grants"), SITES)
    assert refused.value.code == "evidence_contract"
    assert check(replace(STATEMENT, contract="repository-grants", component="runtime"), SITES)


def test_i12_the_command_needs_to_know_the_platforms_sites(signing_key: Path, tmp_path: Path) -> None:
    words = ["evidence", "issue", "--contract", "central-bootstrap", "--revision", "1"]
    words += ["--component", "reporter", "--issued-by", "Anna", "--until", "90d", "--key", str(signing_key)]
    words += ["--output", str(tmp_path / "e.yaml"), "--site"]
    for sites, site, code, said in (
        (None, "slurm", 2, "PHAROS_SITES: missing"),
        ("slurm,", "slurm", 2, "PHAROS_SITES: wanted"),
        ("slurm", "icarus-hpc", 3, "known are slurm"),
        ("slurm", "slurm", 0, "e.yaml.sig"),
    ):
        done = CliRunner().invoke(cli, [*words, site], env={"PHAROS_SITES": sites})
        assert (done.exit_code, said in done.output) == (code, True), done.output


def test_i12_a_name_no_site_would_read_is_refused(signing_key: Path, tmp_path: Path) -> None:
    words = ["evidence", "issue", "--contract", "central-bootstrap", "--revision", "1", "--site", "slurm"]
    words += ["--component", "reporter", "--issued-by", "Anna", "--until", "90d", "--key", str(signing_key)]
    done = CliRunner().invoke(
        cli, [*words, "--output", str(tmp_path / "e.txt")], env={"PHAROS_SITES": "slurm"}
    )
    assert (done.exit_code, "evidence_name" in done.output) == (3, True), done.output
    assert not list(tmp_path.glob("e.*"))


def test_the_installer_reads_what_central_writes() -> None:
    evidence = parse_evidence(yaml.safe_load(render(STATEMENT)))
    assert (evidence.contract, evidence.site, evidence.laboratory) == ("central-bootstrap", "slurm", False)
    assert (evidence.issuedAt, evidence.validUntil) == ("2026-11-02T10:00:00Z", "2027-01-31T10:00:00Z")


def test_s2_evidence_of_delegation_names_the_keys_of_members_tokens() -> None:
    keys = TokenKeys(key_ids=("slurm-1", "slurm-2"), user_claim="preferred_username")
    stated = check(replace(STATEMENT, contract=DELEGATION, component="runtime", token_keys=keys), SITES)
    read = parse_evidence(yaml.safe_load(render(stated))).tokenKeys
    assert read is not None
    assert (read.keyIds, read.userClaim) == (("slurm-1", "slurm-2"), "preferred_username")


@pytest.mark.parametrize(
    ("contract", "keys"),
    [
        (DELEGATION, None),
        (DELEGATION, TokenKeys(key_ids=(), user_claim="sub")),
        (DELEGATION, TokenKeys(key_ids=("a", "a"), user_claim="sub")),
        (DELEGATION, TokenKeys(key_ids=("a b",), user_claim="sub")),
        (DELEGATION, TokenKeys(key_ids=("a",), user_claim="")),
        ("repository-grants", TokenKeys(key_ids=("a",), user_claim="sub")),
    ],
)
def test_s2_keys_of_tokens_are_named_there_and_nowhere_else(contract: str, keys: TokenKeys | None) -> None:
    with pytest.raises(EvidenceRefused):
        check(replace(STATEMENT, contract=contract, component="runtime", token_keys=keys), SITES)


def test_a_number_like_revision_stays_text() -> None:
    for revision in ("1", "0.10", "1e3", "2026-11-02", "no", "null"):
        assert yaml.safe_load(render(replace(STATEMENT, revision=revision)))["revision"] == revision


def test_the_signature_verifies_under_its_namespace_alone(signing_key: Path, tmp_path: Path) -> None:
    path = tmp_path / "central.yaml"
    signature = IssueEvidence(SignedFiles(), SITES)(STATEMENT, path, signing_key)
    signers = tmp_path / "signers"
    signers.write_text(f"central {signing_key.with_suffix('.pub').read_text()}")

    def verified(namespace: str, content: bytes) -> bool:
        return (
            subprocess.run(
                [
                    "ssh-keygen",
                    "-Y",
                    "verify",
                    "-f",
                    signers,
                    "-I",
                    "central",
                    "-n",
                    namespace,
                    "-s",
                    signature,
                ],
                input=content,
                capture_output=True,
                timeout=60,
            ).returncode
            == 0
        )

    content = path.read_bytes()
    assert verified(NAMESPACE, content)
    assert not verified("pharos-hpc-release", content)
    assert not verified(NAMESPACE, content.replace(b"slurm", b"other"))
    assert sorted(found.name for found in tmp_path.iterdir()) == [
        "central.yaml",
        "central.yaml.sig",
        "signers",
    ]


def test_an_existing_file_is_not_replaced(signing_key: Path, tmp_path: Path) -> None:
    path = tmp_path / "central.yaml"
    path.write_text("precious")
    with pytest.raises(EvidenceRefused):
        IssueEvidence(SignedFiles(), SITES)(STATEMENT, path, signing_key)
    assert path.read_text() == "precious"


def test_a_key_that_does_not_sign_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SigningFailed):
        IssueEvidence(SignedFiles(), SITES)(STATEMENT, tmp_path / "central.yaml", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"contract": "everything"}, "evidence_contract"),
        ({"component": "ssh"}, "evidence_component"),
        ({"site": "Slurm"}, "evidence_site"),
        ({"site": "slurm\n"}, "evidence_site"),
        ({"revision": ""}, "evidence_revision"),
        ({"revision": "1\nlaboratory: false"}, "evidence_revision"),
        ({"issued_by": ""}, "evidence_issuer"),
        ({"issued_by": "a\nb"}, "evidence_issuer"),
        ({"valid_until": NOW}, "evidence_until"),
        ({"valid_until": NOW + timedelta(days=401)}, "evidence_until"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(changed: dict[str, object], code: str) -> None:
    with pytest.raises(EvidenceRefused) as refused:
        check(replace(STATEMENT, **changed), SITES)  # type: ignore[arg-type]
    assert refused.value.code == code
