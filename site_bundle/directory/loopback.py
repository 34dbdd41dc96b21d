"""A simple bind over loopback (I8): `ldap://` to this very host alone, for the password goes in the clear."""

from __future__ import annotations

import re
from typing import Any

from site_bundle.directory.connection import DirectoryLimits, LdapConnection
from site_bundle.kernel.credential import Credential

_URL = re.compile(r"ldap://(127(?:\.\d{1,3}){3}|\[::1\]|localhost)(?::(\d{1,5}))?/?", re.ASCII)


def loopback_url(text: str) -> str:
    """`text` unchanged if it names a server on this host's loopback; ValueError otherwise."""
    match = _URL.fullmatch(text)
    if match is None or (match[2] and not 0 < int(match[2]) < 65536):
        raise ValueError("a loopback URL is wanted, such as ldap://127.0.0.1:389: the password goes in clear")
    return text.rstrip("/")


class LoopbackConnection(LdapConnection):
    """Binds by name and password; the password is read anew at each bind."""

    bind_wanted = "the bind of this name with the password of the credential"
    bind_remedy = "compare the credential ldap-password with the entry's userPassword"
    identity_remedy = "correct ldap.agent.bind_dn in the profile"

    def __init__(self, *, url: str, bind_dn: str, password: Credential, limits: DirectoryLimits) -> None:
        super().__init__(where=url, identity=bind_dn, limits=limits)
        self.url = url
        self._password = password

    def _credentials(self, ldap3: Any) -> dict[str, Any]:
        return {
            "authentication": ldap3.SIMPLE,
            "user": self._identity,
            "password": self._password.read(),
        }
