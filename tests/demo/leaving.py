"""The demo's last words: what stands, how to enter it, what to type, how to end it."""

import sys

from tests.demo.computing import Computing, bearer, submitting
from tests.demo.narrator import Narrator
from tests.journeys.central import Central
from tests.journeys.observing import linked
from tests.journeys.road import Road
from tests.lab.sshlogin import MemberKey


def leave_standing(road: Road, tell: Narrator, key: MemberKey, computing: Computing) -> None:
    """Host and central outlive this process from here on; every line can be typed from the checkout."""
    host, central = road.host, road.central
    host.detach()
    tell.close(f"Shown. {host.name} runs release {linked(road)}, central runs beside it")
    lab = f"{sys.executable} -m tests.lab"
    agent, reporter, runtime = (road.admin.agent_script(each) for each in road.components)
    options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    tell.fact(
        f"be root on the host:   {lab} shell {host.name}\n"
        f"be a member on it:     ssh -i {key.private} {options} bob@{host.addr}\n"
        f"the agent's own words: {lab} exec {host.name} {agent} status\n"
        f"the reporter's:        {lab} exec {host.name} {reporter} doctor\n"
        f"the runtime's:         {lab} exec {host.name} {runtime} status\n"
        f"central:               {central.state}/dev.json\n"
        f"its operator's words:  {_operating(central)} show runs    # or: explain run RUN, explain key KEY\n"
        f"what it knows:         {central.facts()['overview']['url']}\n"
        f"its member API:        {central.facts()['memberApi']['url']}\n"
        f"bob's keys there:      {_keys_of('bob', central)}\n"
        f"bob's Runs:            {_reading('bob', central, computing.bob.url)}\n"
        f"a Run of your own:     {submitting(computing)}\n"
        "end it all:            make demo-down"
    )


def _operating(central: Central) -> str:
    """The words that make an operator of central of whoever types them."""
    program = f"{sys.executable} -m central.cli"
    return f'eval "$({program} dev env --state {central.state})"; {program}'


def _keys_of(member: str, central: Central) -> str:
    return _reading(member, central, f"{central.facts()['memberApi']['url']}/api/v1/me/ssh-keys")


def _reading(member: str, central: Central, url: str) -> str:
    return f"{bearer(central, member)} | curl -sS -H @- {url}"
