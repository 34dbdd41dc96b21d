"""Evidence: signed, for this contract, revision, component, site and time (I12, X8, row 41)."""

from pathlib import Path

import pytest
import yaml

from installer.domain.contracts import CONTRACTS as CONTRACT_MEANINGS
from installer.domain.contracts import NEEDS
from installer.domain.refusal import Refusal
from tests.installer.rig import CONTRACTS, Rig

CONTRACT = "central-bootstrap"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"revision": "2"}, "accepts revision 2"),
        ({"component": "runtime"}, "for component runtime"),
        ({"site": "k8s"}, "for site k8s"),
        ({"validUntil": "2026-06-01T12:00:00Z"}, "expired"),
        ({"issuedAt": "2026-06-01T12:00:01Z"}, "after now"),
        ({"key": "stranger"}, "signature_signer_unknown"),
        ({"namespace": "pharos-hpc-release"}, "signature_invalid"),
        ({"extra": 1}, "schema_mismatch"),
        ({"validUntil": "tomorrow"}, "schema_mismatch"),
        ({"validUntil": "2026-02-30T00:00:00Z"}, "time_malformed"),
    ],
)
def test_row_41_i12_other_evidence_is_refused_and_the_reason_told(
    rig: Rig, change: dict[str, str], told: str
) -> None:
    release = rig.release("0.1.0")
    rig.paths.at(f"/evidence/{CONTRACT}.yaml").unlink()
    rig.evidence(CONTRACT, **change)
    result = rig.activate(release)
    assert result.code == 3 and f"evidence [{CONTRACT}]" in result.stderr and told in result.stderr
    assert rig.link() is None


def test_i12_a_changed_file_is_refused(rig: Rig) -> None:
    path = rig.paths.at(f"/evidence/{CONTRACT}.yaml")
    path.write_text(path.read_text().replace("2027", "2099"))
    result = rig.activate(rig.release("0.1.0"))
    assert result.code == 3 and "signature_" in result.stderr


def test_i12_an_unsigned_file_is_refused(rig: Rig) -> None:
    rig.paths.at(f"/evidence/{CONTRACT}.yaml.sig").unlink()
    result = rig.activate(rig.release("0.1.0"))
    assert result.code == 3 and "signature_missing" in result.stderr


def test_i12_one_good_file_beside_an_expired_one_is_enough(rig: Rig) -> None:
    old = rig.evidence(CONTRACT, validUntil="2026-05-01T00:00:00Z")
    for path in (old, old.with_name(old.name + ".sig")):
        path.rename(path.with_name("a-old" + path.name))
    rig.evidence(CONTRACT)
    assert rig.activate(rig.release("0.1.0")).code == 0


def test_x8_a_production_profile_refuses_laboratory_evidence(rig: Rig) -> None:
    rig.profile(kind="production", name="icarus-hpc")
    release = rig.release("0.1.0")
    result = rig.activate(release)
    assert result.code == 3 and "laboratory evidence" in result.stderr and "LABORATORY" not in result.stderr
    for contract in CONTRACTS:
        rig.evidence(contract, laboratory=False)
    assert rig.activate(release).code == 0


def test_x8_laboratory_evidence_is_told_loudly(rig: Rig) -> None:
    result = rig.activate(rig.release("0.1.0"))
    assert (
        result.code == 0 and "LABORATORY profile" in result.stderr and "LABORATORY evidence" in result.stderr
    )


def test_i12_a_rollback_needs_no_new_evidence(rig: Rig, active: str) -> None:
    assert rig.activate(rig.release("0.2.0")).code == 0
    for path in rig.paths.at("/evidence").iterdir():
        path.unlink()
    assert rig.run("rollback").code == 0 and rig.link() == active


def test_a_folder_of_too_many_files_is_refused(rig: Rig) -> None:
    for number in range(70):
        rig.write(f"/evidence/{number}.yaml", "x")
    result = rig.activate(rig.release("0.1.0"))
    assert result.code == 2 and "evidence_too_many" in result.stderr


def test_evidence_of_another_shape_is_one_refusal() -> None:
    from installer.domain.evidence import parse_evidence

    with pytest.raises(Refusal) as caught:
        parse_evidence({"schema": 1})
    assert caught.value.code == "evidence_invalid"


def test_i12_a_release_demands_what_the_table_says() -> None:
    described = yaml.safe_load((Path(__file__).parents[2] / "release/components.yaml").read_text())
    for name, needed in NEEDS.items():
        component = described["components"][name]
        assert set(component["contracts"]) == set(needed) <= set(CONTRACT_MEANINGS)


def test_row_17_a_linked_evidence_folder_is_refused(rig: Rig) -> None:
    folder = rig.paths.at("/evidence")
    real = folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(real)
    result = rig.activate(rig.release("0.1.0"))
    assert result.code == 4 and "input_link" in result.stderr
