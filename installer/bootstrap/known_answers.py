"""A signature of each kind, known to be good: it tells whether the host's ssh-keygen verifies that kind.

A host under a policy such as FIPS 140-3 may lack Ed25519 (X14). The keys that made these were thrown away;
they sign no release and no allowed signers name them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

MESSAGE: Final = b"pharos-hpc known answer\n"
NAMESPACE: Final = "pharos-hpc-known-answer"
PRINCIPAL: Final = "known-answer"


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """A public key in one line, and its armoured signature of ``MESSAGE``."""

    public_key: str
    signature: str

    @property
    def allowed_signers(self) -> bytes:
        """The key as allowed signers name it."""
        return f"{PRINCIPAL} {self.public_key}\n".encode("ascii")

    @property
    def armoured(self) -> bytes:
        """The signature as a file holds it."""
        return f"-----BEGIN SSH SIGNATURE-----\n{self.signature}-----END SSH SIGNATURE-----\n".encode("ascii")


KNOWN_ANSWERS: Final[Mapping[str, KnownAnswer]] = MappingProxyType(
    {
        "ssh-ed25519": KnownAnswer(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILW2C/1Zq51ea7gE/P0lgGmguW1r+bAcqjTQz6QBxtvP",
            "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgtbYL/VmrnV5ruAT8/SWAaaC5bW\n"
            "v5sByqNNDPpAHG288AAAAXcGhhcm9zLWhwYy1rbm93bi1hbnN3ZXIAAAAAAAAABnNoYTUx\n"
            "MgAAAFMAAAALc3NoLWVkMjU1MTkAAABAHyVORlo9vHN7aBy8Mp4ffQteuZ52tdzT67D6xw\n"
            "mwGXwr77mHdLzadeSMbF4zfnbmYHgvjgi0qclbxhWI/0INDw==\n",
        ),
        "ecdsa-sha2-nistp256": KnownAnswer(
            "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBAfbuiC1"
            "6i1RK60BeC5gVvMhpLAJDd0Le63P5kiJEg5Hhb2TZHSlaaP/1mXb6/Ex866BTSBBOHCOqb9WtqSAfaM=",
            "U1NIU0lHAAAAAQAAAGgAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAAhuaXN0cDI1NgAAAE\n"
            "EEB9u6ILXqLVErrQF4LmBW8yGksAkN3Qt7rc/mSIkSDkeFvZNkdKVpo//WZdvr8THzroFN\n"
            "IEE4cI6pv1a2pIB9owAAABdwaGFyb3MtaHBjLWtub3duLWFuc3dlcgAAAAAAAAAGc2hhNT\n"
            "EyAAAAZAAAABNlY2RzYS1zaGEyLW5pc3RwMjU2AAAASQAAACBiAZF4Q/ywPeHDvtYnhHNb\n"
            "YglngLE30zfe11QjalP3oQAAACEA4yYe30CMSsXjvJiL7VhyIHFiPOIj2B7rEGOxEBss0F\n"
            "A=\n",
        ),
    }
)
