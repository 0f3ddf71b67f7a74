"""A turn commits edits by hand of any file of the store, as a save does."""

from tests.agent import Agent
from tests.world import World


def save_a_turn(world: World) -> Agent:
    agent = Agent(world)
    agent.turn("Look at the queue, please.", "t-9")
    agent.hook(b"", "--drain")
    return agent


def test_a_turn_commits_the_files_that_were_edited_by_hand(world: World):
    fact = world.run("facts", "add", "Prices are decimals, never floats.", "--json").json["id"]
    file = next((world.root / "facts").rglob(f"{fact}*"))
    file.write_text(file.read_text().replace("decimals", "integers of cents"))
    world.write("notes/later.md", "Look at the queue.\n")
    save_a_turn(world)
    assert world.git("status", "--short") == ""
    assert "Edit by hand" in world.git("log", "--format=%s")
    assert "integers of cents" in world.read("memory.md")


def test_a_fact_whose_file_was_deleted_is_shown_no_more_after_the_next_turn(world: World):
    fact = world.run("facts", "add", "Deploys go by Fly on Mondays.", "--json").json["id"]
    file = next((world.root / "facts").rglob(f"{fact}*"))
    file.unlink()
    agent = save_a_turn(world)
    assert (file.exists(), world.git("status", "--short")) == (False, "")
    assert "Fly" not in world.read("memory.md")
    assert "Fly" not in agent.hook(agent.payload("SessionStart", source="startup"))


def test_a_fact_whose_file_was_renamed_stays_in_force(world: World):
    fact = world.run("facts", "add", "Deploys go by Fly on Mondays.", "--json").json["id"]
    file = next((world.root / "facts").rglob(f"{fact}*"))
    file.rename(file.with_name(f"{fact}-fly.md"))
    save_a_turn(world)
    assert (file.exists(), world.git("status", "--short")) == (False, "")
    assert world.run("facts", "show", fact, "--json").json["status"] == "active"


def test_a_fact_whose_file_was_deleted_is_shown_at_no_start_and_marked_elsewhere(world: World):
    fact = world.run("facts", "add", "Deploys go by Fly on Mondays.", "--json").json["id"]
    world.run("facts", "add", "Prices are decimals, never floats.")
    next((world.root / "facts").rglob(f"{fact}*")).unlink()
    agent = Agent(world)
    shown = agent.hook(agent.payload("SessionStart", source="startup"))
    assert ("decimals" in shown, "Fly" in shown) == (True, False)
    assert "Fly on Mondays. [deleted here]" in world.run("show", "memory.md").out
    save_a_turn(world)
    assert "Decision, deleted here" in world.run("search", "Fly Mondays").out
    assert "deleted here" not in world.run("search", "decimals floats").out
