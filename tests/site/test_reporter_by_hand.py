"""`doctor` and `once` of another user than root: the credential is named, with its remedy (S10, X1)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.identities import NOBODY, ROOT_ONLY, open_to_all
from tests.unit.site_bundle.reporter.good_settings import GOOD

# The console script's own function as another user, with the places of the credentials in a test's folder.
AS_NOBODY = (
    "import os, pathlib, sys; import site_bundle.reporter.cli, site_bundle.reporter.by_hand as by_hand;"
    "from site_bundle.directory.ldap3_parts import load_ldap3; load_ldap3();"
    "import encodings.idna, importlib.metadata, shutil;"
    "folder = pathlib.Path(sys.argv.pop(1)); by_hand._FOLDERS = (folder / 'run', folder / 'etc');"
    f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY});"
    "from site_bundle.reporter.main import main; sys.exit(main(sys.argv[1:]))"
)


def as_nobody(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    secret = {"PHAROS_INTAKE_KEY", "PHAROS_WALDUR_TOKEN_FILE", "PHAROS_REPORTER_LDAP_PASSWORD"}
    environment = {name: value for name, value in GOOD.items() if name not in secret}
    argv = [sys.executable, "-c", AS_NOBODY, str(folder), *words]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)


@ROOT_ONLY
@pytest.mark.parametrize("verb", ["doctor", "once"])
def test_s10_another_user_is_told_of_the_credential_and_of_root(tmp_path: Path, verb: str) -> None:
    """systemd's folder of credentials lets nobody else look whether a file is there."""
    open_to_all(tmp_path)
    private = tmp_path / "run"
    private.mkdir(mode=0o700)
    done = as_nobody(tmp_path, verb, "--json")
    assert done.returncode == 3, done.stderr
    said = done.stdout + done.stderr
    assert f"{private}/intake-key: Permission denied" in said
    assert "run it as root (sudo)" in said
    assert "Traceback" not in said
    if verb == "doctor":
        (check,) = json.loads(done.stdout)["checks"]
        assert (check["id"], check["status"]) == ("credential", "fail")
