"""Runs inside the lab host in the upstream agent's own environment: one pass of a mode, one JSON object.

`on_host_upstream.py MODE CONFIGURATION`: what `waldur_site_agent -m MODE -c CONFIGURATION` does until its
first pass is over, without the waiting that follows. `pass_s` leaves interpreter and imports out; `commands`
counts the processes it started.
"""

import json
import subprocess
import sys
from time import perf_counter
from typing import Any

BEGIN = perf_counter()
COMMANDS = [0]


def main(mode: str, path: str) -> None:
    from waldur_site_agent.common import utils
    from waldur_site_agent.polling_processing import agent_membership_sync, agent_report

    whole = subprocess.check_output

    def counted(*words: Any, **given: Any) -> Any:
        COMMANDS[0] += 1
        return whole(*words, **given)

    subprocess.check_output = counted
    sys.argv = ["waldur_site_agent", "-m", mode, "-c", path]
    configuration = utils.init_configuration()
    module = {"report": agent_report, "membership_sync": agent_membership_sync}[mode]
    ready = perf_counter()
    module._process_offerings(configuration, {})
    end = perf_counter()
    print(json.dumps({"start_s": ready - BEGIN, "pass_s": end - ready, "commands": float(COMMANDS[0])}))


if __name__ == "__main__":
    main(*sys.argv[1:])
