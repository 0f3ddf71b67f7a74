import json
from pathlib import Path

import pytest

from gitmem.model.forbidden import ToolCall, looks_like_pattern, meets, needles, usable
from gitmem.model.shell import commands

RUNS = [
    ("pip install", "pip install requests"),
    ("pip install", "cd app && pip install -r requirements.txt"),
    ("pip install", "python -m pip install requests"),
    ("pip install", "python3.12 -m pip --quiet install requests"),
    ("pip install", "sudo /usr/bin/pip install requests"),
    ("pip install", 'bash -lc "cd x; pip install y"'),
    ("pip install", "true || (pip install y)"),
    ("pip install", "echo done\npip install y"),
    ("pip install", "x=$(pip install y)"),
    ("pip install", "PIP_NO_INPUT=1 pip install y > log.txt"),
    ("pip*", "pip3 freeze"),
    ("pip install", "pip3 install requests"),
    ("pip install", "/usr/bin/pip3.12 install requests"),
    ("python setup.py", "python3.12 setup.py sdist"),
    ("gcc", "gcc-12 -c a.c"),
    ("git push --force", "git push origin main --force"),
    ("git push --force", "git -C sub push --force"),
    ("rm -rf", "rm -fr build"),
    ("rm -rf", "rm -rfv build"),
    ("npm", "npm ci"),
    ("docker compose down", "docker compose down -v"),
    ("command:make deploy", "make deploy ENV=prod"),
    ("make deploy", "make -C app ENV=prod deploy"),
    ("wget * | sh", "wget -qO- https://example.org/x | tee x.log | sudo sh -s -- -y"),
    ("artisan migrate", "php artisan migrate --force"),
    ("rails db:reset", "RAILS_ENV=test bin/rails db:reset"),
    ("rm -rf out", "rm -rf ./out/ && make"),
    ("rm -rf out", "grep x <<<text\nrm -rf out"),
    ("text:malloc(", "cat > a.c <<'EOF'\nint *p = malloc(4);\nEOF\nmake"),
    ("| sh", "wget -qO- https://example.org/x | sh -s"),
    ("pip install", "bash <<'EOF'\nset -e\npip -q install x\nEOF"),
    ("pip install", "cat <<EOF | ssh host bash -s\npip install x\nEOF"),
    ("pip install", "docker compose exec -T web pip install x"),
    ("pip install", "docker run --rm -v a:b image sh -c 'pip install x'"),
    ("pip install", "ssh me@host 'cd x; pip install y'"),
    ("shred", "find . -name '*.key' -exec shred {} +"),
    ("path:frozen/*", "sed -i s/a/b/ frozen/x.c"),
    ("path:frozen/*", "cd a && echo x 2>&1 >>frozen/y"),
    ("path:frozen/*", "echo x | sudo tee -a frozen/z"),
    ("cargo doc", "cargo +nightly doc --open"),
    ("git push", "git commit -m \"$(cat <<'EOF'\nFix it :)\nEOF\n)\" && git push"),
    ("git push", 'out="$(git push 2>&1)"; echo "$out"'),
    ("git push", 'echo "done: `git push`"'),
    ("pip install", 'P="python -m pip"; ${P} install x'),
    ("pip install", "export TOOL=pip && sudo $TOOL install x"),
    ("git rebase", "cmd='git rebase main'; eval \"$cmd\""),
    ("pip install", "pip \\\n  install x"),
    ("pip install", "sudo -u app -H bash -lc 'cd /srv && pip install x'"),
    ("pip install", "cat r.txt | xargs -I % sh -c 'pip install %'"),
    ("pip install", "flock -n /tmp/lock pip install x"),
    ("pip install", "su - app -c 'pip install x'"),
    ("pip install", "tmux send-keys -t 0 'pip install x' Enter"),
    ("pip install", "bash <<< 'pip install x'"),
    ("pip install", "printf 'set -e\\npip install x\\n' | sudo bash -s"),
    ("rm -rf", "rm -r -f build"),
    ("DROP TABLE", "sqlite3 app.db 'DROP TABLE users;'"),
    ("DROP TABLE", "psql <<SQL\nDROP TABLE users;\nSQL"),
    ("DROP TABLE", "echo 'DROP TABLE users' | ssh db psql"),
    ("cargo bench", "rustup run nightly cargo bench"),
    ("composer remove", "php -d memory_limit=-1 bin/composer remove x"),
    ("tslint --fix", "yarn run tslint src --fix"),
    ("text:malloc(", "echo 'int *p = malloc(4);' >> a.c"),
    ("push --force", "git push --force origin main"),
    ("push --force", "git -C sub push origin main --force"),
    ("push --force", "sudo git push --force | tee x.log"),
    ("down -v", "docker compose down -v"),
    ("volume prune", "docker volume prune --all"),
    ("--no-verify", "git commit --no-verify -m x"),
    ("--no-verify", "bash -c 'git commit --no-verify'"),
    ("-rf", "rm -rf build"),
    ("eval", "eval echo hi"),
    ("eval", 'true && eval "$x"'),
    ("bash -c", "bash -c 'ls'"),
    ("git push --force", "git push -f origin main"),
    ("git push --force", "git -C sub push origin main -uf"),
    ("git push -f", "git push --force"),
    ("push --force", "cd a && git push -f"),
    ("git commit --no-verify", "git commit -anm x"),
    ("git commit -n", "git commit --no-verify -m x"),
    ("--no-verify", "git commit -n -m x"),
    ("rm -rf", "rm --recursive --force build"),
    ("rm -rf", "rm -R -f build"),
    ("git branch -D", "git branch -d -f old"),
    ("git branch -D", "git branch --delete --force old"),
    ("git branch --delete --force", "git branch -D old"),
    ("docker compose down --volumes", "docker compose -f dev.yml down -v"),
    ("git push --force", "git push origin +main"),
    ("git push -f", "git push origin +HEAD:main"),
    ("push --force", "cd a && git push origin +main:main"),
    ("git push --force origin main", "git push origin +main"),
    ("lodash", "npm i lodash"),
    ("lodash", "cd web && npm install --save-dev react lodash@4.17.21"),
    ("lodash", "yarn add lodash"),
    ("lodash", "pnpm -r add under@npm:lodash@4"),
    ("requests", "sudo python3 -m pip install -U 'requests[socks]>=2,<3'"),
    ("requests", "uv pip install httpx requests==2.31"),
    ("requests", "uv add requests"),
    ("serde", "cargo add serde --features derive"),
    ("docker", "brew install --cask docker"),
]
ALLOWED = [
    ("git push --force", "git push -n"),
    ("git push --no-verify", "git push -n"),
    ("git commit --no-verify", "git commit -mnew"),
    ("git commit --no-verify", "git cherry-pick -n a1b2c3"),
    ("git push -f", "git push --force-with-lease"),
    ("git branch -D", "git branch -d old"),
    ("kubectl delete --force", "kubectl delete -f app.yaml"),
    ("push --force", "git commit -m 'no push --force'"),
    ("push --force", "git push --force-with-lease"),
    ("push --force", "git push && git fetch --force"),
    ("push --force", "echo push --force"),
    ("push --force", "sudo grep -rn push --force docs"),
    ("push --force", "git grep push --force"),
    ("push --force", "git log --grep push --force"),
    ("--no-verify", "grep -rn -- --no-verify docs"),
    ("--no-verify", "git commit -m 'Forbid --no-verify'"),
    ("--no-verify", "cat > notes.md <<'EOF'\n--no-verify\nEOF"),
    ("--no-verify", "gitmem facts add x --forbids=--no-verify"),
    ("eval", "echo 'eval'"),
    ("eval", "git commit -m eval"),
    ("rm -rf", "git rm -rf build"),
    ("pip install", "uv pip install requests"),
    ("pip install", "pip list"),
    ("pip install", 'git commit -m "Do not pip install here"'),
    ("pip install", "echo 'pip install x'"),
    ("pip install", "grep -rn 'pip install' docs"),
    ("pip install", "ls # pip install x"),
    ("pip install", "cat > notes.md <<'EOF'\npip install x\nEOF\nls"),
    ("pip install", "pip-compile install.in"),
    ("pip install", "man pip"),
    ("git push --force", "git push --force-with-lease"),
    ("git push --force", "git push"),
    ("rm -rf", "rm -r build"),
    ("npm", "pnpm install"),
    ("npm", "cat npm.log"),
    ("command:make deploy", "make test"),
    ("path:make", "make test"),
    ("wget * | sh", "wget https://example.org/x && sh build.sh"),
    ("wget * | sh", "wget https://example.org/x || sh x"),
    ("pip install", "cat <<EOF | python3 -\npip install x\nEOF"),
    ("pip install", "docker compose logs pip install"),
    ("path:frozen/*", "sed -n 1,5p frozen/x.c > out.txt"),
    ("text:malloc(", "cat > a.md <<'EOF'\nint *p = malloc(4);\nEOF\nmake"),
    ("text:malloc(", "python3 - <<'EOF'\nmalloc(4)\nEOF\nmake"),
    ("rm -rf out", "rm -rf outer"),
    ("path:frozen/*", "cp frozen/x.c new/x.c 2>/dev/null"),
    ("git push", "git commit -m \"$(cat <<'EOF'\n1) then\ngit push\nEOF\n)\""),
    ("git push", "ssh host echo git push"),
    ("git push", "docker run image grep -r git push"),
    ("git push", "ssh host git commit -m 'git push follows'"),
    ("pip install", "X='pip install y'; echo $X"),
    ("pip install", "echo pip install x | tee later"),
    ("pip install", "python -c 'pip install x'"),
    ("DROP TABLE", "git log -S 'DROP TABLE'"),
    ("text:malloc(", "echo 'int *p = malloc(4);'"),
    ("git push --force", "git push origin main"),
    ("git push --force-with-lease", "git push origin +main"),
    ("git push --force", "git fetch origin +main"),
    ("lodash", "grep -rn lodash src"),
    ("lodash", "npm uninstall lodash"),
    ("lodash", "npm ls lodash && yarn why lodash"),
    ("lodash", "npm i @types/lodash lodash-es"),
    ("lodash", "npm ci # without lodash"),
    ("lodash", "git add lodash"),
    ("lodash", "echo npm i lodash"),
    ("requests", "pip install -e ./requests"),
    ("install", "pip install x"),
]


@pytest.mark.parametrize("literal, command", RUNS)
def test_a_forbidden_command_is_met_however_it_is_run(literal, command):
    assert meets(literal, ToolCall(command=command))


@pytest.mark.parametrize(
    "literal", ["psql.*prod", r"\bpsql", r"psql\s+prod", "^git push", "push$", "(?:a|b) c", ".*prod"]
)
def test_signs_of_a_regular_expression(literal):
    assert looks_like_pattern(literal)


@pytest.mark.parametrize(
    "literal", [".env.*", "src/*.py", r"C:\src\build", "a.b(", "$HOME", "pip*", "rm -rf *", "x[0]"]
)
def test_no_signs_of_a_regular_expression(literal):
    assert not looks_like_pattern(literal)


def test_a_version_that_the_rule_names_is_another_program():
    call = ToolCall("python3 setup.py")
    assert meets("python", call, "Never run Python scripts.")
    assert not meets("python", call, "Use python3, never python.")


@pytest.mark.parametrize("literal, command", ALLOWED)
def test_what_only_looks_like_it_is_not_met(literal, command):
    assert not meets(literal, ToolCall(command=command))


@pytest.mark.parametrize(
    "literal, path, met",
    [
        ("src/generated/*", "src/generated/api.py", True),
        ("src/generated/", "src/generated/deep/api.py", True),
        ("generated/*", "src/generated/api.py", True),
        ("src/generated/*", "src/generated_by_hand.py", False),
        ("package-lock.json", "web/package-lock.json", True),
        ("package-lock.json", "web/my-package-lock.json", False),
        ("Makefile", "web/Makefile", True),
        ("LICENSE", "LICENSE", True),
        ("*.lock", "uv.lock", True),
        ("*.lock", "src/locks.py", False),
        ("migrations/*.sql", "db/migrations/0001.sql", True),
        ("migrations/*.sql", "db/migrations/readme.md", False),
    ],
)
def test_a_path(literal, path, met):
    assert meets(literal, ToolCall(paths=(path,))) is met


@pytest.mark.parametrize(
    "literal, path, text, met",
    [
        ("datetime.utcnow", "a.py", "now = datetime.utcnow()", True),
        ("datetime.utcnow", "a.py", "now = my_datetime.utcnow_safe()", False),
        ("datetime.utcnow", "a.py", "# datetime.utcnow is deprecated", False),
        ("datetime.utcnow", "docs/a.md", "Do not call datetime.utcnow().", False),
        ("console.log(", "a.ts", "  console.log(value)", True),
        ("except Exception: pass", "a.py", "try: f()\nexcept Exception: pass", True),
        ("lodash", "a.js", "import merge from 'lodash'", True),
        ("Enzyme", "a.js", "import Enzyme from 'enzyme'", True),
        ("Makefile", "a.py", "path = 'Makefile'", False),
        ("lodash", "a.js", "import merge from './lodashlike'", False),
        ("os.environ[*]", "a.py", "x = os.environ['HOME']", True),
        ("text:TODO", "a.py", "x = 1  # TODO: later", True),
        ("FIXME", "a.go", "// FIXME", True),
        ("tok_", "a.py", "key = 'tok_1'", True),
        ("tok_", "a.py", "key = 'stok 1'", False),
        ("ts-ignore", "a.ts", "// ts-ignore: later", True),
        ("ts-ignore", "a.ts", "// never write ts-ignore here", False),
        ("unwrap or", "a.rs", "let x = y unwrap or z;", True),
        ("https://old.example.org", "a.py", 'BASE = "https://old.example.org/v1"', True),
        ("10.0.0.0/8", "a.tf", 'cidr = ["10.0.0.0/8"]', True),
        ("DROP TABLE", "a.py", 'run("DROP TABLE users")', True),
        ("import moment", "a.js", "import moment from 'moment'", True),
        ("import moment", "a.js", "print('import moment')", False),
        ("pip install", "a.py", 'os.system("pip install x")', True),
        ("pip install", "a.py", 'subprocess.run(["pip", "install", "-q", "x"], check=True)', True),
        ("pip install", "a.py", 'subprocess.check_call([sys.executable, "-m", "pip", "install", name])', True),
        ("pip install", "a.py", 'run(["git", "commit", "-m", "pip install fix"])', False),
        ("pip install", "a.py", 'raise SystemExit("pip install x")', False),
        ("pip install", "a.py", 'run("echo pip install x")', False),
        ("pip install", "a.js", "execSync('cd app && pip install x')", True),
        ("pip install", "a.js", "spawn('pip', ['install', 'x'])", True),
        ("pip install", "Jenkinsfile", "sh 'pip install x'", True),
        ("pip install", "a.sh", 'sudo bash -lc "pip install x"', True),
        ("pip install", "a.sh", 'echo "To begin: pip install x"', False),
        ("pip install", ".github/workflows/ci.yml", '      - run: "pip install x"', True),
        ("pip install", ".github/workflows/ci.yml", '    name: "Do not pip install here"', False),
        ("pip install", "package.json", '    "postinstall": "pip install x",', True),
        ("pip install", "Dockerfile", 'RUN ["sh", "-c", "pip install x"]', True),
        ("pip install", "docs/a.md", 'run("pip install x")', False),
        ("push --force", "a.sh", "git push --force", True),
        ("push --force", "a.py", 'run(["git", "push", "--force"])', True),
        ("push --force", "a.sh", "git push --force-with-lease", False),
        ("--force", "a.sh", "git push --force-with-lease", False),
        ("push --force", "Dockerfile", "RUN git push origin --force", True),
        ("push --force", "Makefile", "\t@git push origin --force", True),
        ("git push --force", ".github/workflows/ci.yml", "  - run: git push origin --force", True),
        ("push --force", ".github/workflows/ci.yml", "    name: push the site with --force", False),
        ("push --force", ".github/workflows/ci.yml", '    name: "Do not push --force here"', False),
        ("--no-verify", "Dockerfile", "RUN git commit --no-verify", True),
        ("--no-verify", "a.py", 'run(["git", "commit", "--no-verify"])', True),
        ("--no-verify", "a.sh", 'echo "use no --no-verify"', False),
        ("eval", "a.sh", 'eval "$x"', True),
    ],
)
def test_written_text(literal, path, text, met):
    assert meets(literal, ToolCall(paths=(path,), text=text)) is met


def test_rules_by_writers_who_had_seen_no_code_of_it():
    rules = json.loads((Path(__file__).parents[1] / "data" / "forbidden.json").read_text())
    for rule in rules:
        for made in rule["calls"]:
            written = made.get("text", made.get("new", ""))
            call = ToolCall(made.get("command", ""), tuple(filter(None, [made.get("path")])), written)
            assert any(meets(literal, call) for literal in rule["forbids"]) is made["forbidden"], (rule["rule"], made)


def test_what_grep_looks_for_is_in_whatever_meets():
    for literal, command in RUNS:
        assert any(needle in command for needle in needles(literal)), literal
    assert needles("한글 쓰지") == ("한글", "\\ud55c\\uae00")


@pytest.mark.parametrize("literal", ["", "*", "a\nb", "\x1b[2J", "--", "x" * 500, "path:", "**"])
def test_what_is_no_literal(literal):
    assert not usable(literal)


@pytest.mark.slow
def test_hostile_text_takes_no_longer_than_its_length(grows_linearly):
    for make in (
        lambda n: "'" * n,
        lambda n: "((" * n,
        lambda n: "\\" * n,
        lambda n: "a;" * n,
        lambda n: "<<a\n" * n,
        lambda n: '"$(' * n,
        lambda n: "xargs -a " * n,
        lambda n: "sudo x=" * n,
    ):
        assert grows_linearly(commands, make)
    assert grows_linearly(lambda line: meets("a*b*c*d", ToolCall(text=line)), lambda n: "ab" * n)
