"""Pure: what accepted work asks for, what fences it, when a list is complete."""
