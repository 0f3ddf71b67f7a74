"""What a script writes into files, as far as its words show it."""

import subprocess

import pytest

from gitmem.model.events import call_fields
from gitmem.model.shell_reader import files_written

WRITTEN = [
    "cat > a.py <<'EOF'\nimport os\nprint('50%')\nEOF",
    "cat <<EOF >> a.py\nimport os\nEOF\necho done",
    "cat > a.py <<'A'; cat > b.py <<'B'\nin_a = 1\nA\nin_b = 2\nB",
    "tee -a a.py <<'EOF' >/dev/null\nimport os\nEOF",
    "cat <<'EOF' | tee a.py b.py\nimport os\nEOF",
    "mkdir sub && cd sub && echo 'import os' > a.py && cd .. && echo 'import re' > b.py",
    "echo -n 'import os' > a.py",
    'printf "first line\\nsecond line\\n" > a.py',
    "printf '%s\\n' 'first line' 'second line' > a.py",
    "printf '%s' 'first line' | tee a.py",
    "cat > a.py <<'EOF' && echo done > b.py\nimport os\nEOF",
    "echo one > a.py; true | tee b.py",
]
UNKNOWN = [
    "python3 make.py > a.py",
    "sed s/x/y/ <<'EOF' > a.py\nimport os\nEOF",
    "cat b.py > a.py <<'EOF'\nimport os\nEOF",
    "printf '%d lines\\n' 3 > a.py",
    "cat <<'EOF' | sort | tee a.py\nimport os\nEOF",
    "make 2>&1 | tee a.log && cat > /dev/null <<'EOF'\nimport os\nEOF",
    "cat > \"$OUT\" <<'EOF'\nimport os\nEOF",
    "cd \"$DIR\" && echo 'import os' > a.py",
    "(cd sub && echo 'import os' > a.py); echo 'import re' > b.py",
    "echo 'import os' >&2",
    "{ echo 'import os'; echo 'import re'; } > a.py",
    "git commit -m 'cat > a.py <<EOF'",
]


@pytest.mark.parametrize("script", WRITTEN)
def test_a_script_writes_what_its_words_say(script, tmp_path):
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, capture_output=True)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    written = {str(file.relative_to(tmp_path)): file.read_text().rstrip("\n") for file in files}
    known = {path: text.rstrip("\n") for path, text in files_written(script) if text}
    assert known == {path: text for path, text in written.items() if text}


@pytest.mark.parametrize("script", UNKNOWN)
def test_what_the_words_do_not_say_is_unknown(script):
    assert not call_fields("Bash", {"command": script})["added"]
