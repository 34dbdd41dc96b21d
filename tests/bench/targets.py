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
    "report_unchanged_vs_limit": Target(must=0.35, aim=0.55, better="higher"),
    "accounts_unchanged_vs_limit": Target(must=0.25, aim=0.45, better="higher"),
    "batch_vs_drf": Target(must=250, aim=450, better="higher"),
    "batch_vs_single": Target(must=100, aim=180, better="higher"),
    "report_1pct_vs_unchanged": Target(must=0.60, aim=0.75, better="higher"),
    "report_changed_vs_plain": Target(must=8, aim=16, better="higher"),
    "hot_share": Target(must=99, aim=100, better="higher"),
    "stale_renewals": Target(must=0, aim=0, better="lower"),
    "deadlocks": Target(must=0, aim=0, better="lower"),
    "sacct_vs_split": Target(must=0.40, aim=0.55, better="higher"),
    "reporter_commands_growth": Target(must=1.0, aim=1.0, better="lower"),
    "reporter_rss_vs_python": Target(must=4.0, aim=3.0, better="lower"),
    "reporter_vs_upstream": Target(must=1 / 50, aim=1 / 200, better="lower"),
}
