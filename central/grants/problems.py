"""The refusals every call of the Site API shares (docs/wire.md, rules 3 and 10)."""

from collections.abc import Mapping

from central.kernel.problems import ProblemSpec, problem_table

SCHEMA_UNSUPPORTED = ProblemSpec(
    code="schema_unsupported",
    status=406,
    title="No common schema",
    meaning="The range in `Pharos-Schema` holds no schema number this central speaks.",
    remedy="Upgrade the older of the two ends; docs/wire.md lists the numbers.",
)

PROBLEMS: Mapping[str, ProblemSpec] = problem_table(SCHEMA_UNSUPPORTED)
