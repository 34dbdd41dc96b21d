"""The codes a stage's result or refusal can bear beside those in the sources (docs/errors.md)."""

from __future__ import annotations

from site_bundle.runtime.domain.bounds import OUTSIDE
from site_bundle.runtime.domain.rejections import REJECTIONS, RETRIED
from site_bundle.runtime.domain.script import EXIT_CODES
from site_bundle.runtime.domain.stage import CLOSING, EXPIRED, IDENTITY_CHANGED, NOT_UNDERSTOOD

CODES = dict.fromkeys(EXIT_CODES.values(), "why a stage ended: its own script says so") | {
    code: "sbatch was refused by the controller for good"
    for table in REJECTIONS.values()
    for code in table.values()
    if code not in RETRIED
}
CODES |= {f"slurm_{code}": "sbatch was refused for now; it is tried again" for code in RETRIED}
CODES |= {
    OUTSIDE: "refused by the host's own rule: no member's number, or no account of the platform's",
    IDENTITY_CHANGED: "refused: the host's account is not the one the Run was accepted for",
    EXPIRED: "not begun in its time; central asks again",
    NOT_UNDERSTOOD: "refused by its name alone: a command of another form than this release knows",
    CLOSING: "not begun: the Attempt was cancelled or cleaned up",
}
