"""The cache of watched objects, and values read from them."""
