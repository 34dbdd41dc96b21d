"""What the stack's processes of Runs are started with (`--runs`)."""

from dataclasses import dataclass

from central.dev.plan import AUDIENCE, DevPlan
from central.dev.state import CLIENT_FILE, CONSENT_FILE, GIT_FILE

CLIENT_ID = "pharos-central"


def audience_of(site: str) -> str:
    """The issuer's audience for a Site's Slurm."""
    return f"slurm.{site}"


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """Variables of each. `credentials` is the port of who gives out the Git host's credentials."""

    plan: DevPlan
    issuer: str
    credentials: int

    def site_api(self) -> dict[str, str]:
        """The Site API's, with the half for Runs where they are accepted."""
        own = {
            "PHAROS_DATABASE_URL_FILE": str(self.plan.url_file("site_api")),
            "PHAROS_SITE_API_POLLERS": str(self.plan.pollers),
        }
        if not self.plan.runs:
            return own
        return own | self._oidc() | self.tokens() | self._evidence() | self._git_host()

    def tokens(self) -> dict[str, str]:
        """Members' consents: also the member API's."""
        if not self.plan.runs:
            return {}
        pairs = ",".join(f"{site}={audience_of(site)}" for site in self.plan.slurm_sites)
        return {
            "PHAROS_EXECUTION_TOKEN_CLIENT_ID": CLIENT_ID,
            "PHAROS_EXECUTION_TOKEN_CLIENT_SECRET_FILE": str(self.plan.secret_file(CLIENT_FILE)),
            "PHAROS_EXECUTION_CONSENT_KEYS_FILE": str(self.plan.secret_file(CONSENT_FILE)),
            "PHAROS_EXECUTION_SLURM_AUDIENCES": pairs,
        }

    def project_api(self) -> dict[str, str]:
        """The Project API's."""
        own = {
            "PHAROS_DATABASE_URL_FILE": str(self.plan.url_file("project_api")),
            "PHAROS_EXECUTION_SITES": ",".join(self.plan.slurm_sites),
        }
        return own | self._oidc() | self._evidence()

    def worker(self) -> dict[str, str]:
        """The worker's."""
        execution = str(self.plan.url_file("execution"))
        own = {
            "PHAROS_DATABASE_URL_FILE": execution,
            "PHAROS_EXECUTION_BROKER_URL_FILE": execution,
            "RESOURCE_PROVISIONING_DATABASE_URL_FILE": str(self.plan.url_file("reader")),
        }
        return own | self._git_host()

    def _oidc(self) -> dict[str, str]:
        return {"PHAROS_OIDC_ISSUER": self.issuer, "PHAROS_OIDC_AUDIENCE": AUDIENCE}

    def _evidence(self) -> dict[str, str]:
        reader = str(self.plan.url_file("reader"))
        return {
            "RESOURCE_PROVISIONING_DATABASE_URL_FILE": reader,
            "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": reader,
        }

    def _git_host(self) -> dict[str, str]:
        return {
            "PHAROS_REPOSITORY_CREDENTIALS_URL": f"http://127.0.0.1:{self.credentials}",
            "PHAROS_REPOSITORY_CREDENTIALS_TOKEN_FILE": str(self.plan.secret_file(GIT_FILE)),
            "PHAROS_REPOSITORY_CA_FILE": str(self.plan.tls / "ca.crt"),
        }
