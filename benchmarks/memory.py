"""The memory of a server with one worker: at rest, after moves of the live lab's sliders, and after uploads of lesions.

    python benchmarks/memory.py [--moves 100] [--uploads 200]

Anonymous memory belongs to the processes alone; what they have of files in memory is counted once for each, and the
system can drop it. Prints a table in Markdown; exits 1 where anonymous memory is above the target.
"""

import argparse
import asyncio
import io
import os

import numpy as np
import psutil
from PIL import Image
from report import Targets, machine, markdown_table
from server import LAB_APP, Server, running
from session import Session
from tours import UPLOAD

MAX_MIB = 1144  # 1.2 GB


def photograph(number: int) -> bytes:
    """A JPEG of 600 x 450 pixels; each number's differs."""
    generator = np.random.default_rng(number)
    small = Image.fromarray(generator.integers(90, 220, (9, 12, 3), dtype=np.uint8))
    stream = io.BytesIO()
    small.resize((600, 450), Image.Resampling.BICUBIC).save(stream, "JPEG", quality=95)
    return stream.getvalue()


def memory_mib(server: Server) -> tuple[float, float]:
    """Anonymous memory of the server and its workers, and the memory of the files that they have mapped."""
    anonymous, files = 0, {}
    for pid in server.family():
        for part in psutil.Process(pid).memory_maps(grouped=True):
            anonymous += part.anonymous
            files[part.path] = max(files.get(part.path, 0), part.rss - part.anonymous)
    return anonymous / 2**20, sum(files.values()) / 2**20


async def visit(server: Server, moves: int, uploads: int) -> list[tuple[str, float, float]]:
    """Stages and the memory after each."""
    session = await Session.open(server.url, "lab")
    answer = await session.run()
    stages = [("the live lab is open", *memory_mib(server))]
    for number in range(moves):
        slider = sorted((one for one in answer.sliders.values() if one.row), key=lambda one: one.row)[number % 5]
        answer.join(await session.run({slider: (37 * number) % 101}))
    stages.append((f"{moves} moves", *memory_mib(server)))
    answer = await session.go("lesions")
    for number in range(uploads):
        answer.join(await session.upload(answer, UPLOAD, f"{number:05}.jpg", photograph(number)))
    stages.append((f"{uploads} uploads", *memory_mib(server)))
    if answer.errors:
        raise SystemExit(f"the pages do not work: {answer.errors[0]}")
    await session.close()
    return stages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--uploads", type=int, default=200)
    options = parser.parse_args()
    print(machine("streamlit", "torch") + "\n")
    with running(LAB_APP, L2D_WORKERS="1", OMP_NUM_THREADS=os.environ.get("OMP_NUM_THREADS", "1")) as server:
        stages = asyncio.run(visit(server, options.moves, options.uploads))
    rows = [(name, f"{own:,.0f}", f"{files:,.0f}", f"{own + files:,.0f}") for name, own, files in stages]
    print(markdown_table(("after", "anonymous, MiB", "files, MiB", "together, MiB"), rows))
    targets = Targets()
    most = max(own for _, own, _ in stages)
    targets.check(most < MAX_MIB, f"at most {most:,.0f} MiB anonymous, under {MAX_MIB:,}")
    targets.exit()


if __name__ == "__main__":
    main()
