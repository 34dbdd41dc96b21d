"""Members' keys and real logins: OpenSSH's own client against the host's sshd."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.lab.host import LabHost
from tests.lab.processes import run

PEOPLE = "ou=people,ou=pharos,dc=icarus,dc=example"
REFUSED = 255
"""ssh(1) exits with the remote status, or with 255 if an error occurred."""


@dataclass(frozen=True, slots=True)
class MemberKey:
    """A key pair in a folder of the caller's; ``public`` is ``type SP base64``, without comment."""

    private: Path
    public: str

    @classmethod
    def make(cls, folder: Path, name: str = "key", kind: str = "ed25519") -> Self:
        """Generate one with ssh-keygen(1)."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / name
        run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(path)])
        return cls(path, " ".join(path.with_suffix(".pub").read_text().split()[:2]))


def login(host: LabHost, user: str, key: MemberKey, *command: str) -> subprocess.CompletedProcess[str]:
    """Log in as a member does and run ``command`` (default ``id -un``); never prompts."""
    options = [
        *("-o", "BatchMode=yes"),
        *("-o", "IdentitiesOnly=yes"),
        *("-o", "PreferredAuthentications=publickey"),
        *("-o", "StrictHostKeyChecking=no"),
        *("-o", "UserKnownHostsFile=/dev/null"),
        *("-o", "ConnectTimeout=10"),
        *("-o", "LogLevel=ERROR"),
    ]
    words = command or ("id", "-un")
    argv = ["ssh", "-F", "none", "-i", str(key.private), *options, f"{user}@{host.addr}", *words]
    return run(argv, check=False, timeout=30)


def forget_cached(host: LabHost, user: str) -> None:
    """Make sssd ask the directory at the next login (sss_cache(8), administrators only)."""
    host.exec(["sss_cache", "-u", user])


def go_online(host: LabHost) -> None:
    """Tell sssd that the directory is back: by itself it looks again only after a minute or so (sssd(8))."""
    host.exec(["systemctl", "kill", "--kill-whom=main", "--signal=SIGUSR2", "sssd"])


def directory_keys(host: LabHost, user: str) -> list[str]:
    """The ``sshPublicKey`` values of a member's entry, in the directory's order."""
    argv = ["ldapsearch", "-Q", "-LLL", "-o", "ldif-wrap=no", "-Y", "EXTERNAL", "-H", "ldapi:///"]
    shown = host.exec([*argv, "-s", "base", "-b", f"uid={user},{PEOPLE}", "sshPublicKey"]).stdout
    # A value that needs base64 (LDIF, RFC 2849) shows as "::"; it is none a key agent wrote.
    return [line.partition(":")[2].strip() for line in shown.splitlines() if line.startswith("sshPublicKey:")]


def replace_directory_keys(host: LabHost, user: str, keys: list[str], *, by: str | None = None) -> None:
    """Set a member's keys by hand, as root (the directory's rootdn) or as the user ``by``."""
    values = "".join(f"sshPublicKey: {key}\n" for key in keys)
    ldif = f"dn: uid={user},{PEOPLE}\nchangetype: modify\nreplace: sshPublicKey\n{values}"
    host.exec(["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"], user=by, input=ldif)
