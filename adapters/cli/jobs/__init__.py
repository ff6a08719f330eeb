"""Commands about one job, or a list of them."""
