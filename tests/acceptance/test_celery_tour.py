"""A Celery user's tour: every command of Celery's that talks to workers, with two workers and a batch under way."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.worker.control import Panel

from llm_double import Double, Fault, Kind
from nursery import shared
from stage import WorkerProcess, abstracts, wait_until
from stage.celery_command import CeleryWorker, celery
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.config.settings import next_database
from tamis_producer.transport.broker import make_app
from tamis_schemas import Filter
from tamis_worker.embedded.valkey import Valkey

DATABASES = 3  # the first of three that no other module's workers use
SLOW = "record number 0."  # an item whose call lasts as long as the tour
LASTS = 120.0  # s
ONCOLOGY = Filter(criteria="Is this about oncology?")
WITHIN = 30.0  # s
SECRET = "a-key-that-nobody-is-shown"


@dataclass(frozen=True)
class Tour:
    """Two workers, one started by each command, and what asks them."""

    client: Client
    double: Double
    app: Celery
    workers: tuple[WorkerProcess, CeleryWorker]
    environment: dict[str, str]
    folder: Path

    def ask(self, command: str, **arguments: Any) -> list[Any]:
        """The replies of both workers, in the order of their names."""
        replies = self.app.control.broadcast(command, arguments=arguments, reply=True, limit=2, timeout=WITHIN)
        by_name = {name: reply for one in replies for name, reply in one.items()}
        assert len(by_name) == 2, (command, replies)
        return [by_name[name] for name in sorted(by_name)]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`celery -A tamis_worker.celery ...`, run to its end."""
        return celery(*arguments, env=self.environment, cwd=self.folder)
