"""Files that people write by hand or fill in: criteria, plans, prices, schemas and tables."""
