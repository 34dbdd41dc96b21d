"""What a running stack says of itself: to programs in `dev.json`, to people on the terminal."""

import os

from central.dev.execution_settings import audience_of
from central.dev.plan import AUDIENCE, WALDUR_INSTANCE, DevPlan
from central.dev.processes import Origin, Running


def document(plan: DevPlan, running: Running) -> dict[str, object]:
    """`dev.json`."""
    children = {child.name: child.process.pid for child in running.children.running}
    return {
        "schema": 1,
        "developmentStandIn": True,
        "state": str(plan.state),
        "sites": list(plan.sites),
        "siteApi": _origin(running.site_api),
        "intake": {
            **_origin(running.intake),
            "keyFiles": {site: str(plan.intake_key_file(site)) for site in plan.sites},
            "waldurInstance": WALDUR_INSTANCE,
        },
        "memberApi": {"url": running.member_api.url},
        "worker": {"url": running.worker.url},
        "overview": {"url": f"{running.overview.url}/"},
        "oidc": {"issuer": running.issuer, "audience": AUDIENCE},
        "runs": _runs(plan, running),
        "beto": {"control": str(plan.beto_control), "truth": str(plan.beto_truth)},
        "accounts": None if plan.reported else str(plan.accounts),
        "logs": str(plan.logs),
        "operatorDatabaseUrlFile": str(plan.url_file("operator")),
        "ownerDatabaseUrlFile": str(plan.url_file("owner")),
        "brokerDatabaseUrlFile": str(plan.url_file("beto")),
        "pids": {"dev": os.getpid(), "postgres": running.postgres_pid, **children},
    }


def summary(plan: DevPlan, running: Running) -> list[str]:
    """Lines for the terminal."""
    keys = [f"intake key  {plan.intake_key_file(site)} ({site})" for site in plan.sites]
    accounts = (
        "accounts    from Beto's stand-in and the Sites' reports (P30)"
        if plan.reported
        else f"accounts    {plan.accounts} (edit it: it says whose account a key goes to)"
    )
    lines = [
        f"Site API    {running.site_api.url}",
        f"intake      {running.intake.url}",
        *keys,
        f"member API  {running.member_api.url}",
        f"worker      {running.worker.url}/metrics",
        f"page        {running.overview.url}/ (what is known, and how fresh)",
        f"OIDC issuer {running.issuer} (audience {AUDIENCE})",
        accounts,
    ]
    if running.runs is not None:
        lines += [
            f"Project API {running.runs.project_api.url}",
            f"Git host    {running.runs.git.url} (CA {running.runs.git.ca_file})",
            f"a repository: pharos-central dev repository new --state {plan.state} --name group/project.git",
            f"a consent:  pharos-central dev consent --state {plan.state} --member u1",
        ]
    if running.site_api.ca_file is not None:
        lines.append(f"CA          {running.site_api.ca_file}")
    return [
        *lines,
        f"dev.json    {plan.dev_json}",
        f"a token:    pharos-central dev token --state {plan.state} --member alice",
        f"a grant:    pharos-central dev grant --state {plan.state} --output FILE",
        f"a Project:  pharos-central dev project new --state {plan.state} --ref WALDUR-PROJECT",
        f"a member:   pharos-central dev member add --state {plan.state} --username u1",
    ]


def _runs(plan: DevPlan, running: Running) -> dict[str, object] | None:
    if running.runs is None:
        return None
    return {
        "projectApi": {"url": running.runs.project_api.url},
        "worker": {"url": running.runs.worker.url},
        "git": {**_origin(running.runs.git), "folder": str(plan.repositories)},
        "slurmKeySets": {
            site: f"{running.issuer}/slurm/{audience_of(site)}/jwks" for site in plan.slurm_sites
        },
    }


def _origin(origin: Origin) -> dict[str, object]:
    return {
        "url": origin.url,
        "listen": origin.listen,
        "caFile": str(origin.ca_file) if origin.ca_file else None,
    }
