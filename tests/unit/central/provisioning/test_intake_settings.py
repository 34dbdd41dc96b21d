"""Settings of the Site intake and its keys (P11, X5, X6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from central.kernel.problems import Problem
from central.kernel.site_names import Site
from central.provisioning.entrypoints.intake_keys import IntakeKeys
from central.settings import BrokerUrls, Listen, SettingsRefused, load_settings

OLD, NEW, OTHER = ("hunter2" + letter * 32 for letter in "ONk")
LEAST = {
    "RESOURCE_PROVISIONING_DATABASE_URL": "postgresql://pharos_resource_provisioning@db.example/pharos",
    "PHAROS_SITES": "slurm,k8s-a",
}
BROKER = {
    "RESOURCE_PROVISIONING_VIEWS_BROKER_URL": "postgresql://pharos_resource_provisioning_views@db/pharos"
}
INSTANCE = {"RESOURCE_PROVISIONING_WALDUR_INSTANCE": "https://waldur.example.org/"} | BROKER


def faults(**changes: str) -> tuple[str, ...]:
    with pytest.raises(SettingsRefused) as refused:
        load_settings(LEAST | changes, "provisioning_intake")
    assert "hunter2" not in str(refused.value)
    return refused.value.faults


def test_p11_the_least_an_intake_needs_opens_nothing() -> None:
    found = load_settings(LEAST, "provisioning_intake")
    assert found.listen == Listen("127.0.0.1", 8445)
    assert (found.database_url, found.intake_keys, found.waldur_instance) == (
        LEAST["RESOURCE_PROVISIONING_DATABASE_URL"],
        {},
        None,
    )


def test_p11_two_keys_of_a_site_and_one_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(OTHER + "\n")
    file.chmod(0o600)
    keys = {
        "RESOURCE_PROVISIONING_SLURM_INTAKE_KEY": f"{OLD},{NEW}",
        "RESOURCE_PROVISIONING_K8S_A_INTAKE_KEY_FILE": str(file),
    }
    found = load_settings(LEAST | INSTANCE | keys, "provisioning_intake")
    assert found.intake_keys == {"slurm": (OLD, NEW), "k8s-a": (OTHER,)}
    assert "hunter2" not in repr(found)


def test_p11_a_key_needs_the_waldur_instance() -> None:
    (fault,) = faults(RESOURCE_PROVISIONING_SLURM_INTAKE_KEY=OLD, **BROKER)
    assert fault.startswith("RESOURCE_PROVISIONING_WALDUR_INSTANCE: missing")


def test_p20_a_key_needs_the_view_credential() -> None:
    (fault,) = faults(RESOURCE_PROVISIONING_SLURM_INTAKE_KEY=OLD, **(INSTANCE | dict.fromkeys(BROKER, "")))
    assert fault.startswith("RESOURCE_PROVISIONING_VIEWS_BROKER_URL (or RESOURCE_PROVISIONING_VIEWS_BROKER")


def test_o4_the_broker_is_listened_to_directly() -> None:
    url = BROKER["RESOURCE_PROVISIONING_VIEWS_BROKER_URL"]
    assert load_settings(LEAST | INSTANCE, "provisioning_intake").views_broker == BrokerUrls(url, url)
    direct = {"RESOURCE_PROVISIONING_VIEWS_BROKER_DIRECT_URL": "postgresql://views@server/pharos"}
    found = load_settings(LEAST | INSTANCE | direct, "provisioning_intake")
    assert found.views_broker == BrokerUrls(url, "postgresql://views@server/pharos")
    assert "postgresql" not in repr(found)


def test_p37_the_worker_needs_its_database_and_the_brokers_alone() -> None:
    with pytest.raises(SettingsRefused) as refused:
        load_settings({}, "provisioning_worker")
    assert [fault.split(" ", 1)[0].rstrip(":") for fault in refused.value.faults] == [
        "RESOURCE_PROVISIONING_DATABASE_URL",
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL",
        "RESOURCE_PROVISIONING_QUERIES_BROKER_URL",
    ]
    database = {name: value for name, value in LEAST.items() if name != "PHAROS_SITES"}
    queries = {"RESOURCE_PROVISIONING_QUERIES_BROKER_URL": "postgresql://queries@db/pharos"}
    found = load_settings(database | BROKER | queries, "provisioning_worker")
    assert found.work_owners == ("execution", "pipeline")
    assert found.listen == Listen("127.0.0.1", 8446)
    assert found.database_url == LEAST["RESOURCE_PROVISIONING_DATABASE_URL"]


def test_p11_two_sites_never_share_a_key() -> None:
    (fault,) = faults(
        RESOURCE_PROVISIONING_SLURM_INTAKE_KEY=f"{OLD},{NEW}",
        RESOURCE_PROVISIONING_K8S_A_INTAKE_KEY=NEW,
        **INSTANCE,
    )
    assert "two Sites share a key" in fault
    with pytest.raises(ValueError, match="two Sites share"):
        IntakeKeys.of({Site("slurm"): (OLD,), Site("k8s"): (OLD,)})


@pytest.mark.parametrize(
    "keys",
    [
        "hunter2",
        f"{OLD},",
        f"{OLD},{OLD}",
        f"{OLD},{NEW},{OTHER}",
        OLD + " ",
        OLD + "\n",
        "ü" * 40,
        OLD + "=x",
    ],
)
def test_p11_keys_outside_their_grammar(keys: str) -> None:
    (fault,) = faults(RESOURCE_PROVISIONING_SLURM_INTAKE_KEY=keys, **INSTANCE)
    assert fault.startswith("RESOURCE_PROVISIONING_SLURM_INTAKE_KEY: ")


def test_x6_a_key_of_an_unknown_site_is_refused() -> None:
    (fault,) = faults(RESOURCE_PROVISIONING_ICARUS_INTAKE_KEY=OLD, **INSTANCE)
    assert fault.startswith("RESOURCE_PROVISIONING_ICARUS_INTAKE_KEY: unknown")


def test_x6_the_intake_has_a_database_role_of_its_own() -> None:
    environment = {"PHAROS_SITES": "slurm", "PHAROS_DATABASE_URL": "postgresql://pharos_site_api@db/pharos"}
    with pytest.raises(SettingsRefused, match="RESOURCE_PROVISIONING_DATABASE_URL"):
        load_settings(environment, "provisioning_intake")


def test_x5_other_processes_never_hold_a_key() -> None:
    environment = (
        LEAST
        | INSTANCE
        | {
            "PHAROS_DATABASE_URL": "postgresql://pharos_site_api@db.example/pharos",
            "RESOURCE_PROVISIONING_SLURM_INTAKE_KEY": OLD,
        }
    )
    assert load_settings(environment, "site_api").intake_keys == {}


def test_p11_the_key_decides_the_site() -> None:
    keys = IntakeKeys.of({Site("slurm"): (OLD, NEW), Site("k8s"): (OTHER,)})
    assert keys.sites == ("slurm", "k8s")
    assert OLD not in repr(keys)
    keys.check(Site("slurm"), OLD)
    keys.check(Site("slurm"), NEW)
    for site, key, code in ((Site("slurm"), OTHER, "not_found"), (Site("k8s"), OLD[:-1], "unauthenticated")):
        with pytest.raises(Problem) as refused:
            keys.check(site, key)
        assert refused.value.code == code
