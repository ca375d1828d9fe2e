"""The application over HTTP: its routes, and the page that calls them."""
