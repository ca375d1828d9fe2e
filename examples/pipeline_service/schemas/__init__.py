"""What the service exchanges with its callers. Not the schemas of Tamis, which are called `tamis_schemas`."""

from .article import CanonicalResearchArticle

__all__ = ["CanonicalResearchArticle"]
