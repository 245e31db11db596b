import hashlib

import pytest
from file_server import zipped
from small_archives import write_archives

from cmab_gym.cli import main
from cmab_gym.envs_data.bundle import bundled_specs


def test_the_cache_is_listed_located_and_verified(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path))
    assert main(["data", "list"]) == 0
    assert "ml-1m" in capsys.readouterr().out
    assert main(["data", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path)
    assert main(["data", "path", "ml-1m"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "ml-1m.zip")
    assert main(["data", "verify"]) == 0
    assert "no data set is cached" in capsys.readouterr().out
    (tmp_path / "ml-1m.zip").write_bytes(b"not it")
    assert main(["data", "verify", "ml-1m"]) == 2
    assert "expected" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to_is_named_with_the_remedy(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path / "file" / "below"))
    assert main(["data", "fetch", "ml-1m"]) == 2
    err = capsys.readouterr().err
    assert f"downloads, {tmp_path}/file/below, cannot be written to (Not a directory)" in err
    assert "set CMAB_GYM_DATA to another folder" in err


def test_a_file_that_matches_its_checksum_is_verified(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path))
    (tmp_path / "ml-latest.zip").write_bytes(zipped(b"ratings"))
    digest = hashlib.sha256(zipped(b"ratings")).hexdigest()
    (tmp_path / "ml-latest.zip.sha256").write_text(f"{digest}  ml-latest.zip\n")
    assert main(["data", "verify"]) == 0
    assert capsys.readouterr().out == "ml-latest: matches its checksum\n"


@pytest.mark.filterwarnings("ignore::cmab_gym.envs_data.SparseSurveyWarning")
def test_build_writes_the_bundled_tables(tmp_path, capsys):
    write_archives(tmp_path)
    out = tmp_path / "out"
    assert main(["data", "build", str(tmp_path), "--out", str(out)]) == 0
    printed = capsys.readouterr().out.split()
    assert sorted(printed) == sorted(str(path) for path in out.iterdir())
    assert len(printed) == len(bundled_specs())
