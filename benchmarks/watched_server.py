"""`streamlit run`, with a note of when torch was first asked for: watched_server.py NOTE APP [options].

NOTE is a file; it gets one line, the wall clock at the first import of torch, and a second one when that was done.
"""

import sys
import threading
import time
from pathlib import Path


class TorchWatch:
    """First in sys.meta_path: finds nothing, but sees who asks for torch."""

    def __init__(self, note: Path) -> None:
        self._note, self._seen = note, False

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Called by each import that is not done yet."""
        if name == "torch" and not self._seen:
            self._seen = True
            self._write()
            threading.Thread(target=self._wait_until_done, daemon=True).start()

    def _wait_until_done(self) -> None:
        while "torch" not in sys.modules or getattr(sys.modules["torch"].__spec__, "_initializing", False):
            time.sleep(0.02)
        self._write()

    def _write(self) -> None:
        with self._note.open("a") as note:
            note.write(f"{time.time()}\n")


if __name__ == "__main__":
    note, *arguments = sys.argv[1:]
    sys.meta_path.insert(0, TorchWatch(Path(note)))  # pyright: ignore[reportArgumentType]
    sys.argv = ["streamlit", "run", *arguments]
    from streamlit.web.cli import main

    sys.path.pop(0)  # this folder, which `streamlit run` would not have there
    main()
