"""Run the Python blocks of pages and write what they print after them: python docs/_tools/outputs.py PAGE ...

A `text` block right after a Python block is replaced; one is added after a block that prints something and has none.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n.*?^```)?", re.DOTALL | re.MULTILINE)


def with_outputs(page: str) -> str:
    """The page with what its blocks print."""
    names = {"__name__": "page"}

    def run(block: re.Match[str]) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(block[1], "page", "exec"), names)
        printed = "\n".join(line.rstrip() for line in output.getvalue().rstrip().splitlines())
        return f"```python\n{block[1]}```" + (f"\n\n```text\n{printed}\n```" if printed else "")

    return BLOCK.sub(run, page)


if __name__ == "__main__":
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for page in pages:
            page.write_text(with_outputs(page.read_text(encoding="utf-8")), encoding="utf-8")
