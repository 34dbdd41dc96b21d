"""The codes a stage's result or refusal can bear beside those in the sources (docs/errors.md)."""

from __future__ import annotations

from site_bundle.runtime.domain.rejections import REJECTIONS
from site_bundle.runtime.domain.script import EXIT_CODES

CODES = dict.fromkeys(EXIT_CODES.values(), "why a stage ended: its own script says so") | {
    code: "sbatch was refused by the controller for good"
    for table in REJECTIONS.values()
    for code in table.values()
}
