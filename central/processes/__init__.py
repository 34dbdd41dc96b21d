"""One composition root a process; the only place that wires adapters."""
