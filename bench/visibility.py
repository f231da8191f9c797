"""Random users, grants and questions: nobody learns of what is hidden from them. Counts leaks."""
from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.table import print_table, save
from tests.registry.circles import Circles, random_state

CASES, SEED = 10_000, 2026
CASES_A_STATE = 60
SHOWN = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=SEED)
    wanted = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="paishare-circles-") as folder:
        circles = Circles(Path(folder))
        routes, leaks = tried(circles, wanted.cases, random.Random(wanted.seed))
        circles.close()
    print_table("Questions of those who may not see everything", ("what", "figure", "target"), [
        ("cases", f"{routes.total():,}", f"{CASES:,}"), ("routes", str(len(routes)), ""),
        ("leaks", str(len(leaks)), "0"), ("seconds", f"{time.perf_counter() - began:.0f}", "")])
    save("visibility", {"cases": routes.total(), "routes": len(routes), "leaks": len(leaks),
                        "seed": wanted.seed})
    for leak in leaks[:SHOWN]:
        print(leak)
    sys.exit(bool(leaks))


def tried(circles: Circles, cases: int, chance: random.Random) -> tuple[Counter[str], list[str]]:
    """How often each route was asked, and every difference that a hidden repository made."""
    routes: Counter[str] = Counter()
    leaks: list[str] = []
    while routes.total() < cases:
        state = random_state(chance)
        circles.registry.become(state)
        for _ in range(min(CASES_A_STATE, cases - routes.total())):
            user, asked = circles.choose(chance, state)
            routes[asked.endpoint] += 1
            leak = circles.difference(state, user, asked)
            leaks += [leak] if leak else []
    return routes, leaks


if __name__ == "__main__":
    main()
