"""Files with secrets in them are their owner's alone, whatever stood in their place."""

import os
import stat
from pathlib import Path

import pytest

from tamis_producer.config.private_file import write_private
from tamis_producer.config.stack_file import StackFile


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_owner_may_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_private(tmp_path / "file", "secret")
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_everybody_may_read_is_replaced_not_filled(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o666)
    reader = path.open()
    write_private(path, "secret")
    assert reader.read() == "old"
    reader.close()
    assert mode(path) == 0o600


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / "file").symlink_to(tmp_path / "elsewhere")
    write_private(tmp_path / "file", "secret")
    assert (tmp_path / "elsewhere").read_text() == "theirs"
    assert not (tmp_path / "file").is_symlink()


def test_the_stack_file_is_one_of_them(tmp_path: Path) -> None:
    StackFile(broker_url="redis://:s3cret@h/0", database_url="postgresql+psycopg://u:s3cret@h/t").write(tmp_path)
    assert mode(tmp_path / "stack.json") == 0o600


def test_a_damaged_stack_file_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text('{"broker_url": 5, "database_url": ["s3cret"]}')
    with pytest.raises(Exception, match="is damaged") as raised:
        StackFile.read(tmp_path)
    assert "s3cret" not in str(raised.value) + str(raised.value.__cause__)
