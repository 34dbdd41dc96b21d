"""What an environment of the tests is built from."""

import os
import subprocess
import sys
from pathlib import Path

from installer.bootstrap.environment import EnvironmentSpec

BASE = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"


def spec(root: Path) -> EnvironmentSpec:
    return EnvironmentSpec(
        path=root / "venv",
        interpreter=BASE,
        requirements="requirements/controller.txt",
        scratch=root / ".wheels",
        console_script="pharos-installer",
    )


def said_by(script: Path) -> str:
    """What an environment's program prints; which modules the caller of these tests added is not its own."""
    alone = {"PATH": os.environ["PATH"]}
    return subprocess.run([script], env=alone, capture_output=True, text=True, check=True).stdout
