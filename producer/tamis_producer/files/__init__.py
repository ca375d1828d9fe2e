"""Files that people write by hand: their text, YAML and prices."""
