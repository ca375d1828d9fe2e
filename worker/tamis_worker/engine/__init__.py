"""The evaluation of an item, from its claim to its recorded result."""
