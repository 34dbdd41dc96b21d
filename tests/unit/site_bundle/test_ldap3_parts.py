"""ldap3 without the parts nobody uses: what stays works, what is left out refuses (S10)."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from site_bundle.directory.ldap3_parts import LEFT_OUT, load_ldap3

ROOT = Path(__file__).parents[3]
# ldap3's own import of this module brings in all of it, so a fresh process is asked.
ASK = """
import json, sys
from site_bundle.directory.ldap3_parts import load_ldap3
before = list(sys.meta_path)
ldap3 = load_ldap3()
facts = {
    "same": load_ldap3() is ldap3 and sys.meta_path == before,
    "ctypes": "ctypes" in sys.modules,
    "files": [n for n, m in sys.modules.items() if n.startswith("ldap3") and getattr(m, "__file__", None)],
}
refused = []
for use in (
    lambda: ldap3.ObjectDef("inetOrgPerson"),
    lambda: ldap3.Connection(ldap3.Server("x", get_info=ldap3.NONE), client_strategy=ldap3.MOCK_SYNC),
    lambda: ldap3.DsaInfo({}, {}),
    lambda: ldap3.extend.DirSync(None, "", "", []),
):
    try:
        use()
    except NotImplementedError as error:
        refused.append(str(error))
print(json.dumps({**facts, "refused": refused}))
"""


def test_S10_what_is_left_out_is_neither_read_nor_usable() -> None:
    argv = [sys.executable, "-W", "error", "-c", ASK]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    assert facts["same"]
    assert not facts["ctypes"]
    parts = tuple(f"{name}." for name in LEFT_OUT)
    assert [name for name in facts["files"] if name in LEFT_OUT or name.startswith(parts)] == []
    assert {"ldap3.core.connection", "ldap3.strategy.sync", "ldap3.protocol.rfc2696"} <= set(facts["files"])
    assert len(facts["refused"]) == 4
    assert all("is left out" in text for text in facts["refused"])


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_each_part_that_is_left_out_is_one_ldap3_has(name: str) -> None:
    """Another release of ldap3 with another layout shows here."""
    assert find_spec(name) is not None


def test_a_process_that_has_the_whole_keeps_it() -> None:
    import ldap3

    assert load_ldap3() is ldap3
