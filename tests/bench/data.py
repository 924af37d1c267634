"""Where benchmarks find their data, and what to say when it is not there."""

import argparse
import sys
from pathlib import Path

LOCOMO = Path("../shared/data/locomo/locomo_dev.json")
HOW_TO_GET = (
    "LoCoMo (Maharana et al., ACL 2024; CC BY-NC 4.0) is not shipped: get locomo10.json from the snap-research/locomo"
    " repository and pass it with --data FILE."
)


def locomo_path(description: str) -> Path:
    """The file that --data names; ends the program with the way to get it when it is not there."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=LOCOMO, help="a LoCoMo file (default: %(default)s)")
    path: Path = parser.parse_args().data
    if not path.is_file():
        sys.exit(f"there is no {path}. {HOW_TO_GET}")
    return path
