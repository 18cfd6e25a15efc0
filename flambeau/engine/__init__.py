"""When to run: what forces a value, the pending budget, and the record of looks."""

from .explain import explain, looks
from .first_draws import first_draws
from .look import (
           address,
           check_budget,
           compute_pending,
           expose,
           look_at_declaration,
           look_at_draws,
           look_at_parameters,
           look_at_step_end,
           snapshot,
           synchronize,
           user_site,
           value_of,
)

__all__ = ["address", "check_budget", "compute_pending", "explain", "expose", "first_draws",
           "look_at_declaration", "look_at_draws", "look_at_parameters", "look_at_step_end", "looks",
           "snapshot", "synchronize", "user_site", "value_of"]
