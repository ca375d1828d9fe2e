"""Files that people write or fill in: criteria, plans, prices, schemas and tables."""
