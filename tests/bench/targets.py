"""The targets, one line a key; what each compares stands with the function that measures it."""

from __future__ import annotations

from tests.bench.measure import Target

TARGETS: dict[str, Target] = {
    "install_vs_venv_pip": Target(must=0.40, aim=0.20, better="lower"),
    "verify_vs_sha256sum": Target(must=0.80, aim=0.40, better="lower"),
    "install_nochange_s": Target(must=2.0, aim=1.0, better="lower"),
    "activate_gap_s": Target(must=3.0, aim=1.0, better="lower"),
    "start_vs_python": Target(must=7.0, aim=5.5, better="lower"),
    "rss_vs_python": Target(must=4.0, aim=3.0, better="lower"),
}
