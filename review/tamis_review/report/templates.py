"""Templates of pages: every text is escaped, and a name that is not given is an error."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from tamis_schemas.extras import needs

with needs("cli"):
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


@cache
def template(path: Path, *more: Path) -> Template:
    """The template in a file; it may include those beside it, and in other folders."""
    environment = Environment(
        loader=FileSystemLoader([path.parent, *more]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name)


def policy_hash(text: str) -> str:
    """Return the hash by which a content security policy names an inline script or style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
