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
