"""How fast is redaction, and what does it take for a secret that is none?

usage: python bench/redact.py [--show] [FOLDER ...]

Reads the transcripts beside the repository (`../shared/data/transcripts`) and the standard library of this Python, or
the folders named. Prints how many of forty kinds of secrets are caught in each of five contexts; the findings of each
kind, for the eye to judge with `--show` (the first four characters of a secret and no more); and the time for 10 KB
beside two yardsticks: one `str.lower()` and one `re.search` over the text.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gitmem.redact.redact import Redacted, redact  # noqa: E402
from tests.redact.planted import table  # noqa: E402

TRANSCRIPTS = ROOT.parent / "shared" / "data" / "transcripts"
CHUNK = 10_240
SUFFIXES = {
    ".py",
    ".json",
    ".jsonl",
    ".md",
    ".txt",
    ".js",
    ".ts",
    ".go",
    ".rs",
    ".yaml",
    ".yml",
    ".toml",
    ".cfg",
    ".sh",
}
YARDSTICK = re.compile(r"ghp_[A-Za-z0-9]{36}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", action="store_true", help="print each finding, but not the secret")
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    print(table())
    for folder in options.folders or [TRANSCRIPTS, Path(sysconfig.get_path("stdlib"))]:
        if folder.is_dir():
            measure(folder, show=options.show)
        else:
            print(f"{folder.name}: not here, skipped")
    measure_import()


def texts(folder: Path) -> dict[Path, str]:
    paths = [p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.is_file() and "site-packages" not in p.parts]
    return {path: path.read_text(encoding="utf-8", errors="surrogateescape") for path in sorted(paths)}


def measure(folder: Path, *, show: bool) -> None:
    files = texts(folder)
    kinds: Counter[str] = Counter()
    for path, text in files.items():
        result = redact(text)
        kinds.update(finding.kind for finding in result.findings)
        if show:
            print_findings(path.relative_to(folder), text, result)
    size = sum(map(len, files.values()))
    print(f"\n{folder.name}: {len(files)} files, {size / 1e6:.1f} million characters")
    print("  findings: " + (", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"))
    measure_time(list(files.values()))


def print_findings(path: Path, text: str, result: Redacted) -> None:
    for finding in result.findings:
        line = text.count("\n", 0, finding.start) + 1
        before = text[max(0, finding.start - 60) : finding.start].replace("\n", "⏎")
        shown = text[finding.start : min(finding.end, finding.start + 4)]
        print(ascii_safe(f"{path}:{line}: {finding.kind}: {before}{shown}… ({finding.end - finding.start})"))


def ascii_safe(line: str) -> str:
    return line.encode("utf-8", "backslashreplace").decode()


def measure_time(all_texts: list[str]) -> None:
    chunks = [text[at : at + CHUNK] for text in all_texts for at in range(0, len(text) - CHUNK, CHUNK)][:1000]
    if not chunks:
        return
    rows = {"redact": redact, "str.lower": str.lower, "re.search": YARDSTICK.search}
    medians = {}
    for name, function in rows.items():
        times = sorted(seconds(function, chunk) for chunk in chunks)
        medians[name] = statistics.median(times)
        print(f"  {name:10} {medians[name] * 1e3:7.3f} ms, p99 {times[len(times) * 99 // 100] * 1e3:7.3f} ms for 10 KB")
    for name in ("str.lower", "re.search"):
        print(f"  redact is {medians['redact'] / medians[name]:.0f} times {name}")


def seconds(function: object, text: str) -> float:
    assert callable(function)
    best = 9e9
    for _ in range(3):
        start = time.perf_counter()
        function(text)
        best = min(best, time.perf_counter() - start)
    return best


def measure_import() -> None:
    """Time the import beyond that of `re`, and the first redaction of a process, which compiles patterns."""
    ours = ROOT / "gitmem" / "redact" / "redact.py"
    program = f"""
import re, sys, time
sys.path.insert(0, {str(ROOT)!r})
start = time.perf_counter()
from gitmem.redact.redact import redact
loaded = time.perf_counter()
text = open({str(ours)!r}, encoding="utf-8").read()[:{CHUNK - 20}] + "password: hunter2x"
begin = time.perf_counter()
redact(text)
print((loaded - start) * 1e3, (time.perf_counter() - begin) * 1e3)
"""
    runs = [
        subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True) for _ in range(15)
    ]
    imports, firsts = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    print(f"\nimport beyond `re`: {min(imports):.1f} ms, median {statistics.median(imports):.1f}")
    print(
        f"first redaction in a process, 10 KB with one password: {min(firsts):.1f} ms, {statistics.median(firsts):.1f}"
    )


if __name__ == "__main__":
    main()
