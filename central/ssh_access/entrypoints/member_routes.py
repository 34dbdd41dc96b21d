"""`/api/v1/me/ssh-keys`: a member's own keys (E6)."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from flask import Blueprint, Response

from central.kernel.aggregates import request_digest
from central.kernel.errors import Unavailable
from central.kernel.http import answer, idempotency_key, read_json, read_query
from central.kernel.observability import bound, event
from central.kernel.problems import BODY_INVALID, UNAVAILABLE, FieldError, Problem
from central.kernel.shared_problems import ACCOUNT_ABSENT, SITE_UNKNOWN
from central.kernel.site_names import Site
from central.kernel.strict_json import encode
from central.kernel.times import Clock
from central.kernel.uuids import dashed_uuid
from central.ssh_access import problems
from central.ssh_access.application.add_key import (
    AccountEvidenceUnavailable,
    AddKey,
    AddRequest,
    NoAccountHere,
)
from central.ssh_access.application.list_keys import ListKeys
from central.ssh_access.application.ports import KeyUnknown, Saved
from central.ssh_access.application.remove_key import RemoveKey
from central.ssh_access.domain.account import Absence
from central.ssh_access.domain.command import Command, member_command
from central.ssh_access.domain.key_name import NameRefused, check_name
from central.ssh_access.domain.member_key import KeyExists, KeyLimitReached, MemberId, State
from central.ssh_access.domain.refusals import KeyRefused
from central.ssh_access.entrypoints import wire

_LOG: Final = logging.getLogger("central.ssh_access")
_SITE_REPORTS_SECONDS: Final = 60
"""How often a Site reports, unless it is set otherwise."""
_ABSENCE: Final = {
    Absence.SITE_UNKNOWN: SITE_UNKNOWN,
    Absence.NOT_ELIGIBLE: problems.NOT_ELIGIBLE,
    Absence.ACCOUNT_ABSENT: ACCOUNT_ABSENT,
}


@dataclass(frozen=True, slots=True)
class MemberRoutes:
    """The three routes. `member` names who is asking, or raises the 401."""

    member: Callable[[], MemberId]
    add_key: AddKey
    list_keys: ListKeys
    remove_key: RemoveKey
    clock: Clock

    def blueprint(self) -> Blueprint:
        """The routes, ready to be mounted."""
        blueprint = Blueprint("member_ssh_keys", __name__, url_prefix="/api/v1/me")
        blueprint.add_url_rule("/ssh-keys", view_func=self.list, methods=["GET"])
        blueprint.add_url_rule("/ssh-keys", view_func=self.add, methods=["POST"])
        blueprint.add_url_rule("/ssh-keys/<string:key_id>", view_func=self.remove, methods=["DELETE"])
        return blueprint

    def list(self) -> Response:
        """Lists the member's keys."""
        member = self.member()
        read_query()
        return answer(wire.keys_body(self.list_keys(member)))

    def add(self) -> Response:
        """Adds a key: 201, or 200 where this command had added it before."""
        member = self.member()
        read_query()
        command_id = member_command(member, idempotency_key())
        body = read_json(wire.AddBody, body_bytes=wire.ADD_BYTES_MAX)
        command = Command(command_id, request_digest(b"add", encode(body)))
        with bound(commandId=str(command.id)), _refusals():
            name = check_name(body.name)
            request = AddRequest(command, member, Site(body.site), name, body.public_key)
            saved = self.add_key(request, self.clock())
            _tell("key_added", saved)
        return answer(wire.key_body(saved.key), status=200 if saved.repeated else 201)

    def remove(self, key_id: str) -> Response:
        """Asks for a key's removal: 202 with the key as it stands."""
        member = self.member()
        read_query()
        command_id = member_command(member, idempotency_key())
        command = Command(command_id, request_digest(b"remove", key_id.lower().encode()))
        with bound(commandId=str(command.id)), _refusals():
            saved = self.remove_key(command, member, _key_id(key_id), self.clock())
            _tell("key_removal_asked", saved)
        return answer(wire.key_body(saved.key), status=202)


def _tell(what: str, saved: Saved) -> None:
    """One line for what a member changed; it names the key, not the person (X9)."""
    key = saved.key
    event(_LOG, what, keyId=str(key.key_id), site=key.site, state=key.state.value, repeated=saved.repeated)


@contextmanager
def _refusals() -> Iterator[None]:
    """What a use case refuses, as the wire's problems. No detail repeats the pasted line (X5)."""
    try:
        yield
    except NameRefused as error:
        raise Problem(BODY_INVALID, f"/name: {error}", errors=[FieldError("/name", str(error))]) from None
    except KeyRefused as error:
        spec = problems.KEY_REFUSED[error.refusal]
        where = FieldError("/publicKey", error.found)
        raise Problem(spec, f"{error.found}. {error.remedy}", errors=[where]) from None
    except NoAccountHere as error:
        spec = _ABSENCE[error.reason]
        raise Problem(spec, f"{spec.meaning} {spec.remedy}") from None
    except AccountEvidenceUnavailable as error:
        if error.awaits_site:
            raise _awaiting_site(error) from None
        raise Unavailable(
            "unavailable", f"the account cannot be known now: {error}; try again later"
        ) from None
    except KeyExists as error:
        going = " and is being removed" if error.key.state is State.REMOVING else ""
        raise Problem(problems.KEY_EXISTS, f"the key is there already as {error.key.key_id}{going}") from None
    except KeyLimitReached as error:
        raise Problem(
            problems.KEY_LIMIT, f"at most {error.limit} keys may stand at a Site; remove one"
        ) from None
    except KeyUnknown:
        raise _key_unknown() from None


def _awaiting_site(error: AccountEvidenceUnavailable) -> Problem:
    """The one doubt a member can wait out; its reason names no one."""
    event(_LOG, "unavailable", level=logging.WARNING, code=UNAVAILABLE.code, reason=str(error))
    return Problem(
        UNAVAILABLE,
        f"The Site has not confirmed the account yet: {error}. Try again in some minutes; if it goes on, ask "
        "the Site's administrator.",
        headers={"Retry-After": str(_SITE_REPORTS_SECONDS)},
    )


def _key_id(text: str) -> UUID:
    """A path's key id; what is no UUID in dashed form names no key."""
    key_id = dashed_uuid(text)
    if key_id is None:
        raise _key_unknown()
    return key_id


def _key_unknown() -> Problem:
    return Problem(problems.KEY_UNKNOWN, "you have no key of this id; list the keys and use an id from there")
