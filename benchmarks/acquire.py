"""Acquisition of a data set from the mirror against GNU tar and sha256sum, which do the same work unsafely.

    ERMLAB_MIRROR=<folder of archives> python benchmarks/acquire.py [--dataset NAME] [--repeats N]

Both unpack the archive and hash every file; `acquire` also checks every member, moves the finished folder
into place and writes down what it did. Printed are the seconds, their ratio, and what a second call takes.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from reproduction.acquire.registry import MIRROR_VARIABLE, acquire, load_registry

BY_HAND = (
    "tar xJf {archive} -C {target} && cd {target} && find . -type f -print0 | xargs -0 sha256sum > /dev/null"
)


def main(dataset: str, repeats: int) -> None:
    registry = load_registry()
    archive = Path(os.environ[MIRROR_VARIABLE]) / registry[dataset].mirror.archive
    peer, ours, again = [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as target:
            command = BY_HAND.format(archive=archive, target=target)
            peer.append(seconds(lambda command=command: subprocess.run(command, shell=True, check=True)))
        raw = Path(tempfile.mkdtemp())
        ours.append(seconds(lambda raw=raw: acquire(dataset, raw, policy="real", registry=registry)))
        again.append(seconds(lambda raw=raw: acquire(dataset, raw, policy="real", registry=registry)))
        shutil.rmtree(raw)
    by_hand, own, second = map(statistics.median, (peer, ours, again))
    print(f"{dataset}: tar and sha256sum {by_hand:.2f} s, acquire {own:.2f} s, a second time {second:.2f} s")
    print(f"ratio {by_hand / own:.2f}")


def seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="daimler_pedestrians")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    main(arguments.dataset, arguments.repeats)
