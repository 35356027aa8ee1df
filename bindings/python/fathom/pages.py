"""HTML pages that the program makes, and how notebooks show them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .program import FathomError, call
from .scratch import scratch_directory, write

if TYPE_CHECKING:
    from .result import Result


# A notebook shows the first lines of a frame. The charts move there, each job's under its name if there are several, and what
# came through a pipe has no file whose name could be a heading.
_CHARTS_FIRST = """<script>
{
  const parts = [];
  const all = document.querySelectorAll("main .charts");
  for (const charts of all) {
    let heading = charts.previousElementSibling;
    while (heading && heading.tagName !== "H3") heading = heading.previousElementSibling;
    if (heading && all.length > 1) {
      const name = heading.cloneNode(true);
      name.removeAttribute("id");
      parts.push(name);
    }
    parts.push(charts);
  }
  document.querySelector("main")?.prepend(...parts);
  for (const heading of document.querySelectorAll("main h2")) {
    if (heading.textContent === "-") heading.textContent = "The run";
  }
}
</script>
"""


def page_of_result(result: Result) -> str:
    """The page of `fathom report`."""
    return page_from(["report", "-", f"--title={title_of(result)}", "--output=-"], json.dumps(result.raw).encode())


def title_of(result: Result) -> str:
    """The names of its first jobs: a document from a pipe has no name that says anything."""
    names = list(dict.fromkeys(job.name for job in result.jobs))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Storage test: {', '.join(names[:3])}{more}"


def page_of_lines(lines: bytes, name: str) -> str:
    """The page of a results file, which the program wants as a file."""
    with scratch_directory() as directory:
        return page_from(["report", write(directory / name, lines), "--output=-"], b"")


def page_from(arguments: Sequence[str], given: bytes) -> str:
    """What a command writes as a page."""
    return call(arguments, given)[1].decode(errors="replace")


def in_notebook(page: Callable[[], str], title: str) -> str:
    """The page in a separate frame, charts first, so that styles and scripts of page and notebook do not affect each other.

    An error becomes a line of text, because a notebook shows anything raised here without its message.
    """
    try:
        content = page() + _CHARTS_FIRST
    except FathomError as error:
        return f"<pre>no charts: {html.escape(str(error))}</pre>"
    return (
        f'<iframe srcdoc="{html.escape(content)}" sandbox="allow-scripts" title="fathom: {html.escape(title)}" '
        'style="width: 100%; height: 640px; border: 0"></iframe>'
    )
