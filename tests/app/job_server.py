"""A server that has one training, for a test to kill: python job_server.py ROOT, and it prints the job's link."""

import sys
import time
from pathlib import Path

if __name__ == "__main__":
    from small_jobs import LONG

    from app.jobs.board import JobBoard

    board = JobBoard(Path(sys.argv[1]), data_root=Path("nowhere"), device="cpu", workers=1)
    print(board.start("killed", LONG), flush=True)
    time.sleep(300)
