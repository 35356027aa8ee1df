"""What the name of a wheel promises."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import fathom

from .conftest import skip


def hook() -> ModuleType:
    here = Path(__file__).parent
    path = next(each for each in (here / "hatch_build.py", here.parent / "hatch_build.py") if each.exists())
    spec = importlib.util.spec_from_file_location("hatch_build", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(tmp_path: Path, source: str, *words: str) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        skip("platforms of a program: no C compiler is installed")
    (tmp_path / "main.c").write_text(source)
    subprocess.run([compiler, "-o", str(tmp_path / "program"), str(tmp_path / "main.c"), *words], check=True)
    return tmp_path / "program"


def test_the_installed_wheel_is_for_the_c_library_of_its_program() -> None:
    tags = [
        line for line in (importlib.metadata.distribution("fathom-io").read_text("WHEEL") or "").splitlines() if "Tag" in line
    ]
    assert tags == [f"Tag: py3-none-{platform}" for platform in sorted(hook().platforms(Path(fathom.find_program())))]
    licences = [str(path) for path in importlib.metadata.files("fathom-io") or [] if "licenses" in str(path)]
    assert len(licences) >= 2
    assert importlib.metadata.metadata("fathom-io")["License-Expression"] == "MIT OR Apache-2.0"


def test_a_static_program_is_for_every_c_library(tmp_path: Path) -> None:
    program = build(tmp_path, "int main(void) { return 0; }\n", "-static")
    assert [platform.split("_")[0] for platform in hook().platforms(program)] == ["manylinux", "musllinux"]


def test_newer_symbols_need_a_newer_c_library(tmp_path: Path) -> None:
    # getrandom came with glibc 2.25; starting a program needs a newer symbol on newer machines.
    program = build(tmp_path, "#include <sys/random.h>\nint main(void) { char c; return getrandom(&c, 1, 0) != 1; }\n")
    (platform,) = hook().platforms(program)
    assert tuple(map(int, platform.split("_")[1:3])) >= (2, 25)


def test_a_library_that_not_every_system_has_is_refused(tmp_path: Path) -> None:
    library = tmp_path / "libstrange.so"
    (tmp_path / "strange.c").write_text("int strange(void) { return 0; }\n")
    compiler = shutil.which("cc") or skip("a strange library: no C compiler is installed")
    shared = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o", str(library), str(tmp_path / "strange.c")]
    subprocess.run(shared, check=True)
    program = build(tmp_path, "int strange(void); int main(void) { return strange(); }\n", str(library))
    with pytest.raises(SystemExit, match="libstrange"):
        hook().platforms(program)


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"#!/bin/sh\n", b"\x7fELF", Path(sys.executable).read_bytes()[:100]):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(SystemExit, match="other"):
            hook().platforms(tmp_path / "other")
    with pytest.raises(SystemExit, match="missing"):
        hook().platforms(tmp_path / "missing")
