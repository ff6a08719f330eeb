"""Tables, functions, guards and versions of the schema."""
