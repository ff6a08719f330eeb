"""What the watches report, turned into observations of the jobs concerned."""
