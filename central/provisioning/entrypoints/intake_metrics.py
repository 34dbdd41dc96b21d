"""What the intake counts; labels are Sites and outcomes, both bounded (X9)."""

from collections.abc import Mapping
from datetime import timedelta

from prometheus_client import CollectorRegistry, Counter, Gauge

from central.kernel.site_names import Site


class IntakeMetrics:
    """Outcomes by Site, and how old the last report was when it came (E14)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._outcomes = Counter(
            "pharos_intake_outcomes_total",
            "What reports were told about resources.",
            ["site", "outcome"],
            registry=registry,
        )
        self._age = Gauge(
            "pharos_intake_report_age_seconds",
            "Age of the last report when it was received; negative: the Site's clock is ahead.",
            ["site"],
            registry=registry,
        )

    def count(self, site: Site, outcomes: Mapping[str, int], age: timedelta) -> None:
        """Count one report."""
        for outcome, number in outcomes.items():
            self._outcomes.labels(site, outcome).inc(number)
        self._age.labels(site).set(age.total_seconds())
