"""Nothing happens at import: every module of the product is imported in one process that audits itself.

CPython's audit events (PEP 578) name the act whoever performs it, a library called at import included.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.architecture.sources import ROOT, product_modules

WATCH = textwrap.dedent(
    """
    import importlib, os, sys, threading
    FORBIDDEN = (
        "socket.", "subprocess.Popen", "os.system", "os.fork", "os.posix_spawn", "os.exec", "os.mkdir",
        "os.remove", "os.rename", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink",
        "os.truncate", "os.putenv",
        "os.kill", "shutil.", "tempfile.", "sqlite3.connect", "_thread.start_new_thread",
    )
    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    HERE = os.getcwd() + os.sep
    seen = []
    def ours():
        # Our own code acted, itself or through a library; what a library does while imported is its own.
        frame = sys._getframe(2)
        while frame is not None and "importlib._bootstrap" not in frame.f_code.co_filename:
            name = frame.f_code.co_filename
            if name.startswith(HERE) and "site-packages" not in name:
                return True
            frame = frame.f_back
        return False
    def hook(event, arguments):
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if (writes or event.startswith(FORBIDDEN)) and ours():
            seen.append(event)
    def start(thread, begin=threading.Thread.start):
        hook("_thread.start_new_thread", ())
        begin(thread)
    threading.Thread.start = start
    sys.addaudithook(hook)
    sys.path.insert(0, HERE)
    for name in sys.argv[1:]:
        del seen[:]
        importlib.import_module(name)
        for event in dict.fromkeys(seen):
            print(f"{name}: {event}")
    """
)


def effects(names: list[str], folder: Path) -> list[str]:
    """What importing the modules `names` with `folder` on the path did."""
    command = [sys.executable, "-B", "-c", WATCH, *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_importing_the_product_does_nothing() -> None:
    names = [m.name for m in product_modules() if not m.name.endswith("__main__")]
    assert effects(sorted(names), ROOT) == []


def test_rule_sees_each_kind_of_act(tmp_path: Path) -> None:
    acts = {
        "a_socket": "import socket\nsocket.socket().close()",
        "a_process": "import subprocess\nsubprocess.run(['true'])",
        "a_file": "open('x', 'w').close()",
        "a_folder": "import os\nos.mkdir('f')",
        "a_thread": "import threading\nthreading.Thread(target=len, args=('',)).start()",
        "a_library_called": "import urllib3\nurllib3.util.connection._has_ipv6('::1')",
        "a_database": "import sqlite3\nsqlite3.connect(':memory:').close()",
        "nothing": "import socket, subprocess, sqlite3, urllib3\nX = 1",
    }
    for name, text in acts.items():
        (tmp_path / f"{name}.py").write_text(text)
    blamed = {line.partition(":")[0] for line in effects(sorted(acts), tmp_path)}
    assert blamed == set(acts) - {"nothing"}
