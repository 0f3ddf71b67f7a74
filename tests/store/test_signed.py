import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.errors import GitmemError, RefusedError
from gitmem.git.remote import INBOX
from gitmem.git.trust import Signatures
from gitmem.health.doctor import check_signatures
from gitmem.purge.purge import waiting_purges
from gitmem.purge.record import make_record
from gitmem.store.init import Place, init_store
from gitmem.store.transcripts import put, sessions
from gitmem.sync.clone import back_up, clone_store, restore_into
from gitmem.sync.fetch import Options
from gitmem.sync.guard import Accept
from tests.copies import accept
from tests.own_settings import own_settings
from tests.world import Machine, converge

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
SIGNED = "remote:\n  trust: signed\n"


@pytest.fixture
def signing(tmp_path: Path) -> Callable[[Machine], Machine]:
    """Give a function that gives a machine a home with a key, whose signatures all of these machines trust."""
    trusted = tmp_path / "allowed signers"

    def give(machine: Machine, *, is_trusted: bool = True, settings: str = SIGNED) -> Machine:
        home = tmp_path / f"home of {machine.name}"
        home.mkdir()
        key = home / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        address = f"{machine.name}@example.org"
        if is_trusted:
            with trusted.open("a", encoding="utf-8") as file:
                file.write(f"{address} {key.with_suffix('.pub').read_text(encoding='utf-8')}")
        (home / ".gitconfig").write_text(
            f"[user]\n\tname = {machine.name}\n\temail = {address}\n\tsigningkey = {key}.pub\n"
            f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tallowedSignersFile = {trusted}\n',
            encoding="utf-8",
        )
        environ = {**machine.context.environ, "HOME": str(home), "USERPROFILE": str(home)}
        environ = {name: value for name, value in environ.items() if name != "XDG_CONFIG_HOME"}
        machine.context = machine.context._replace(environ=environ, home=str(home))
        own_settings(machine.context, settings)
        machine.store = accept(machine.root.parent, machine.context)
        return machine

    return give


@pytest.fixture
def both_sign(pair: tuple[Machine, Machine], signing: Callable[..., Machine]) -> tuple[Machine, Machine]:
    return signing(pair[0]), signing(pair[1])


@pytest.fixture
def one_signs(pair: tuple[Machine, Machine], signing: Callable[..., Machine]) -> tuple[Machine, Machine]:
    """Two machines of which the first one takes signed memory only, and the second one signs nothing."""
    return signing(pair[0]), signing(pair[1], settings="")


@pytest.mark.slow
def test_signed_memory_reaches_both_machines(both_sign):
    first, second = both_sign
    one = first.save("of the laptop").id
    first.sync()
    two = second.save("of the desktop").id
    second.sync()
    first.sync()
    assert first.tip == second.tip
    assert set(first.entries()) == {one, two}
    assert first.git("log", "-1", "--format=%s") == "Sign the memory"
    assert first.sync().commit == second.sync().commit
    for each in (first, second):
        each.sound()


def test_what_nobody_signed_is_refused_by_name(one_signs):
    first, second = one_signs
    second.save("of the desktop")
    second.sync()
    before = first.tip
    first.save("of the laptop")
    with pytest.raises(RefusedError, match=r"no trusted key signed: [0-9a-f]{10} of desktop: ") as error:
        first.sync()
    assert "of the desktop" in error.value.message
    assert "of the desktop" not in first.read("memory.md")
    assert first.git("rev-parse", "HEAD~1") == before
    second.configure(SIGNED)  # as the message says
    second.sync()
    first.sync()
    assert "of the desktop" in first.read("memory.md")


@pytest.mark.parametrize("mark", ["\u2028", "\x0c", "\t"])
@pytest.mark.few(1)
def test_no_name_hides_a_commit_that_nobody_signed(one_signs, mark):
    """A name with a line end of its own was no line with an id, so that no commit was without a signature."""
    first, second = one_signs
    second.write("knowledge/a.md", "# A\n\nOf the desktop.\n")
    second.git("add", "-A")
    second.git("commit", "-q", f"--author=M{mark}N <m@example.org>", "-m", f"one{mark}two")
    second.git("push", "-q", "origin", "HEAD:gitmem")
    with pytest.raises(RefusedError, match=r"no trusted key signed: [0-9a-f]{10} of M"):
        first.sync()
    assert not (first.root / "knowledge" / "a.md").exists()


def test_without_a_key_nothing_is_pushed(pair, signing):
    first, second = signing(pair[0]), pair[1]
    os.remove(os.path.join(first.context.home, "key"))
    one = first.save("of the laptop").id
    with pytest.raises(GitmemError, match="could not sign"):
        first.sync()
    assert one in first.entries()
    second.sync()
    assert one not in second.entries()


def pushed_unsigned(second: Machine) -> str:
    """Push a commit that nobody signed, and return it."""
    second.write("knowledge/a.md", "# A\n\nOf the stranger.\n")
    second.git("add", "-A")
    second.git("commit", "-q", "-m", "Of the stranger")
    second.git("push", "-q", "origin", "HEAD:gitmem")
    return second.tip


def signs(machine: Machine, *command: str) -> None:
    """Run a command of git's as the machine's user, who signs."""
    subprocess.run(["git", *command], cwd=machine.root, env=machine.context.environ, check=True)


NOBODY = "no trusted key signed"


def test_what_git_pulled_by_hand_is_told_and_not_signed(one_signs):
    """Else the next sync would put the user's own signature over it, also where the remote has it no more."""
    first, second = one_signs
    before = second.git("rev-parse", "HEAD")
    pushed_unsigned(second)
    first.git("pull", "-q", "--ff-only", "origin", "gitmem")
    first.save("of the laptop")
    with pytest.raises(RefusedError, match=rf"{NOBODY}: [0-9a-f]{{10}} of .*: Of the stranger"):
        first.sync()
    (told,) = check_signatures(first.store)
    assert "git pulled from origin commits that no trusted key signed" in told.message
    second.git("push", "-q", "-f", "origin", f"{before}:gitmem")
    with pytest.raises(RefusedError, match=NOBODY):
        first.sync(Accept.REWRITTEN)
    signs(first, "commit", "-q", "--allow-empty", "--gpg-sign", "-m", "I looked")
    assert not [*check_signatures(first.store)]
    first.sync(Accept.REWRITTEN)
    assert first.tip == first.git("ls-remote", "origin", "gitmem").split()[0]


@pytest.mark.parametrize("how", ["on top", "in a merge", "under a tag"])
@pytest.mark.few(1)
def test_a_signature_covers_what_is_below_it_alone(one_signs, how):
    first, second = one_signs
    signs(second, "commit", "-q", "--allow-empty", "-S", "-m", "Signed")
    second.git("branch", "signed")
    if how == "in a merge":
        second.git("checkout", "-q", "--detach", "HEAD~1")
    second.write("knowledge/a.md", "# A\n\nOf the stranger.\n")
    second.git("add", "-A")
    second.git("commit", "-q", "-m", "Of the stranger")
    if how == "in a merge":
        second.git("merge", "-q", "--no-ff", "-m", "Merge", "signed")
    if how == "under a tag":
        signs(second, "tag", "-s", "-m", "Signed", "v1")
    second.git("push", "-q", "origin", "HEAD:gitmem", *["v1"] * (how == "under a tag"))
    with pytest.raises(RefusedError, match=NOBODY):
        first.sync()
    assert not (first.root / "knowledge" / "a.md").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("why", ["a stranger's", "expired", "revoked", "not yet allowed"])
def test_a_key_that_does_not_count_signs_nothing(both_sign, tmp_path, why):
    first, second = both_sign
    allowed = tmp_path / "allowed signers"
    if why == "revoked":
        revoked = tmp_path / "revoked"
        revoked.write_bytes(Path(second.context.home, "key.pub").read_bytes())
        config = Path(first.context.home, ".gitconfig")
        config.write_text(f"{config.read_text()}\trevocationFile = {revoked}\n", encoding="utf-8")
    else:
        dates = {"expired": 'valid-before="20200101"', "not yet allowed": 'valid-after="20990101"'}
        lines = allowed.read_text(encoding="utf-8").splitlines()
        second_key = lines.pop()
        lines += [second_key.replace("ssh-ed25519", f"{dates[why]} ssh-ed25519")] if why in dates else []
        allowed.write_text("\n".join([*lines, ""]), encoding="utf-8")
    second.save("of the desktop")
    second.sync()
    assert "BEGIN SSH SIGNATURE" in second.git("cat-file", "commit", "HEAD")
    with pytest.raises(RefusedError, match=NOBODY):
        first.sync()


def test_a_clone_and_a_branch_of_the_project_take_nothing_that_nobody_signed(one_signs, tmp_path, bare_git):
    first, second = one_signs
    pushed_unsigned(second)
    url = first.git("remote", "get-url", "origin")
    (tmp_path / "another").mkdir()
    with pytest.raises(RefusedError, match=NOBODY):
        clone_store(str(tmp_path / "another"), first.context, Place.PROJECT, url, asks=False, options=Options())
    bare_git(tmp_path, "init", "-q", "third")
    bare_git(tmp_path / "third", "remote", "add", "origin", url)
    bare_git(tmp_path / "third", "fetch", "-q", "origin")
    with pytest.raises(RefusedError, match=NOBODY):
        init_store(str(tmp_path / "third"), first.context, Place.BRANCH)
    assert not [one for name in ("another", "third") for one in (tmp_path / name).glob(".gitmem/knowledge")]


def test_what_nobody_signed_is_left_in_the_inbox(one_signs):
    first, second = one_signs
    second.save("of the desktop")
    second.git("push", "-q", "origin", f"HEAD:{INBOX}/desktop-{second.tip[:12]}")
    one = first.save("of the laptop").id
    done = first.sync()
    assert first.entries() == [one]
    assert any("was left there" in notice and NOBODY in notice for notice in done.notices)


def test_a_proposal_is_signed_and_made_on_signed_memory_only(one_signs):
    first, second = one_signs
    first.sync()
    assert first.save("Use uv, not pip", MemoryType.DECISION)
    first.reopen()
    commit = first.propose(name="x").commit
    assert Signatures(first.store.repository.layout, first.context.environ).signers([commit]) == {
        commit: "laptop@example.org"
    }
    assert first.git("rev-parse", f"{commit}~1") == first.git("ls-remote", "origin", "gitmem").split()[0]
    second.git("pull", "-q", "--ff-only", "origin", "gitmem")
    pushed_unsigned(second)
    with pytest.raises(RefusedError, match=NOBODY):
        first.propose(name="x")


def test_transcripts_that_nobody_signed_are_refused_and_own_ones_signed(one_signs):
    first, second = one_signs
    put(second.store, "s-two", second.clock(), ['{"role": "user", "text": "of the stranger"}'])
    second.sync_transcripts()
    with pytest.raises(RefusedError, match=NOBODY):
        first.sync_transcripts()
    second.configure(SIGNED)
    second.sync_transcripts()
    first.sync_transcripts()
    assert {one.session for one in sessions(first.store)} == {"s-two"}


def test_a_backup_of_ones_own_can_be_restored(pair, signing, tmp_path):
    first = signing(pair[0])
    one = first.save("of the laptop").id
    back_up(first.store, str(tmp_path / "b"), transcripts=False)
    (tmp_path / "another").mkdir()
    store = restore_into(str(tmp_path / "another"), first.context, Place.PROJECT, str(tmp_path / "b"), Options())
    assert one in (store.read("memory.md") or b"").decode()
    first.sound()


def test_what_git_shows_of_signatures_by_the_user_s_wish_changes_nothing(both_sign):
    first, second = both_sign
    config = Path(first.context.home, ".gitconfig")
    config.write_text(f"{config.read_text()}[log]\n\tshowSignature = true\n", encoding="utf-8")
    two = second.save("of the desktop").id
    second.sync()
    first.sync()
    assert two in first.entries()


@pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg")
def test_a_key_of_gpg_counts_as_the_user_trusts_it(both_sign, tmp_path):
    first, second = both_sign
    rings = {}
    for machine in (first, second):
        ring = tmp_path / machine.name[0]
        ring.mkdir(mode=0o700)
        rings[machine.name] = {**machine.context.environ, "GNUPGHOME": str(ring)}
        machine.context = machine.context._replace(environ=rings[machine.name])
        made = ("--batch", "--passphrase", "", "--quick-gen-key", f"{machine.name} <{machine.name}@example.org>")
        subprocess.run(["gpg", "-q", *made, "ed25519", "sign"], env=rings[machine.name], check=True)
        Path(machine.context.home, ".gitconfig").write_text(
            f"[user]\n\tname = {machine.name}\n\temail = {machine.name}@example.org\n", encoding="utf-8"
        )
        machine.reopen()
    two = second.save("of the desktop").id
    second.sync()
    assert "BEGIN PGP SIGNATURE" in second.git("cat-file", "commit", "HEAD")
    with pytest.raises(RefusedError, match=NOBODY):
        first.sync()
    key = subprocess.run(["gpg", "--export"], env=rings["desktop"], check=True, capture_output=True).stdout
    subprocess.run(["gpg", "-q", "--import"], env=rings["laptop"], input=key, check=True)
    with pytest.raises(RefusedError, match=NOBODY):  # known, and not trusted
        first.sync()
    subprocess.run(
        ["gpg", "-q", "--batch", "--quick-lsign-key", fingerprint(rings["desktop"])], env=rings["laptop"], check=True
    )
    first.sync()
    assert two in first.entries()


def fingerprint(environ: Mapping[str, str]) -> str:
    listed = subprocess.run(["gpg", "--list-keys", "--with-colons"], env=environ, check=True, capture_output=True)
    return next(line for line in listed.stdout.decode().splitlines() if line.startswith("fpr")).split(":")[9]


def test_a_program_that_the_store_names_is_not_run(both_sign, tmp_path, bare_git):
    first, second = both_sign
    flag = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{flag}'\n", encoding="utf-8")
    program.chmod(0o755)
    for key in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "gpg.x509.program"):
        first.git("config", key, str(program))
    second.save("of the desktop")
    second.sync()
    first.save("of the laptop")
    first.sync()
    assert not flag.exists()


@pytest.mark.parametrize(
    "how",
    [
        "signed",
        "unsigned",
        "signed by another person",
        "signed with another key",
        "signed by a colleague in their name",
    ],
)
@pytest.mark.few(1)
def test_a_purge_of_a_machine_that_is_not_listed_is_followed_if_the_user_signed_it(pair, signing, how):
    also = "" if how == "signed by another person" else "author:\n  also: [desktop@example.org]\n"
    also = "" if "colleague" in how else also
    first = signing(pair[0], settings=also)
    second = signing(pair[1], is_trusted=how != "signed with another key", settings="")
    for number in range(6):
        first.save(f"Decision {number}: the build runs in container {number}, since it is the same everywhere then.")
    first.save("The code name of the release is bluewhale9, says Ada.")
    converge(first, second)
    record = make_record("20261121-120000-000001", "2026-11-21T12:00:00+00:00", b"0123456789abcdef", [b"bluewhale9"])
    second.write("purged/20261121-120000-000001.json", record.render().decode())
    environ = second.context.environ
    sign = [] if how == "unsigned" else ["-S"]
    sign += ["--author=laptop <laptop@example.org>"] * ("colleague" in how)
    for args in (["add", "-A"], ["commit", "-q", *sign, "-m", "Purge\n\nGitmem-Op: purge\nGitmem-Machine: desktop"]):
        subprocess.run(["git", *args], cwd=second.root, env=environ, check=True)
    second.git("push", "-q", "origin", "HEAD:gitmem")
    first.sync()
    assert ("bluewhale9" in first.read("memory.md")) == (how != "signed")
    assert len(waiting_purges(first.store)) == (how != "signed")
