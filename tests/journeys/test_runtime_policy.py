"""The site's own policy for the runtime, spoiled on the host of the Runs and mended: `validate` finds each
fault as the runtime's user meets it, leaves nothing behind, and refuses (I7, I9, I12, S2, S4).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.journeys.administrator import SITE
from tests.journeys.executing import SCRATCH, Executing
from tests.journeys.road import EVIDENCE
from tests.lab.host import LabHost
from tests.lab.member_tokens import KEY_SET, trust

pytestmark = pytest.mark.lab

CONFIGURATION = "/etc/slurm/slurm.conf"
GRANTS = f"{SCRATCH}/.runtime"


def bad(executing: Executing) -> dict[tuple[str, str], dict[str, Any]]:
    """What validate of the runtime does not pass, by check and subject."""
    words = ("validate", "--config", SITE, "--components", "runtime", "--evidence", EVIDENCE, "--json")
    done = executing.road.admin.installer(*words, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    checks = [event for event in events if event["event"] == "check" and "status" in event]
    assert "runtime.submission" in {event["check"] for event in checks}, done.stderr
    found = {(event["check"], event["subject"]): event for event in checks if event["status"] != "pass"}
    assert (done.returncode == 3) == any(event["status"] != "warn" for event in found.values())
    return found


@contextmanager
def spoiled(host: LabHost, changes: Mapping[str, str], key_set: bytes) -> Iterator[None]:
    """Another slurm.conf, key set and mode of the runtime's folder; all of it is put back."""
    usual, keys = host.read(CONFIGURATION), host.read(KEY_SET)
    other = usual
    for old, new in changes.items():
        assert old in other
        other = other.replace(old, new)
    try:
        host.put(CONFIGURATION, other.encode())
        trust(host, key_set)
        host.exec(["chmod", "2750", GRANTS])
        yield
    finally:
        host.exec(["chmod", "2710", GRANTS])
        host.put(CONFIGURATION, usual.encode())
        trust(host, keys.encode())


def test_s2_i9_s4_a_site_as_it_should_be_passes_and_keeps_nothing_of_it(executing: Executing) -> None:
    """The probes ran: sbatch spoke to a stand-in, a folder and a program were made in the runtime's own."""
    executing.wait_idle()
    jobs = executing.road.host.exec(["sacct", "-aX", "-n", "-S", "now-1day"]).stdout
    assert bad(executing) == {}
    assert executing.road.host.exec(["sacct", "-aX", "-n", "-S", "now-1day"]).stdout == jobs
    assert executing.grants() == []
    doctor = executing.road.host.exec([executing.road.admin.agent_script("runtime"), "doctor"], check=False)
    assert doctor.returncode == 0 and KEY_SET in doctor.stdout, doctor.stdout


def test_s2_i9_i12_s4_each_fault_of_the_policy_is_found_at_once(executing: Executing) -> None:
    host = executing.road.host
    key_set = json.loads(host.read(KEY_SET))
    key_set["keys"].append({**key_set["keys"][0], "kid": "another"})
    changes = {
        "MaxTime=01:00:00": "MaxTime=00:10:00 AllowAccounts=other",
        "DefMemPerCPU=100": "DefMemPerCPU=100\nAccountingStoreFlags=job_env",
        "userclaimfield=preferred_username": "userclaimfield=sub",
    }
    with spoiled(host, changes, json.dumps(key_set).encode()):
        found = bad(executing)
    told = {
        ("slurm.store-flags", "runtime"): "job_env",
        ("runtime.jwt", "runtime"): "claim sub",
        ("runtime.partition", "staging"): "AllowAccounts=other",
        ("runtime.scratch", SCRATCH): ".runtime is a directory 2750",
        ("runtime.token-keys", "runtime"): "trusts another besides",
    }
    assert set(found) == set(told)
    for place, words in told.items():
        event = found[place]
        assert event["status"] == "fail" and words in event["found"], event
        assert event["wanted"] and event["remedy"]
