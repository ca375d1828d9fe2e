"""The names that packages export are the same for type checkers, at run time and in `__all__`."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tamis_producer
import tamis_producer.ledger
import tamis_producer.runs
import tamis_review
import tamis_review.filter
import tamis_review.intake
import tamis_schemas
import tamis_schemas.ledger

LAZY = (
    *(tamis_schemas, tamis_schemas.ledger),
    *(tamis_producer, tamis_producer.ledger, tamis_producer.runs),
    *(tamis_review, tamis_review.intake, tamis_review.filter),
)
PACKAGES = pytest.mark.parametrize(
    "package",
    LAZY,
    ids=lambda package: package.__name__,
)


def declared(package: ModuleType) -> dict[str, str]:
    """Each name that a type checker sees, with the module from which it comes."""
    tree = ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(tree.body), "a stub holds imports alone"
    return {name.name: f"{package.__name__}.{one.module}" for one in imports for name in one.names}


@PACKAGES
def test_each_name_is_what_its_module_holds(package: ModuleType) -> None:
    homes = declared(package)
    assert sorted(homes) == sorted(package.__all__)
    for name, home in homes.items():
        __import__(home)
        assert getattr(package, name) is getattr(sys.modules[home], name)


@PACKAGES
def test_another_name_is_none_of_its_attributes(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Nothing'"):
        _ = package.Nothing


def test_the_packages_alone_import_none_of_them() -> None:
    script = """
import sys, tamis_review.intake, tamis_producer.ledger, tamis_producer.runs, tamis_review.filter, tamis_schemas.ledger
print(*(name for name in sys.modules if name.startswith("tamis_")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    packages = {package.__name__ for package in LAZY}
    assert set(done.stdout.split()) == packages | {"tamis_schemas.lazy"}
