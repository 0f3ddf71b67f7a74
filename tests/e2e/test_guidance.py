"""The real Claude Code is told at the moment of need: what mended an error before, what its prompt speaks of."""

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
FIRST = "Check whether the parser can be loaded"
SECOND = "Load the parser in the fresh checkout"
ASKED = "Which port does the nightly warehouse export of bastion7 use?"
FAILS = {"tool": "Bash", "input": {"command": "python3 -c 'import parser_parts'", "description": "Load it"}}
MEND = "touch parser_parts.py"
SCRIPT = {
    FIRST: [
        FAILS,
        {"tool": "Bash", "input": {"command": MEND, "description": "Make the module"}},
        FAILS,
        {"text": "The parser loads: its module was missing. The nightly warehouse export of bastion7 uses port 5439."},
    ],
    SECOND: [
        {"tool": "Bash", "input": {"command": "rm parser_parts.py", "description": "As in a fresh checkout"}},
        FAILS,
        {"text": "It cannot be loaded yet."},
    ],
    ASKED: [{"text": "Port 5439."}],
}


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_an_error_that_was_mended_is_mended_at_once_in_the_next_session(agent):
    agent.prompt(FIRST)
    agent.drained()
    before = agent.asked()
    agent.prompt(SECOND)
    asked = agent.requests.read_text(encoding="utf-8").splitlines()[before:]
    told = [f'fixed by: \\"`{MEND}`' in request for request in asked]
    assert any(told), "no request holds what mended the error"
    assert told == sorted(told), "it came with the failure, not before"
    assert not told[0]
    before = agent.asked()
    agent.prompt(ASKED)
    assert "5439" in agent.first_request(before)
