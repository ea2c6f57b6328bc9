"""Known vulnerabilities of the versions in scripts/locks, by OSV (https://osv.dev): `python3 scripts/audit.py`.

Sends one request with names and versions only. Exit 1 if there are vulnerabilities; if OSV is unreachable, one
line and exit 0.
"""

import json
import os
import re
import sys
import urllib.request
from pathlib import Path

LOCKS = Path(__file__).parent / "locks"
OSV = os.environ.get("OSV_URL", "https://api.osv.dev") + "/v1/querybatch"


def main() -> int:
    texts = [path.read_text(encoding="utf-8") for path in sorted(LOCKS.glob("*.txt"))]
    # A local build such as 2.13.0+cpu has the advisories of its version.
    pins = sorted({pin for text in texts for pin in re.findall(r"(?m)^([\w.-]+)==([\w.!-]+)", text)})
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in pins]
    asked = urllib.request.Request(OSV, json.dumps({"queries": queries}).encode())  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=30) as reply:  # noqa: S310
            results = json.load(reply)["results"]
    except (OSError, ValueError, KeyError) as error:
        print(f"audit: not done, no advisories to be had ({type(error).__name__}: {error})")
        return 0
    found = [(pin, result["vulns"]) for pin, result in zip(pins, results, strict=True) if result.get("vulns")]
    for (name, version), advisories in found:
        print(f"audit: {name} {version}: {', '.join(one['id'] for one in advisories)}")
    print(f"audit: {len(found)} of {len(pins)} packages have known vulnerabilities")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
