import subprocess


def test_a_day_that_one_clone_edits_while_another_consolidates_it_comes_back(tmp_path, run_in, environ):
    """The change wins over the deletion, and the day joins its week again (docs/memory.md, "Tiers")."""
    one, other, remote = tmp_path / "one", tmp_path / "other", tmp_path / "remote.git"
    day, week = "daily/2026/01/2026-01-06.md", "weekly/2026/2026-W02.md"

    for project in (one, other):
        project.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True, env=environ)
    run_in(one, "init")
    (one / ".gitmem" / day).parent.mkdir(parents=True)
    entry = "- [10:00:00] **Decision**: Use uv. ^1ksd9q2x0m3v8t5w7zab\n"
    (one / ".gitmem" / day).write_text(f"# 2026-01-06\n\n{entry}", encoding="utf-8")
    run_in(one, "config", "tiers.monthly_days", "0")
    run_in(one, "remote", "add", str(remote))
    run_in(one, "sync")
    run_in(other, "clone", str(remote))
    run_in(other, "consolidate")
    run_in(other, "sync")
    with (one / ".gitmem" / day).open("a", encoding="utf-8") as file:
        file.write("\n손으로 쓴 줄\n")
    run_in(one, "sync")
    assert "손으로 쓴 줄" in (one / ".gitmem" / day).read_text(encoding="utf-8")
    run_in(one, "consolidate")
    run_in(one, "sync")
    run_in(other, "sync")
    for project in (one, other):
        assert not (project / ".gitmem" / day).exists()
        text = (project / ".gitmem" / week).read_text(encoding="utf-8")
        assert text.count("Use uv. ^1ksd9q2x0m3v8t5w7zab") == 1
        assert text.count("손으로 쓴 줄") == 1
