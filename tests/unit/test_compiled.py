"""What the tests and the system are compiled to is kept, also where the shell says otherwise."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

from compiled import VARIABLE, first_alone, is_cold


def test_bytecode_is_written_though_the_shell_forbids_it() -> None:
    program = "import compiled, sys, os; print(sys.dont_write_bytecode, os.environ.get(compiled.VARIABLE))"
    env = {**os.environ, VARIABLE: "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "False None\n"
    assert VARIABLE not in os.environ
    assert not sys.dont_write_bytecode


def tree(folder: Path) -> Path:
    for name in ("unit/test_a.py", "unit/worker/test_z.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def compile_last(tests: Path) -> None:
    kept = tests / "unit" / "worker" / "__pycache__"
    kept.mkdir()
    (kept / "test_z.cpython-311-pytest-9.2.0.pyc").touch()


def test_a_tree_is_cold_until_its_last_file_of_tests_is_compiled(tmp_path: Path) -> None:
    tests = tree(tmp_path)
    assert is_cold(tests)
    compile_last(tests)
    assert not is_cold(tests)


def test_whoever_comes_second_to_a_cold_tree_waits_for_the_first_and_in_a_warm_one_nobody_waits(tmp_path: Path) -> None:
    tests, let_in = tree(tmp_path), Event()

    def second() -> None:
        with first_alone(tests):
            let_in.set()

    waiting = Thread(target=second)
    with first_alone(tests):
        waiting.start()
        assert not let_in.wait(0.1)
        compile_last(tests)
        assert not let_in.is_set()
    assert let_in.wait(10)
    waiting.join()
    with first_alone(tests), first_alone(tests):
        assert not is_cold(tests)
