from __future__ import annotations


def test_a_resolved_issue_leaves_memory_and_is_shown_as_such(gitmem):
    identifier = gitmem.json("save", "The importer drops BOMs.", "--type", "issue")["id"]
    assert "holds:      yes" in gitmem("show", f"^{identifier}")[1]
    done = gitmem.json("resolve", identifier[:6], "fixed in 1.2")
    assert (done["id"], done["status"], len(done["commits"])) == (identifier, "resolved", 1)
    assert identifier not in gitmem("show")[1]
    assert "holds:      no, resolved since " in gitmem("show", f"^{identifier}")[1]
    assert gitmem("resolve", identifier)[1] == f"{identifier} is resolved already.\n"
    gitmem("undo")
    assert identifier in gitmem("show")[1]


def test_what_is_no_issue_is_retired_instead(gitmem):
    identifier = gitmem.json("save", "Use uv.", "--type", "decision")["id"]
    code, _, complaint = gitmem("resolve", identifier)
    assert code == 8
    assert f"gitmem facts retire {identifier}" in complaint


def test_one_that_was_replaced_is_shown_with_its_successor(gitmem):
    old, new = (gitmem.json("save", text, "--type", "rule")["id"] for text in ("Deploy by hand.", "Deploys run in CI."))
    gitmem("facts", "supersede", old, new)
    assert "superseded since 20" in gitmem("show", f"^{old}")[1]
    assert f"by {new} Deploys run in CI." in gitmem("show", f"^{old}")[1]
    assert gitmem.json("show", f"^{old}")["successor"] == new
