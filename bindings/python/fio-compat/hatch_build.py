"""The names that the package installs, from packaging/fio-names, and the fathom that it belongs to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Names(MetadataHookInterface):
    """The hook that hatchling calls."""

    def update(self, metadata: dict[str, Any]) -> None:
        """A script for each name, and the dependency."""
        names = os.environ.get("FATHOM_FIO_NAMES", str(Path(self.root) / "../../../packaging/fio-names"))
        metadata["scripts"] = {name: "fathom.fio:main" for name in Path(names).read_text().split()}
        metadata["dependencies"] = [f"fathom-io == {metadata['version']}"]
