"""Slurm's definite rejections against what its versions' own libraries say (S12, A33)."""

from __future__ import annotations

import pytest

from site_bundle.runtime.domain.rejections import COMMON, REJECTIONS, rejection
from tests.unit.site_bundle.slurm.recordings import recorded

SAID = "sbatch: error: Batch job submission failed: "
VERSIONS = sorted(REJECTIONS)


def told(version: tuple[int, int]) -> dict[str, str]:
    """Text by number."""
    lines = recorded(f"rejections-{version[0]}.{version[1]:02}").splitlines()
    return dict(line.split(" ", 1) for line in lines)


@pytest.mark.parametrize("version", VERSIONS)
def test_s12_each_versions_table_is_what_its_library_says(version: tuple[int, int]) -> None:
    texts = {text for number, text in told(version).items() if text != f"Unknown error {number}"}
    assert texts == set(REJECTIONS[version])


def test_s12_a_text_means_the_same_number_in_every_version() -> None:
    numbers: dict[str, set[str]] = {}
    for version in VERSIONS:
        for number, text in told(version).items():
            numbers.setdefault(text, set()).add(number)
    assert {text for text, found in numbers.items() if len(found) > 1} == set()


@pytest.mark.parametrize("version", [(24, 5), (25, 5), (99, 1), (19, 5), None])
def test_s12_of_an_unknown_version_only_what_all_say_is_definite(version: tuple[int, int] | None) -> None:
    for text, code in COMMON.items():
        assert rejection(version, f"{SAID}{text}\n") == code
    newer = f"{SAID}Requested topology configuration is not available\n"
    assert rejection(version, newer) is None and rejection((23, 11), newer) is None
    assert rejection((24, 11), newer) == "resources_unavailable"
