"""What a Site says exists: allocations, their limits and lifecycle, as far as reports prove it (P1–P12)."""
