"""How each effect is done outside, and what came of it."""
