"""Machines of their own for workers: network namespaces of this one, each on a cable that can be pulled."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

IP_WITHIN = 10.0  # s, for one command of `ip`
PROBE = "tamis-probe"


@dataclass(frozen=True)
class Machine:
    """A namespace that reaches the address of the servers, and nothing else."""

    namespace: str
    cable: str  # this machine's end of it

    def cut(self) -> None:
        """Pull the cable: nothing arrives any more, and nobody is told so."""
        _ip("link", "set", self.cable, "down")

    def mend(self) -> None:
        """Plug it in again."""
        _ip("link", "set", self.cable, "up")


@dataclass(frozen=True)
class Machines:
    """Several machines, and the address of this one at which all of them reach it."""

    address: str
    each: tuple[Machine, ...]


def why_not() -> str | None:
    """Why there can be no namespaces here; None where there can. In CI a reason fails the test."""
    if shutil.which("ip") is None:
        return "there is no `ip` (apt-get install iproute2)"
    if os.geteuid() != 0:
        return "network namespaces are made by root"
    try:
        _ip("netns", "add", f"{PROBE}-{os.getpid()}")
        _ip("netns", "delete", f"{PROBE}-{os.getpid()}")
    except subprocess.SubprocessError as error:
        return f"network namespaces cannot be made here: {(getattr(error, 'stderr', None) or str(error)).strip()}"
    return None


def needs_machines() -> None:
    """Leave the test out where there can be no namespaces, with the reason; fail it in CI."""
    reason = why_not()
    if reason is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


@contextmanager
def machines(count: int) -> Iterator[Machines]:
    """So many machines. Their addresses are of 198.18.0.0/15, which is kept for tests of networks."""
    mark = os.getpid() % 65_536  # of this process: others may run the same test
    network = f"198.{18 + mark % 2}.{mark // 2 % 256}"
    address = f"{network}.254"
    made = [Machine(f"tamis-{mark:x}-{number}", f"tm{mark:x}h{number}") for number in range(count)]
    try:
        # On no cable: it is there whichever of them is pulled.
        _ip("address", "add", f"{address}/32", "dev", "lo")
        for number, machine in enumerate(made):
            _connect(machine, f"tm{mark:x}m{number}", network, 4 * number, address)
        yield Machines(address, tuple(made))
    finally:
        for machine in made:
            _ip("netns", "delete", machine.namespace, check=False)
            _ip("link", "delete", machine.cable, check=False)  # or as soon as the last process in there has ended
        _ip("address", "delete", f"{address}/32", "dev", "lo", check=False)


def _connect(machine: Machine, far_end: str, network: str, first: int, address: str) -> None:
    """A cable between this machine and that one, with four addresses from `first`."""
    here, there = f"{network}.{first + 1}", f"{network}.{first + 2}"
    _ip("netns", "add", machine.namespace)
    inside = ("-n", machine.namespace)
    _ip("link", "add", machine.cable, "type", "veth", "peer", "name", far_end, "netns", machine.namespace)
    _ip("address", "add", f"{here}/30", "dev", machine.cable)
    _ip("link", "set", machine.cable, "up")
    _ip(*inside, "link", "set", "lo", "up")
    _ip(*inside, "address", "add", f"{there}/30", "dev", far_end)
    _ip(*inside, "link", "set", far_end, "up")
    _ip(*inside, "route", "add", f"{address}/32", "via", here)


def _ip(*arguments: str, check: bool = True) -> None:
    command: Sequence[str] = (_ip_program(), *arguments)
    subprocess.run(command, check=check, capture_output=True, text=True, timeout=IP_WITHIN)


def _ip_program() -> str:
    found = shutil.which("ip")
    assert found is not None, "there is no `ip`: apt-get install iproute2"
    return found
