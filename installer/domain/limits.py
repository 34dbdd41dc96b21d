"""Every limit and deadline of the installer, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes, durations in seconds of the monotonic clock."""

    input_size: int = 256 * 1024
    """A profile, site configuration or evidence file."""
    authority_size: int = 1024 * 1024
    """The certificates of the Site API's authority; a whole system bundle has a quarter of it."""
    credential_size: int = 16 * 1024
    state_size: int = 4 * 1024 * 1024
    journal_size: int = 16 * 1024 * 1024
    log_files: int = 200
    """Logs of runs that are kept; the oldest go."""
    log_bytes: int = 64 * 1024 * 1024
    history_files: int = 200
    """Journals of closed operations that are kept; the oldest go."""
    history_bytes: int = 64 * 1024 * 1024
    answer_size: int = 64 * 1024
    """The body of a Site API answer, and what a probe child may print."""
    waldur_answer_size: int = 4 * 1024 * 1024
    """One page of a Waldur list, or one offering with its components."""

    command_seconds: float = 30.0
    """One native command (systemctl show, sysusers); stopping a unit has its own deadline."""
    stop_seconds: float = 120.0
    probe_seconds: float = 20.0
    health_deadline_seconds: float = 90.0
    """How long a started component may take until it was healthy for a whole window."""
    health_window_seconds: float = 5.0
    """How long a component must stay healthy, without restart, before the activation counts (H19, H20)."""
    restore_start_seconds: float = 60.0
    poll_seconds: float = 0.25

    release_bytes: int = 400 * 1024 * 1024
    """Free space an install needs: archive, wheels and one environment a component, with a margin."""
    release_inodes: int = 20_000
    state_bytes: int = 2 * 1024 * 1024
    clock_skew_seconds: float = 300.0
    """How far the host's clock may stand before the manifest's build time."""
    grant_warning_days: int = 14
