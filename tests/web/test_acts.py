import re

import pytest

from gitmem.document.entry import MemoryType
from gitmem.record.save import save_text
from tests.web.conftest import Viewer


def seen(viewer, fact) -> dict:
    return viewer.json(f"/fact/{fact.id}.json")


def done(answer) -> str:
    """Return the commit that an act made, from where its answer leads."""
    assert answer.status_code == 303, answer.text
    return re.search(r"done=([0-9a-f]{40})", answer.headers["location"])[1]


def commits(viewer) -> list[dict]:
    return [commit for day in viewer.json("/timeline.json")["days"] for commit in day["commits"]]


def test_each_act_is_one_commit_that_the_page_can_undo(viewer):
    fact = viewer.add("We deploy on Fridays.")
    before = len(commits(viewer))
    answer = viewer.post(f"/fact/{fact.id}/edit", blob=seen(viewer, fact)["blob"], text="We deploy on Mondays.")
    commit = done(answer)
    assert len(commits(viewer)) == before + 1
    assert commits(viewer)[0]["commit"] == commit
    assert seen(viewer, fact)["text"] == "We deploy on Mondays."
    page = viewer.get(answer.headers["location"])
    assert f'name="commit" value="{commit}"' in page
    done(viewer.post("/undo", commit=commit, back=f"/fact/{fact.id}"))
    assert len(commits(viewer)) == before + 2
    assert seen(viewer, fact)["text"] == "We deploy on Fridays."


def test_retire_resolve_confirm_and_supersede(viewer):
    old, new = viewer.add("We use pnpm for packages."), viewer.add("The logo is a green leaf.")
    issue = viewer.add("The login test is flaky.", "issue")
    done(viewer.post(f"/fact/{issue.id}/retire", blob=seen(viewer, issue)["blob"], why="a fixture was shared"))
    assert seen(viewer, issue)["standing"] == "resolved"
    assert "a fixture was shared" in seen(viewer, issue)["text"]
    done(viewer.post(f"/fact/{old.id}/supersede", blob=seen(viewer, old)["blob"], by=new.id))
    assert seen(viewer, old)["standing"] == "superseded"
    done(viewer.post(f"/fact/{old.id}/confirm", blob=seen(viewer, old)["blob"]))
    assert seen(viewer, old)["holds"]
    done(viewer.post(f"/fact/{old.id}/retire", blob=seen(viewer, old)["blob"], why=""))
    assert seen(viewer, old)["standing"] == "retired"
    assert [step["act"] for step in seen(viewer, old)["life"]] == ["learned", "superseded", "restored", "retired"]


@pytest.mark.parametrize("verb, more", [("edit", {"text": "Mine."}), ("retire", {"why": "gone"}), ("confirm", {})])
def test_what_moved_on_is_not_overwritten(viewer, verb, more):
    fact = viewer.add("We deploy on Fridays.")
    blob = seen(viewer, fact)["blob"]
    done(viewer.post(f"/fact/{fact.id}/edit", blob=blob, text="We deploy on Mondays."))
    before = commits(viewer)
    answer = viewer.post(f"/fact/{fact.id}/{verb}", blob=blob, **more)
    assert answer.status_code == 409
    for words in ("We deploy on Mondays.</ins>", "We deploy on Fridays.</del>", *more.values()):
        assert words in answer.text
    assert commits(viewer) == before
    assert seen(viewer, fact)["text"] == "We deploy on Mondays."


def test_an_edit_by_hand_counts_as_moved_on(viewer):
    fact = viewer.add("We deploy on Fridays.")
    blob = seen(viewer, fact)["blob"]
    path = viewer.root / fact.path
    path.write_text(path.read_text().replace("Fridays", "Sundays"))
    assert viewer.post(f"/fact/{fact.id}/edit", blob=blob, text="Mine.").status_code == 409
    assert "Sundays" in path.read_text()


@pytest.mark.few(1)
@pytest.mark.parametrize("holds, kept", [("older", (True, False)), ("newer", (False, True)), ("both", (True, True))])
def test_a_dispute_is_settled(viewer, holds, kept):
    viewer.add("Always use tabs in Go files.")
    viewer.add("Never use tabs in Go files.")
    (pair,) = viewer.json("/review.json")["pairs"]
    older, newer = pair["older"], pair["newer"]
    form = {"older": older["id"], "newer": newer["id"], "older_blob": older["blob"], "newer_blob": newer["blob"]}
    assert viewer.post("/review/settle", **form, holds="neither").status_code == 422
    assert viewer.post("/review/settle", **{**form, "older_blob": "0" * 40}, holds=holds).status_code == 409
    done(viewer.post("/review/settle", **form, holds=holds))
    facts = [viewer.json(f"/fact/{one['id']}.json") for one in (older, newer)]
    assert tuple(fact["holds"] for fact in facts) == kept
    assert not viewer.json("/review.json")["pairs"]


def test_an_empty_text_and_an_unknown_fact_are_refused_with_a_reason(viewer):
    fact = viewer.add("We deploy on Fridays.")
    blob = seen(viewer, fact)["blob"]
    answer = viewer.post(f"/fact/{fact.id}/edit", blob=blob, text="  \n ")
    assert (answer.status_code, "The new text is empty." in answer.text) == (422, True)
    assert viewer.post("/fact/dzzzzzzzzzz/edit", blob=blob, text="x").status_code == 404
    assert viewer.post(f"/fact/{fact.id}/purge", blob=blob).status_code == 404
    assert viewer.post("/undo", commit="nothing").status_code == 404
    assert viewer.post(f"/fact/{fact.id}/edit", blob=blob, text="x" * 300_000).status_code == 422


def test_undo_leads_to_no_other_server(viewer):
    fact = viewer.add("We deploy on Fridays.")
    commit = done(viewer.post(f"/fact/{fact.id}/confirm", blob=seen(viewer, fact)["blob"]))
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        location = viewer.post("/undo", commit=commit, back=back).headers["location"]
        assert location.partition("?")[0] == "/"


def test_read_only_shows_no_form_and_changes_nothing(place):
    viewer = Viewer(*place, read_only=True).sign_in()
    fact = viewer.add("We deploy on Fridays.")
    page = viewer.get(f"/fact/{fact.id}")
    assert 'method="post"' not in page
    assert viewer.post(f"/fact/{fact.id}/retire", blob=seen(viewer, fact)["blob"]).status_code == 422
    assert seen(viewer, fact)["holds"]


@pytest.mark.parametrize("take, kept", [("ours", "Never push without a review."), ("theirs", "Always push at once.")])
def test_a_change_by_another_author_is_answered(viewer, bare_git, take, kept):
    rule = viewer.add("Never push without a review.", "rule")
    assert viewer.json("/review.json")["changes"] == []  # what the store holds at the first look is taken as it is
    path = viewer.root / rule.path
    path.write_text(path.read_text().replace("Never push without a review.", "Always push at once."))
    bare_git(viewer.root, "commit", "-qam", "Tidy up", "--author=mallory@example.org <mallory@example.org>")
    (change,) = viewer.json("/review.json")["changes"]
    assert (change["before"], change["now"], change["author"]) == (
        "Never push without a review.",
        "Always push at once.",
        "mallory@example.org",
    )
    assert "Bring back what I had" in viewer.get("/review")
    assert "before: Never push without a review." in viewer.get("/facts")
    form = {"id": rule.id, "blob": change["blob"]}
    assert viewer.post("/review/change", **form, take="neither").status_code == 422
    assert viewer.post("/review/change", **{**form, "blob": "0" * 40}, take=take).status_code == 409
    done(viewer.post("/review/change", **form, take=take))
    assert seen(viewer, rule)["text"] == kept
    assert viewer.json("/review.json")["changes"] == []
    assert viewer.post("/review/change", **form, take=take).status_code == 404


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_what_another_author_removed_is_listed_and_answered(viewer, bare_git, take):
    rule = viewer.add("Never push without a review.", "rule")
    assert viewer.json("/review.json")["changes"] == []
    bare_git(viewer.root, "rm", "-q", rule.path)
    bare_git(viewer.root, "commit", "-qam", "Tidy up", "--author=Mallory <mallory@example.org>")
    (change,) = viewer.json("/review.json")["changes"]
    assert (change["act"], change["author"], change["before"], change["now"]) == (
        "removed",
        "Mallory",
        "Never push without a review.",
        "",
    )
    assert "removed by Mallory" in viewer.get("/review")
    assert viewer.post("/review/change", id=rule.id, blob=change["blob"], take=take).status_code == 303
    assert ("status: active" in (viewer.root / rule.path).read_text()) == (take == "ours")
    assert viewer.json("/review.json")["changes"] == []


def ticked(viewer, *facts) -> list[str]:
    return [f"{fact.id} {seen(viewer, fact)['blob']}" for fact in facts]


def test_a_fact_is_added_on_the_page(viewer):
    answer = viewer.post("/facts/add", text="We deploy on Fridays.", kind="rule")
    done(answer)
    added = viewer.json(answer.headers["location"].replace("?", ".json?"))
    assert (added["kind"], added["text"], added["life"][0]["host"]) == ("rule", "We deploy on Fridays.", "web")
    assert viewer.post("/facts/add", text=" ", kind="rule").status_code == 422
    assert viewer.post("/facts/add", text="A note.", kind="note").status_code == 422


def test_ticked_facts_are_changed_in_one_commit(viewer):
    facts = [viewer.add(text) for text in ("We use pnpm.", "The logo is a green leaf.", "Offices open at nine.")]
    before = len(commits(viewer))
    done(viewer.post("/facts/many", fact=ticked(viewer, *facts[:2]), verb="retire", back="/facts"))
    assert [seen(viewer, fact)["holds"] for fact in facts] == [False, False, True]
    assert len(commits(viewer)) == before + 1
    done(viewer.post("/facts/many", fact=ticked(viewer, *facts[:2]), verb="confirm", back="/facts"))
    assert all(seen(viewer, fact)["holds"] for fact in facts)
    assert viewer.post("/facts/many", verb="retire").status_code == 422
    assert viewer.post("/facts/many", fact=ticked(viewer, facts[0]), verb="praise").status_code == 404
    moved = [f"{facts[0].id} {'0' * 40}", *ticked(viewer, facts[1])]
    assert viewer.post("/facts/many", fact=moved, verb="retire").status_code == 409
    assert all(seen(viewer, fact)["holds"] for fact in facts)


def test_delete_for_good_says_what_it_will_do_and_does_it_only_then(viewer, bare_git):
    fact = viewer.add("The intranet password scheme is name and birthday.")
    viewer.add("Kim said: the intranet password scheme is name and birthday, for now")
    form = {"fact": ticked(viewer, fact), "verb": "purge", "back": "/facts"}
    before = len(commits(viewer))
    page = viewer.post("/facts/many", **form)
    assert page.status_code == 200
    assert fact.path in page.text
    assert "cannot be undone" in page.text
    assert len(commits(viewer)) == before
    done = viewer.post("/facts/many", **form, sure="1")
    assert done.status_code == 303
    page = viewer.get(done.headers["location"])
    assert re.search(r"<strong>Done.</strong> <a [^>]*>Purge", page)
    assert "Undo" not in page, "what is deleted for good cannot come back"
    assert "birthday" not in bare_git(viewer.root, "log", "-p", "--all")
    assert all("birthday" not in one.read_text() for one in viewer.root.rglob("*.md"))
    assert not any("birthday" in one.name for one in viewer.root.rglob("*.md"))
    (other,) = viewer.json("/facts.json")["facts"]
    assert "birthday" not in str(other)


def test_delete_for_good_lists_each_line_that_loses_words_and_leaves_longer_words_alone(viewer):
    fact = viewer.add("Use uv.")
    viewer.add("Containers say Use uv. in their label.")
    save_text(viewer.reopen(), "Startup is slow because uvicorn reloads.", MemoryType.LEARNING, host="cli")
    page = viewer.post("/facts/many", fact=ticked(viewer, fact), verb="purge", back="/facts").text
    assert "Containers say <del>Use uv.</del> in their label." in page
    assert "uvicorn" not in page


def test_undoing_what_was_added_leaves_its_page_and_can_be_undone(viewer):
    added = viewer.post("/facts/add", text="Prices have tax in them.", kind="decision")
    page = viewer.get(added.headers["location"])
    commit = re.search(r'name="commit" value="(\w+)"', page)[1]
    undone = viewer.post("/undo", commit=commit, back=added.headers["location"].partition("?")[0])
    page = viewer.get(undone.headers["location"])
    assert re.search(r"<strong>Done.</strong> <a [^>]*>Undo &#34;Save decision: Prices have tax in them.", page)
    assert "<button>Undo</button>" in page


@pytest.mark.slow
def test_a_fact_is_made_private_and_promoted_again(viewer):
    fact, other = viewer.add("We deploy on Fridays."), viewer.add("Offices open at nine.")
    assert re.search(r'value="demote"[^>]*>Make private<', viewer.get("/facts"))
    assert viewer.post("/facts/many", fact=ticked(viewer, fact), verb="promote").status_code == 404
    answer = viewer.post("/facts/many", fact=ticked(viewer, fact), verb="demote", back=f"/fact/{fact.id}")
    shown = viewer.get(answer.headers["location"])
    assert answer.headers["location"].startswith("/facts?done=other.")
    assert "Make private: We deploy on Fridays." in shown
    undo = {"commit": re.search(r'name="commit" value="([^"]+)"', shown)[1], "back": "/facts"}
    undone = viewer.get(viewer.post("/undo", **undo).headers["location"])  # and done again by its own undo
    assert {one["id"] for one in viewer.json("/facts.json")["facts"]} == {fact.id, other.id}
    again = {"commit": re.search(r'name="commit" value="([^"]+)"', undone)[1], "back": "/facts"}
    assert viewer.post("/undo", **again).status_code == 303
    assert [one["id"] for one in viewer.json("/facts.json")["facts"]] == [other.id]
    base = re.search(r'href="(/p/[a-z-]*private-[0-9a-f]{8})"', viewer.get("/"))[1]
    (moved,) = viewer.json(f"{base}/facts.json")["facts"]
    assert "Promote to the project" in viewer.get(f"{base}/fact/{fact.id}")
    form = {"fact": [f"{moved['id']} {moved['blob']}"], "verb": "promote", "back": "/facts"}
    assert viewer.post(f"{base}/facts/many", **form).status_code == 303
    assert {one["id"] for one in viewer.json("/facts.json")["facts"]} == {fact.id, other.id}
    assert viewer.json(f"{base}/facts.json")["facts"] == []


def test_a_fact_is_pinned_and_unpinned(viewer):
    facts = [viewer.add("We deploy on Fridays."), viewer.add("Offices open at nine.")]
    done(viewer.post("/facts/many", fact=ticked(viewer, *facts), verb="pin", back="/facts"))
    assert all(seen(viewer, fact)["pinned"] for fact in facts)
    assert '<button name="verb" value="unpin">Unpin</button>' in viewer.get("/")
    done(viewer.post("/facts/many", fact=ticked(viewer, facts[0]), verb="unpin", back="/"))
    assert [seen(viewer, fact)["pinned"] for fact in facts] == [False, True]
    assert [step["act"] for step in seen(viewer, facts[0])["life"]] == ["learned", "pinned", "unpinned"]


def test_what_a_rule_forbids_is_shown_and_changed_and_confirming_has_it_act(viewer):
    rule = viewer.add("Never push without a review.", "rule")
    form = {"blob": seen(viewer, rule)["blob"], "literals": "git push\r\n\r\ngit push --force ", "enforce": "deny"}
    assert viewer.post(f"/fact/{rule.id}/forbid", **{**form, "enforce": "shout"}).status_code == 422
    done(viewer.post(f"/fact/{rule.id}/forbid", **form))
    page = seen(viewer, rule)
    assert (page["forbids"], page["enforce"], page["fired"]) == (["git push", "git push --force"], "deny", 0)
    assert "is refused" in viewer.get(f"/fact/{rule.id}")
    assert not page["unconfirmed"]


@pytest.mark.parametrize("many", [True, False])
def test_a_rule_of_another_author_acts_once_it_is_confirmed(viewer, bare_git, many):
    rule = viewer.add("Never push without a review.", "rule")
    viewer.json("/review.json")
    path = viewer.root / rule.path
    name = path.name.replace(rule.id, "d" + rule.id[1:-1] + ("0" if rule.id[-1] != "0" else "1"))
    path.with_name(name).write_text(path.read_text().replace("kind: rule", "kind: rule\nforbids: [git push]"))
    other = name.partition("-")[0]
    path.with_name(name).write_text(path.with_name(name).read_text().replace(rule.id, other))
    bare_git(viewer.root, "add", "-A")
    bare_git(viewer.root, "commit", "-qm", "A rule", "--author=Mallory <mallory@example.org>")
    page = viewer.json(f"/fact/{other}.json")
    assert page["unconfirmed"]
    if many:
        viewer.post("/facts/many", fact=[f"{other} {page['blob']}"], verb="confirm", back="/facts")
    else:
        viewer.post(f"/fact/{other}/confirm", blob=page["blob"])
    assert not viewer.json(f"/fact/{other}.json")["unconfirmed"]
