"""The example notebook, and the Python of the pages as their readers would type it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import skip

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# In the repository, or at the destination to which make test-python copies them.
PAGES = {
    "README.md": (HERE.parent / "README.md", ROOT / "README.md"),
    "docs/python.md": (HERE / "python.md", ROOT / "docs/python.md"),
    "docs/guide.md": (HERE / "guide.md", ROOT / "docs/guide.md"),
    "bindings/python/README.md": (HERE / "README.md", HERE.parent / "README.md"),
}


def page(name: str) -> str:
    copy, original = PAGES[name]
    if name == "README.md" and original.exists():
        return original.read_text(encoding="utf-8")
    return (copy if copy.exists() else original).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(PAGES))
def test_the_python_of_a_page_runs_in_its_order(name: str) -> None:
    blocks = re.findall(r"(?:<!-- needs: ([^>]*) -->\n)?```python\n(.*?)```", page(name), re.DOTALL)
    assert blocks, f"{name} has no Python"
    # The job files that the page names immediately before their content.
    for before, content in re.findall(r"((?:(?!```).)*)```ini\n(.*?)```", page(name), re.DOTALL):
        Path(re.findall(r"`([^` ]+\.fio)`", before)[-1]).write_text(content)
    variables: dict[str, Any] = {"__name__": "page"}
    for needs, code in blocks:
        missing = [each for each in needs.split(", ") if each and importlib.util.find_spec(each) is None]
        if missing:
            skip(f"a block of {name}: {', '.join(missing)} is not installed")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, name, "exec"), variables)
        assert said.getvalue() or "print" not in code, f"{name}: nothing was printed by\n{code}"
    with contextlib.suppress(ImportError):
        from matplotlib import pyplot

        pyplot.close("all")


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # A notebook sets its matplotlib backend itself.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    shutil.copy(HERE.parent / "examples/first.ipynb", "first.ipynb")
    notebook = nbformat.read("first.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit the notebook without outputs"
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": os.getcwd()}}
    ).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    html = "".join("".join(output.get("data", {}).get("text/html", "")) for output in shown)
    assert "<iframe srcdoc=" in html and "<table" in html
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert any("IOPS" in output.get("text", "") for output in shown)
    assert os.listdir() == ["first.ipynb"]
