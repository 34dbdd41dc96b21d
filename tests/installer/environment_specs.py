"""What an environment of the tests is built from."""

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
