"""Files that people write by hand: their text, their YAML, the prices in them."""
