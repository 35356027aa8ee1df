"""Determines the commands to install, from packaging/fio-names, and the matching version of fathom."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Names(MetadataHookInterface):
    """The metadata hook called by hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds a script for each name, and the dependency."""
        names = os.environ.get("FATHOM_FIO_NAMES", str(Path(self.root) / "../../../packaging/fio-names"))
        metadata["scripts"] = {name: "fathom.fio:main" for name in Path(names).read_text().split()}
        metadata["dependencies"] = [f"fathom-io == {metadata['version']}"]
