"""Why jobs fail, as rules over what their streams say."""
