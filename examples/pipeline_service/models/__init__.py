"""What the service keeps in its own database."""

from .wip_article import Base, WipArticle

__all__ = ["Base", "WipArticle"]
