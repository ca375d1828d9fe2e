"""What a process of Python imports: counted, not timed, and the heavy parts by name."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

# What no command that only looks may wait for: broker, model, templates, formats of files, figures, an ORM.
HEAVY = frozenset(
    {
        *("celery", "kombu", "redis", "openai", "aiohttp", "jinja2", "lxml", "rapidfuzz", "re2", "bibtexparser"),
        *("yaml", "jsonschema", "alembic", "opentelemetry", "pandas", "pyarrow", "sklearn", "fastapi", "uvicorn"),
        *("sqlalchemy", "sqlalchemy.orm", "sqlalchemy.ext.asyncio", "psycopg", "asyncio", "pydantic"),
        *(
            "pydantic_settings",
            "structlog",
            "typer",
            "rich",
            "tamis_producer.client.client",
            "tamis_schemas.operations",
        ),
    }
)
COUNTED = """
import atexit, sys
{block}
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
{script}
"""
BLOCK = """
from importlib.abc import MetaPathFinder
class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""
COMMAND = """
from tamis_cli.start import main
sys.argv = ["tamis", *{arguments!r}]
main()
"""


@dataclass(frozen=True)
class Imported:
    """What a process said, and the modules that it had imported at its end."""

    code: int
    out: str
    err: str
    modules: frozenset[str]

    @property
    def heavy(self) -> set[str]:
        """The heavy parts among them."""
        return set(HEAVY & self.modules)


def imported_by(script: str, *, env: Mapping[str, str] | None = None, missing: tuple[str, ...] = ()) -> Imported:
    """Run a script in a process of its own, as if the packages in `missing` were not installed."""
    block = BLOCK.format(missing=missing) if missing else ""
    done = subprocess.run(
        [sys.executable, "-c", COUNTED.format(block=block, script=script)],
        env={**os.environ, "COLUMNS": "160", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said, _, modules = done.stderr.rstrip("\n").rpartition("\n")
    return Imported(done.returncode, done.stdout, said, frozenset(modules.split()))


def imported_by_command(
    *arguments: str, env: Mapping[str, str] | None = None, missing: tuple[str, ...] = ()
) -> Imported:
    """The same of `tamis` with these arguments."""
    return imported_by(COMMAND.format(arguments=arguments), env=env, missing=missing)
