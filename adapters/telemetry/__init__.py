"""Clock, logging and metrics for all adapters."""
