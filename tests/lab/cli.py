"""The lab by hand: ``python -m tests.lab VERB``."""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from tests.lab.errors import LabError
from tests.lab.host import LabHost
from tests.lab.prerequisites import require
from tests.lab.reclaim import reclaim
from tests.lab.registry import Registry
from tests.lab.tree import ensure_tree


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; 0 done, 1 the lab could not, 2 usage; ``exec`` gives the command's own status."""
    arguments = _parser().parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return verb(arguments)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _switched_off() -> bool:
    """LAB=off: whoever calls the lab as a step of more is told, and goes on."""
    off = os.environ.get("LAB") == "off"
    if off:
        print("LAB=off: no lab host on this machine, by your choice", file=sys.stderr)
    return off


def _build(arguments: argparse.Namespace) -> int:
    if _switched_off():
        return 0
    print(ensure_tree(_say, rebuild=arguments.force).folder)
    return 0


def _up(arguments: argparse.Namespace) -> int:
    host = LabHost.up(arguments.name, binds=arguments.bind_ro, detached=True, tree=ensure_tree(_say))
    print(host.name)
    return 0


def _change(arguments: argparse.Namespace) -> int:
    host = LabHost.attach(arguments.name)
    {"reset": host.reset, "reboot": host.reboot, "down": host.down, "kill": host.kill}[arguments.verb]()
    return 0


def _exec(arguments: argparse.Namespace) -> int:
    words, user = list(arguments.command), None
    if len(words) > 1 and words[0] == "-u":
        user, words = words[1], words[2:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise LabError("exec needs a command after the name")
    return subprocess.call(LabHost.attach(arguments.name).command(words, user=user))


def _addr(arguments: argparse.Namespace) -> int:
    host = LabHost.attach(arguments.name)
    print(f"{host.host_side_addr} {host.addr}")
    return 0


def _rootfs(arguments: argparse.Namespace) -> int:
    print(LabHost.attach(arguments.name).rootfs)
    return 0


def _shell(arguments: argparse.Namespace) -> int:
    if arguments.name is not None:
        return LabHost.attach(arguments.name).shell(arguments.user)
    with LabHost.up(tree=ensure_tree(_say)) as host:
        _say(f"{host.name} ({host.addr}); it ends with this shell")
        return host.shell(arguments.user)


def _reclaim(arguments: argparse.Namespace) -> int:
    if _switched_off():
        return 0
    require()
    done = reclaim()
    print(f"removed: {', '.join(done.removed) or 'nothing'}; living: {', '.join(done.living) or 'none'}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    for record in Registry().records():
        state = "alive" if record.owner_lives else "dead"
        print(f"{record.name}\t{record.slot.addr}\t{state}\towner {record.owner.pid}\t{record.slot.root}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    verb("build", _build, "build the host tree if this seed has none").add_argument(
        "--force", action="store_true"
    )
    up = verb("up", _up, "boot a fresh host that outlives this command; prints its name")
    up.add_argument("name", nargs="?")
    up.add_argument("--bind-ro", action="append", default=[], metavar="HERE:THERE")
    changes = {
        "reset": "throw its disk away and boot again",
        "reboot": "restart it and keep its disk",
        "down": "stop it cleanly and remove every trace",
        "kill": "the same without a clean stop",
    }
    for name, text in changes.items():
        verb(name, _change, text).add_argument("name")
    inside = verb("exec", _exec, "run a command inside")
    inside.add_argument("name")
    inside.add_argument("command", nargs=argparse.REMAINDER, metavar="[-u USER] [--] COMMAND")
    verb("addr", _addr, "addresses: this machine's side, the host's side").add_argument("name")
    verb("rootfs", _rootfs, "its root directory").add_argument("name")
    shell = verb("shell", _shell, "a shell inside NAME, or in a new host that ends with it")
    shell.add_argument("name", nargs="?")
    shell.add_argument("-u", "--user")
    verb("reclaim", _reclaim, "remove every trace of hosts whose owner is dead")
    verb("list", _list, "hosts of this machine")
    return parser
