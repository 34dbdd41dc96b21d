"""The style sheet: what is read stands out enough in light and dark (WCAG 2.2, 1.4.3 and 1.4.11), and nothing
is fetched.
"""

from __future__ import annotations

import re
from importlib import resources

import pytest

SHEET = resources.files("central.web").joinpath("static", "overview.css").read_text(encoding="utf-8")
SCHEMES = [
    dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{([^}]*)", SHEET)
]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2, "relative luminance")."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_counted_as_the_guideline_counts_it() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_text_stands_out(scheme: dict[str, str]) -> None:
    for name in ("ink", "quiet", "link", "fresh", "stale", "lost"):
        assert contrast(scheme[name], scheme["ground"]) >= 4.5, name
    assert contrast(scheme["ink"], scheme["head"]) >= 4.5
    assert contrast(scheme["line"], scheme["ground"]) >= 3


def test_both_schemes_name_every_colour_and_nothing_is_fetched() -> None:
    assert len(SCHEMES) == 2
    assert set(SCHEMES[0]) == set(SCHEMES[1]) >= set(re.findall(r"var\(--([a-z]+)\)", SHEET))
    assert "url(" not in SHEET
    assert "@import" not in SHEET
    assert ":focus-visible" in SHEET
