"""Builds the wheel: puts a built program into it and names the platforms that this program runs on.

FATHOM_WHEEL_PROGRAM names the program. The required platform is determined from the file, so that the tags of the wheel are accurate. Without the variable, the wheel contains no program, suits every platform, and uses the program on the PATH.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Libraries available on every glibc system according to PEP 600. The program loads all others only when an
# engine needs them.
C_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1"}
MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}
# Older glibc versions have no platform tag.
OLDEST_GLIBC = {"x86_64": (2, 5), "aarch64": (2, 17)}
OLDEST_MUSL = "1_1"


def version() -> str:
    """FATHOM_VERSION, otherwise the version of the workspace."""
    given = os.environ.get("FATHOM_VERSION")
    if given:
        return given
    manifest = Path(__file__).parent / "../../Cargo.toml"
    try:
        declared = re.search(r'(?ms)^\[workspace\.package\].*?^version = "(.*?)"', manifest.read_text())
    except OSError as error:
        raise SystemExit(f"{error}; outside of fathom's repository, FATHOM_VERSION has to name the version") from error
    if declared is None:
        raise SystemExit(f"{manifest}: no version below [workspace.package]")
    return declared.group(1)


def platforms(program: Path) -> list[str]:
    """The platform tags of an executable: a static one runs with any C library, a dynamic one with the glibc version of its symbols or a newer one."""
    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            machine = MACHINES.get(elf["e_machine"])
            if machine is None:
                raise SystemExit(f"{program}: for {elf['e_machine']}; wheels are for {', '.join(MACHINES.values())}")
            if not any(segment["p_type"] == "PT_INTERP" for segment in elf.iter_segments()):
                oldest = "_".join(map(str, OLDEST_GLIBC[machine]))
                return [f"manylinux_{oldest}_{machine}", f"musllinux_{OLDEST_MUSL}_{machine}"]
            needed, symbols = requirements(elf)
    except (OSError, ELFError) as error:
        raise SystemExit(f"FATHOM_WHEEL_PROGRAM={program}: {error}; name a built fathom") from error
    others = {name for name in needed - C_LIBRARIES if not name.startswith("ld-linux")}
    if others:
        raise SystemExit(
            f"{program}: needs {', '.join(sorted(others))}, which not every system has; link it as packaging/ does"
        )
    found = [tuple(map(int, name[6:].split("."))) for name in symbols if re.fullmatch(r"GLIBC_[0-9.]+", name)]
    newest = max([(each + (0,))[:2] for each in found] + [OLDEST_GLIBC[machine]])
    return [f"manylinux_{newest[0]}_{newest[1]}_{machine}"]


def requirements(elf: Any) -> tuple[set[str], set[str]]:
    """The libraries that a dynamic program loads at startup, and the versions of their symbols."""
    libraries: set[str] = set()
    versions: set[str] = set()
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            tags: Any = section.iter_tags("DT_NEEDED")
            libraries.update(tag.needed for tag in tags)
        if isinstance(section, GNUVerNeedSection):
            versions.update(version.name for _, each in section.iter_versions() for version in each)
    return libraries, versions


class Program(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the program as a script: pip installs it next to the interpreter and marks it executable."""
        named = os.environ.get("FATHOM_WHEEL_PROGRAM")
        if not named:
            return
        program = Path(named).resolve()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{'.'.join(sorted(platforms(program)))}"
        build_data["shared_scripts"][str(program)] = "fathom"
