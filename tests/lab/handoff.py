"""What the site's administrators hand over to the installer (I3): trust, credentials, configuration."""

from collections.abc import Mapping

from tests.lab.host import LabHost

CONFIGURATION = "/etc/pharos-hpc"
CREDENTIALS = f"{CONFIGURATION}/credentials"


def hand_off(host: LabHost, *, public: Mapping[str, bytes], credentials: Mapping[str, bytes]) -> None:
    """Write the hand-off below /etc/pharos-hpc.

    ``public``: file name → content, 0644 (``site.yaml``, ``profile.yaml``, ``allowed_signers`` …).
    ``credentials``: ``<component>/<name>`` → secret; files 0600 in folders 0700.
    """
    host.exec(["install", "-d", "-m", "0755", CONFIGURATION])
    host.exec(["install", "-d", "-m", "0700", CREDENTIALS])
    for name, content in public.items():
        host.put(f"{CONFIGURATION}/{name}", content)
    for name, secret in credentials.items():
        component = name.partition("/")[0]
        host.exec(["install", "-d", "-m", "0700", f"{CREDENTIALS}/{component}"])
        host.put(f"{CREDENTIALS}/{name}", secret, 0o600)
