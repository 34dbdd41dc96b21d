"""The site's components by name, and the credentials each is handed (I3, I7).

A credential's name is its file's below ``/etc/pharos-hpc/credentials/<component>/``, and what its unit loads.
"""

from typing import Final

SSH_ACCESS: Final = "ssh-access"
REPORTER: Final = "reporter"
RUNTIME: Final = "runtime"
COMPONENTS: Final = (SSH_ACCESS, REPORTER, RUNTIME)

SITE_API_TOKEN: Final = "site-api-token"  # noqa: S105 - the file's name
INTAKE_KEY, WALDUR_TOKEN, LDAP_PASSWORD = "intake-key", "waldur-token", "ldap-password"
CREDENTIALS: Final[dict[str, tuple[str, ...]]] = {
    SSH_ACCESS: (SITE_API_TOKEN,),
    REPORTER: (INTAKE_KEY, WALDUR_TOKEN, LDAP_PASSWORD),
    RUNTIME: (SITE_API_TOKEN,),
}
