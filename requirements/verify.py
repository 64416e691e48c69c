"""Compare what pip is about to install with the hashes of a lock, and print it as requirements with hashes.

    python requirements/verify.py REPORT HASHES

REPORT is that of 'pip install --dry-run --report'. A file of an index that is not among the HASHES of its package ends
the program with status 1. Local files, such as a CPU build of torch in a find-links folder, and packages that the lock
does not have, such as the CUDA packages that torch pins itself, are named and taken as they are.
"""

import json
import re
import sys
from pathlib import Path


def canonical(name: str) -> str:
    """Write the name of a package as indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def known_hashes(path: str) -> dict[str, set[str]]:
    """Read the SHA-256 of the files of each package."""
    known: dict[str, set[str]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([A-Za-z0-9_.-]+)==", line):
            own = known.setdefault(canonical(found[1]), set())
        elif found := re.match(r"\s+--hash=sha256:([0-9a-f]{64})", line):
            own.add(found[1])
    return known


def main(report: str, hashes: str) -> int:
    """Print the packages with their hashes; return the exit status."""
    known, wrong = known_hashes(hashes), []
    for package in json.loads(Path(report).read_text(encoding="utf-8"))["install"]:
        name, version = canonical(package["metadata"]["name"]), package["metadata"]["version"]
        url, archive = package["download_info"]["url"], package["download_info"].get("archive_info")
        if archive is None:
            continue  # a folder, such as that of the project itself
        own = archive["hashes"]["sha256"]
        if own not in known.get(name, set()):
            if name in known and not url.startswith("file:"):
                wrong.append(f"{name} {version} from {url} has the SHA-256 {own}, which is not one of {hashes}.")
                continue
            print(f"not verified: {name} {version} from {url}", file=sys.stderr)
        print(f"{name}=={version} --hash=sha256:{own}")
    for sentence in wrong:
        print(f"requirements/verify.py: {sentence} Nothing was installed.", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
