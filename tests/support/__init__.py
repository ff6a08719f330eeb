"""What tests are built with."""
