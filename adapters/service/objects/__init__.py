"""The watched objects as they are now, and what is read from them."""
