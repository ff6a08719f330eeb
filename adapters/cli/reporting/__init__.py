"""How the answers of `jobledger report` are shown: tables, charts, pictures, machine forms."""
