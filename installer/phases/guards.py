"""What must hold before anything is stopped: no unfinished operation, record and link agree, the journal
can be read.
"""

from installer.domain.activation import ComponentIntent, ComponentState, linked_release
from installer.domain.profile import Profile
from installer.domain.refusal import PREFLIGHT_REFUSED, UNFINISHED_JOURNAL, Refusal
from installer.domain.releases import is_downgrade, refuse_unreadable_journal
from installer.domain.state import State
from installer.host.component_journal import journal_schema
from installer.host.context import Host
from installer.host.identities import local_identity
from installer.host.releases import InstalledRelease


def refuse_unfinished(host: Host) -> None:
    """Raise ``unfinished_journal`` (exit 9) while an operation is open; a closed one is only put away."""
    journal = host.journal.read()
    if journal is None:
        return
    if journal.operation is None:
        host.journal.discard()
    elif journal.closed:
        _put_away(host, journal.operation.id)
    else:
        raise Refusal(
            "unfinished_journal",
            found=f"{journal.operation.phase} of {journal.operation.at} was not finished",
            wanted="no open operation",
            remedy="Run `pharos-installer recover`: it brings back the state from before that operation.",
            exit_code=UNFINISHED_JOURNAL,
        )


def _put_away(host: Host, operation: str) -> None:
    try:
        host.journal.archive(operation)
    except OSError as error:
        raise Refusal(
            "journal_not_archived",
            found=f"the closed journal cannot be moved to the history: {error}",
            wanted="room for the next operation's journal",
            remedy="Look at /var/lib/pharos-installer/history, then run it again; nothing was changed.",
            exit_code=PREFLIGHT_REFUSED,
        ) from error


def refuse_mismatch(intent: ComponentIntent) -> None:
    """Raise ``record_mismatch`` (exit 9) when link and success record name different releases (row 27)."""
    linked = linked_release(intent.prior.current, intent.name)
    recorded = intent.prior.record.release if intent.prior.record is not None else None
    if linked != recorded:
        raise Refusal(
            "record_mismatch",
            found=f"{intent.name} is linked to {linked}, the success record names {recorded}",
            wanted="both the same",
            remedy="A journal was lost, or another hand moved the link. If the link is right run"
            " `pharos-installer recover --adopt-links`, else put the link back.",
            exit_code=UNFINISHED_JOURNAL,
        )


def refuse_changed_inputs(name: str, prior: ComponentState, profile: Profile, *, accepted: bool) -> None:
    """Raise ``inputs_changed`` (exit 3) when the profile differs from what the active release was healthy
    with (I4).
    """
    if prior.record is None or accepted:
        return
    now = profile.recorded_inputs(name)
    changed = [key for key, value in prior.record.inputs.items() if now.get(key) != value]
    if changed:
        raise Refusal(
            "inputs_changed",
            found=f"since {name} was activated the profile changed at {', '.join(changed)}",
            wanted="the interpreter, endpoints and identities that were recorded",
            remedy="If the change is meant, pass --accept-changed-inputs; the new values are recorded then.",
            exit_code=PREFLIGHT_REFUSED,
        )


def refuse_downgrade(name: str, prior: ComponentState, release: str, *, named: bool) -> None:
    """Raise ``downgrade_implicit`` (exit 3): an older release is activated only when named (row 16)."""
    current = prior.record.release if prior.record is not None else None
    if is_downgrade(current, release) and not named:
        raise Refusal(
            "downgrade_implicit",
            found=f"{release} is older than {current}, which is active for {name}",
            wanted="a newer release, or an explicit way back",
            remedy=f"Use `rollback`, or name the older one: --release {release}.",
            exit_code=PREFLIGHT_REFUSED,
        )


def refuse_bad(name: str, release: str, state: State, *, retry: bool) -> None:
    """Raise ``release_bad`` (exit 3): a release that failed here before is not tried again by accident
    (case B4).
    """
    bad = state.badness(name, release)
    if bad is not None and not retry:
        raise Refusal(
            "release_bad",
            found=f"{release} did not become healthy for {name} at {bad.at}: {bad.reason}",
            wanted="a release that is not known to be bad here",
            remedy="Choose another one; if the cause was the host's, pass --retry-bad.",
            exit_code=PREFLIGHT_REFUSED,
        )


def refuse_unreadable_component_journal(host: Host, installed: InstalledRelease, name: str) -> None:
    """Raise unless the release reads the component's journal on disk (B32, row 36)."""
    component = installed.component(name)
    identity = local_identity(host.paths, component.user)
    if identity is None:
        return
    on_disk = journal_schema(
        host.paths, host.run, component=name, run_as=identity.run_as, timeout=host.limits.command_seconds
    )
    reads = component.journal_schemas.reads
    refuse_unreadable_journal(component=name, release=installed.id, reads=reads, on_disk=on_disk)
