"""What stands for each directive of the units: a probe in the lab, systemd's own word, or another test.

A probe must be let through in a plain unit, be stopped by the directive alone, and be stopped in the whole
unit. A directive that is in none of the three tables fails ``tests/unit/site_bundle/test_unit_proofs.py``.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proof:
    """``probe`` of ``unit_probes.py``. ``plain`` are the properties of the unit without the directive, where
    the probe has the outcome ``without``; None: the plain unit is not asked, for the reason ``why``.
    """

    probe: str
    plain: tuple[str, ...] | None = ()
    why: str = ""
    without: str = "let through"


UNPRIVILEGED = ("User=nobody",)
PROOFS: dict[str, Proof] = {
    "User": Proof("identity", None, "a plain unit is root; the whole one is the user, in its group alone"),
    "Group": Proof("identity", None, "as User="),
    "Environment": Proof("environment", None, "systemd-run expands no %d"),
    "EnvironmentFile": Proof("environment_file"),
    "LoadCredential": Proof("credential"),
    "StateDirectory": Proof("state_folder"),
    "StateDirectoryMode": Proof("state_folder", ("StateDirectory=pharos-probe",)),
    "RuntimeDirectory": Proof("runtime_folder"),
    "RuntimeDirectoryMode": Proof(
        "runtime_folder", None, "0755 is the default, said aloud: others read the status"
    ),
    "UMask": Proof("file_mask"),
    "WatchdogSec": Proof("watched"),
    "LimitNOFILE": Proof("many_files"),
    "LimitCORE": Proof("core_files"),
    "NoNewPrivileges": Proof("new_privileges"),
    "CapabilityBoundingSet": Proof("bounding_set"),
    "AmbientCapabilities": Proof("ambient_set", ("User=nobody", "AmbientCapabilities=CAP_CHOWN")),
    "PrivateUsers": Proof("other_users"),
    "RestrictSUIDSGID": Proof("setuid_bit"),
    "ProtectSystem": Proof("writing_elsewhere"),
    "ProtectHome": Proof("homes"),
    "PrivateTmp": Proof("shared_tmp"),
    "PrivateMounts": Proof("shared_mounts"),
    "PrivateDevices": Proof("devices"),
    "DevicePolicy": Proof("device"),
    "InaccessiblePaths": Proof("paths"),
    "ProtectProc": Proof("other_processes", UNPRIVILEGED),
    "ProcSubset": Proof("host_facts", UNPRIVILEGED),
    "ProtectKernelTunables": Proof("kernel_settings"),
    "ProtectKernelModules": Proof("kernel_modules"),
    "ProtectKernelLogs": Proof("kernel_log"),
    "ProtectControlGroups": Proof("control_groups"),
    "ProtectHostname": Proof("host_name"),
    "LockPersonality": Proof("personality"),
    "MemoryDenyWriteExecute": Proof("written_code"),
    "RestrictRealtime": Proof("scheduling"),
    "RestrictNamespaces": Proof("namespaces"),
    "SystemCallArchitectures": Proof("foreign_architecture"),
    "SystemCallFilter": Proof("resource_calls", ("SystemCallErrorNumber=EPERM",)),
    "SystemCallErrorNumber": Proof(
        "resource_calls", ("SystemCallFilter=~@resources",), without="ended by signal 31"
    ),
    "RestrictAddressFamilies": Proof("families"),
    "SocketBindDeny": Proof("listening"),
    "IPAddressDeny": Proof("multicast"),
}
# What a lab host cannot show, and why: there, systemd's own account of the started unit is compared.
SHOWN: dict[str, str] = {
    "KeyringMode": "keyctl(2) is refused to all of the container",
    "MemoryMax": "the container's control groups have no memory controller",
    "TasksMax": "the container's control groups have no pids controller",
    "OOMPolicy": "no memory controller, so nothing to be killed for",
    "ProtectClock": "the container may not set the clock with or without it",
}
# What is proven elsewhere.
REASONS: dict[str, str] = {
    "Description": "a name for people",
    "Wants": "tests/journeys/test_outages.py: a host that starts again",
    "After": "tests/journeys/test_outages.py: a host that starts again",
    "WantedBy": "tests/journeys/test_outages.py: a host that starts again",
    "ExecStart": "tests/unit/site_bundle/test_units.py",
    "Type": "tests/site/test_process.py: READY=1 is sent when the component is ready",
    "NotifyAccess": "tests/unit/site_bundle/test_units.py",
    "StartLimitIntervalSec": "tests/unit/site_bundle/test_units.py",
    "Restart": "tests/journeys/test_outages.py: the agent is killed and comes back",
    "RestartSec": "tests/unit/site_bundle/test_units.py",
    "RestartPreventExitStatus": "tests/unit/site_bundle/test_units.py",
    "TimeoutStartSec": "tests/unit/site_bundle/test_units.py: a bound, reached by no test",
    "RemoveIPC": "tests/lab/test_unit_directives.py: what is left when the unit has stopped",
    "SupplementaryGroups": "tests/lab/test_runtime_chain.py: the members read what it makes for them",
    "ReadWritePaths": "tests/unit/site_bundle/test_units.py: its own folder on scratch alone",
    "TimeoutStopSec": "tests/site/test_process.py: it ends long before",
}
