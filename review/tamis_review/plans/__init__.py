"""Reviews and their stages, and the files that people write or fill in: criteria, plans, schemas and tables."""
