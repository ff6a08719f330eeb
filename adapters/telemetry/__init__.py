"""What every adapter may use to tell about itself: time, log lines, metrics."""
