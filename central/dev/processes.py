"""The stack's processes: what each is started with, and when it counts as up."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import central
from central.dev.certificates import ensure_authority, issue_leaf
from central.dev.children import Child, Children
from central.dev.execution_settings import ExecutionSettings, audience_of
from central.dev.plan import AUDIENCE, OWNERS, WALDUR_INSTANCE, DevPlan, DevRefused, Listening
from central.dev.probe import answers, listens
from central.dev.state import CLIENT_FILE, GIT_FILE
from central.kernel.times import utc_now

READY_SECONDS: Final = 60.0
PORT_OF: Final = {
    "provisioning-worker": "worker",
    "provisioning-intake": "intake",
    "site-api": "site_api",
    "member-api": "member_api",
    "project-api": "project_api",
    "execution-worker": "execution",
    "overview": "overview",
}
FOR_SITES: Final = ("site-api", "provisioning-intake")
"""Origins of their own for Sites' agents (I18)."""
_ROOT: Final = Path(central.__file__).resolve().parent.parent
"""The checkout this code runs from."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One HTTP process: what its callers use, where it listens, what they must trust."""

    url: str
    listen: str
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """What `dev.json` tells."""

    site_api: Origin
    intake: Origin
    member_api: Origin
    worker: Origin
    overview: Origin
    issuer: str
    runs: "RunParts | None"
    children: Children
    postgres_pid: int | None


@dataclass(frozen=True, slots=True)
class RunParts:
    """What is there with `--runs`."""

    project_api: Origin
    worker: Origin
    git: Origin


@dataclass(frozen=True, slots=True)
class _Starter:
    """Starts processes side by side, then waits for each."""

    plan: DevPlan
    children: Children
    ports: Mapping[str, int]

    def issuer(self) -> str:
        """The OIDC issuer's URL, once it answers."""
        port = self.ports["oidc"]
        arguments = [
            "--listen", f"127.0.0.1:{port}", "--audience", AUDIENCE,
            "--keys", str(self.plan.secrets / "oidc-keys.json"), "--parent", str(os.getpid()),
            "--client-secret-file", str(self.plan.secret_file(CLIENT_FILE)),
        ]  # fmt: skip
        for site in self.plan.slurm_sites:
            arguments += ["--slurm-audience", audience_of(site)]
        self._simulator("oidc-issuer", "tests.simulators.oidc", arguments)
        return f"http://127.0.0.1:{port}"

    def beto(self) -> None:
        """Beto and the owners of accepted work, at the broker."""
        arguments = [
            "--broker-url-file", str(self.plan.url_file("beto")), "--state", str(self.plan.beto_truth),
            "--control", str(self.plan.beto_control), "--parent", str(os.getpid()),
        ]  # fmt: skip
        for owner in self.plan.owners:
            arguments += ["--owner", owner]
        self.plan.beto_control.unlink(missing_ok=True)
        self._simulator("beto", "tests.simulators.beto", arguments)

    def git(self) -> Origin:
        """The Git host, over TLS, and who gives out its credentials, on loopback."""
        plan, at = self.plan, f"{self.plan.git.host}:{self.ports['git']}"
        now = utc_now()
        ca_file = ensure_authority(plan.tls, now)
        name = plan.tls_name or "localhost"
        certificate, key = issue_leaf(plan.tls, name, plan.git.host, now, stem="git")
        arguments = [
            "--folder", str(plan.repositories), "--listen", at, "--tls-name", plan.git_name,
            "--tls-certificate", str(certificate), "--tls-key", str(key),
            "--credentials-token-file", str(plan.secret_file(GIT_FILE)),
            "--credentials-listen", f"127.0.0.1:{self.ports['credentials']}", "--parent", str(os.getpid()),
        ]  # fmt: skip
        self._simulator("git", "tests.simulators.git", arguments)
        return Origin(f"https://{plan.git_name}:{self.ports['git']}", at, ca_file)

    def serve(self, name: str, words: str, at: Listening, settings: Mapping[str, str]) -> Origin:
        """Starts `pharos-central WORDS` listening there; over TLS where Sites reach it by a name."""
        process, port = name.upper().replace("-", "_"), self.ports[PORT_OF[name]]
        environment = {
            **self._environment(),
            f"PHAROS_{process}_LISTEN": f"{at.host}:{port}",
            **settings,
        }
        url, ca_file = f"http://{at.host}:{port}", None
        if self.plan.tls_name is not None and name in FOR_SITES:
            now = utc_now()
            ca_file = ensure_authority(self.plan.tls, now)
            certificate, key = issue_leaf(self.plan.tls, self.plan.tls_name, at.host, now, stem=name)
            environment |= {"PHAROS_TLS_CERTIFICATE": str(certificate), "PHAROS_TLS_KEY_FILE": str(key)}
            url = f"https://{self.plan.tls_name}:{port}"
        self.children.start(name, ["-P", "-m", "central.cli", *words.split(" ")], environment)
        return Origin(url, f"{at.host}:{port}", ca_file)

    def wait(self, origins: Mapping[str, Origin], issuer: str) -> None:
        """Until everything answers. Raises `ChildFailed`."""
        for child in self.children.running:
            if child.name in origins:
                origin = origins[child.name]
                self._wait(child, origin)
            elif child.name == "oidc-issuer":
                ready = f"{issuer}/.well-known/openid-configuration"
                self.children.wait_until(child, partial(answers, ready), READY_SECONDS)
            elif child.name == "git":
                self.children.wait_until(child, partial(listens, self.ports["credentials"]), READY_SECONDS)
            else:
                self.children.wait_until(child, self.plan.beto_control.exists, READY_SECONDS)

    def _wait(self, child: Child, origin: Origin) -> None:
        host, _, port = origin.listen.rpartition(":")
        reach = "127.0.0.1" if host in ("0.0.0.0", "[::]") else host  # noqa: S104 - compared
        ready = f"{'https' if origin.ca_file else 'http'}://{reach}:{port}/readyz"
        name = self.plan.tls_name if origin.ca_file else None
        self.children.wait_until(child, lambda: answers(ready, origin.ca_file, name), READY_SECONDS)

    def _simulator(self, name: str, module: str, arguments: list[str]) -> None:
        if not _ROOT.joinpath(*module.split("."), "__main__.py").is_file():
            raise DevRefused(f"{module} is not here: `dev` needs a source checkout, not an installed wheel")
        self.children.start(name, ["-P", "-m", module, *arguments], inherited())

    def _environment(self) -> dict[str, str]:
        return {
            **inherited(),
            "PHAROS_ENVIRONMENT": "development",
            "PHAROS_SITES": ",".join(self.plan.sites),
        }


def start_processes(
    plan: DevPlan, children: Children, ports: Mapping[str, int], postgres_pid: int | None
) -> Running:
    """Starts everything beside PostgreSQL and waits until it answers. Raises `ChildFailed`, `DevRefused`."""
    starter = _Starter(plan, children, ports)
    loopback = Listening("127.0.0.1", 0)
    issuer = starter.issuer()
    starter.beto()
    worker = starter.serve("provisioning-worker", "work provisioning", loopback, _worker_settings(plan))
    intake = starter.serve(
        "provisioning-intake", "serve provisioning-intake", plan.intake, _intake_settings(plan)
    )
    execution = ExecutionSettings(plan, issuer, ports["credentials"])
    site_api = starter.serve("site-api", "serve site-api", plan.site_api, execution.site_api())
    member_api = starter.serve(
        "member-api", "serve member-api", loopback, _member_settings(plan, issuer) | execution.tokens()
    )
    overview = starter.serve("overview", "serve overview", loopback, _overview_settings(plan))
    origins = {
        "overview": overview,
        "provisioning-worker": worker,
        "provisioning-intake": intake,
        "site-api": site_api,
        "member-api": member_api,
    }
    runs = _start_runs(starter, execution) if plan.runs else None
    if runs is not None:
        origins |= {"project-api": runs.project_api, "execution-worker": runs.worker}
    starter.wait(origins, issuer)
    return Running(site_api, intake, member_api, worker, overview, issuer, runs, children, postgres_pid)


def _start_runs(starter: _Starter, execution: ExecutionSettings) -> RunParts:
    loopback = Listening("127.0.0.1", 0)
    git = starter.git()
    project_api = starter.serve("project-api", "serve project-api", loopback, execution.project_api())
    worker = starter.serve("execution-worker", "work execution", loopback, execution.worker())
    return RunParts(project_api, worker, git)


def _owner_settings(plan: DevPlan) -> dict[str, str]:
    return {
        "RESOURCE_PROVISIONING_DATABASE_URL_FILE": str(plan.url_file("owner")),
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": str(plan.url_file("views")),
        "PHAROS_ACCEPTED_WORK_OWNERS": ",".join(OWNERS),
    }


def _worker_settings(plan: DevPlan) -> dict[str, str]:
    queries = str(plan.url_file("queries"))
    return {**_owner_settings(plan), "RESOURCE_PROVISIONING_QUERIES_BROKER_URL_FILE": queries}


def _intake_settings(plan: DevPlan) -> dict[str, str]:
    keys = {
        f"RESOURCE_PROVISIONING_{site.upper().replace('-', '_')}_INTAKE_KEY_FILE": str(
            plan.intake_key_file(site)
        )
        for site in plan.sites
    }
    kubernetes = {"PHAROS_KUBERNETES_SITES": "k8s"} if "k8s" in plan.sites else {}
    return {
        **_owner_settings(plan),
        **keys,
        **kubernetes,
        "RESOURCE_PROVISIONING_WALDUR_INSTANCE": WALDUR_INSTANCE,
    }


def _member_settings(plan: DevPlan, issuer: str) -> dict[str, str]:
    reader = str(plan.url_file("reader"))
    reported = {
        "RESOURCE_PROVISIONING_DATABASE_URL_FILE": reader,
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": reader,
    }
    return {
        "PHAROS_DATABASE_URL_FILE": str(plan.url_file("member_api")),
        "PHAROS_OIDC_ISSUER": issuer,
        "PHAROS_OIDC_AUDIENCE": AUDIENCE,
        **(reported if plan.reported else {"PHAROS_DEVELOPMENT_ACCOUNTS": str(plan.accounts)}),
    }


def _overview_settings(plan: DevPlan) -> dict[str, str]:
    return {
        "PHAROS_DATABASE_URL_FILE": str(plan.url_file("overview")),
        "PHAROS_ACCEPTED_WORK_OWNERS": ",".join(OWNERS),
    }


def inherited() -> dict[str, str]:
    """Our own environment without the product's settings: the stack's come from the plan alone."""
    ours = ("PHAROS_", "RESOURCE_PROVISIONING_", "JOURNAL_STREAM", "NOTIFY_SOCKET")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    search = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(search)}
