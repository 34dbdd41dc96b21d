"""What setup.sh installs for tests starts at no boot, with or without systemd as PID 1."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[1] / "setup.sh"
NAME = "pharos-trial"
UNIT = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides: pharos-trial
# Required-Start: $remote_fs
# Required-Stop: $remote_fs
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: a trial
### END INIT INFO
"""
RUN = """mount --bind "$0" /etc && systemctl --quiet enable pharos-trial.service || exit 9
. "$1" && leave_disabled pharos-trial
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
@pytest.mark.parametrize("kind", ["unit", "script", "both"])
def test_a_service_is_left_disabled(tmp_path: Path, kind: str) -> None:
    etc = tmp_path / "etc"
    for folder in ("init.d", "systemd/system", *(f"rc{level}.d" for level in "0123456S")):
        (etc / folder).mkdir(parents=True)
    for name in ("passwd", "group", "os-release", "machine-id"):
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), etc / name)
    if kind != "script":
        (etc / f"systemd/system/{NAME}.service").write_text(UNIT)
    if kind != "unit":
        script = etc / f"init.d/{NAME}"
        script.write_text(SCRIPT)
        script.chmod(0o755)
    function = tmp_path / "function.sh"
    text = SETUP.read_text(encoding="utf-8")
    begin = text.index("leave_disabled() {")
    function.write_text(text[begin : text.index("\n}\n", begin) + 3])
    command: list[str | Path] = ["unshare", "--mount", "sh", "-c", RUN, etc, function]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    links = [path for path in etc.rglob("*") if path.is_symlink()]
    assert ended.returncode == 0, ended.stderr
    assert "would start" not in ended.stderr
    assert not [path for path in links if path.name.startswith("S") or ".wants" in path.parent.name]
    if kind != "unit":
        assert [path for path in links if path.name.startswith("K")], "it was there to be disabled"


def test_each_service_of_the_packages_is_among_them() -> None:
    text = SETUP.read_text(encoding="utf-8")
    packages = text.split('packages="')[1].split('"')[0].split()
    for package in ("slapd", "pgbouncer"):
        assert package in packages and package in text.split("case $package in")[1].split("esac")[0]
