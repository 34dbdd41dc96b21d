"""Settings of a reporter that are right."""

from __future__ import annotations

GOOD = {
    "PHAROS_INTAKE_URL": "https://intake.example.org",
    "PHAROS_INTAKE_KEY": "secret-key",
    "PHAROS_WALDUR_API_URL": "https://waldur.example.org/api/",
    "PHAROS_WALDUR_TOKEN_FILE": "/run/credentials/waldur-token",
    "PHAROS_WALDUR_OFFERING_UUID": "00000000000040008000000000000306",
    "PHAROS_WALDUR_INSTANCE": "waldur.example.org",
    "PHAROS_REPORTER_SITE": "slurm",
    "PHAROS_REPORTER_LDAP_URL": "ldap://127.0.0.1:389",
    "PHAROS_REPORTER_LDAP_BIND_DN": "cn=pharos-agent,ou=services,dc=x",
    "PHAROS_REPORTER_LDAP_PASSWORD": "secret-password",
    "PHAROS_REPORTER_PEOPLE_BASE": "ou=people,dc=x",
    "PHAROS_REPORTER_GROUPS_BASE": "ou=groups,dc=x",
    "PHAROS_REPORTER_UID_MIN": "5000000",
    "PHAROS_REPORTER_UID_MAX": "5499999",
    "PHAROS_REPORTER_GID_MIN": "5500000",
    "PHAROS_REPORTER_GID_MAX": "5599999",
    "PHAROS_REPORTER_CLUSTER": "Icarus",
    "PHAROS_REPORTER_PARENT_ACCOUNT": "Pharos",
    "PHAROS_REPORTER_CAPACITY": '{"cpu":16000,"memory":68719476736,"gpu.gh200":2}',
}
