"""Results as tables: columns, files, and data frames."""
