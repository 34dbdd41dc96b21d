"""Pure rules of the agent: keys, targets, plans, outcomes. No I/O, clock or framework."""
