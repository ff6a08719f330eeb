"""What differs between two runs of jobs: one that worked, mostly, and one that did not."""
