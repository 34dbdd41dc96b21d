"""What components do over LDAP with the ldap3 they really load; the tests' process has the whole (S10)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.slapd import IDENTITY, PEOPLE, Slapd

pytestmark = pytest.mark.slapd

ROOT = Path(__file__).parents[2]
ASK = """
import json, sys
from pathlib import Path
from site_bundle.directory.connection import DirectoryLimits, LdapiConnection
path, identity, people = sys.argv[1:4]
directory = LdapiConnection(socket_path=Path(path), identity=identity, limits=DirectoryLimits())
alice = f"uid=alice,{people}"
value = b"ssh-ed25519 AAAA \\xff x"
facts = [directory.who_am_i(), directory.add_value(alice, "sshPublicKey", value)]
facts.append(directory.add_value(alice, "sshPublicKey", value))
wanted = "(&(uid=alice)(uidNumber>=1)(cn=*))"
(entry,) = directory.search(people, wanted, ["uid", "sshPublicKey"], subtree=True)
facts += [entry.dn, entry.values("sshPublicKey") == (value,)]
facts.append(directory.delete_value(alice, "sshPublicKey", value))
facts.append(len(list(directory.search_paged(people, "(uid=*)", ["uid"], page=1))) >= 2)
facts.append(hasattr(sys.modules["ldap3.abstract.entry"], "__file__"))
directory.close()
print(json.dumps(facts))
"""


def test_S10_the_agents_operations_need_no_part_that_is_left_out(slapd: Slapd) -> None:
    argv = [sys.executable, "-W", "error", "-c", ASK, str(slapd.socket), IDENTITY, PEOPLE]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    assert facts == [f"dn:{IDENTITY}", True, False, f"uid=alice,{PEOPLE}", True, True, True, False]
