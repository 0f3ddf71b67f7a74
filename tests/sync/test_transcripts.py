"""Raw transcripts lie on a ref a user, here and on a remote."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from gitmem.errors import RefusedError
from gitmem.git.packing import every_object
from gitmem.purge.purge import answer_purge, plan_erasure, purge, waiting_purges
from gitmem.store.remotes import find_remote
from gitmem.store.transcripts import REF, put, read, ref_name_of, sessions, tips
from gitmem.sync.clone import back_up, merge_backup
from gitmem.sync.fetch import Options
from gitmem.sync.rounds import sync_remote
from gitmem.sync.transcripts import REMOTE_REF
from tests.world import QUICK, Machine

BEGAN = datetime(2026, 11, 20, tzinfo=UTC)
PEOPLE = ("ada", "ben", "cleo")


def said(name: str) -> str:
    return f'{{"role": "user", "text": "what {name} asked, word for word"}}'


def address(name: str) -> str:
    return f"{name}@example.org"


def belong(one: Machine, name: str) -> Machine:
    """Have a machine be a user's."""
    one.git("config", "user.name", name.title())
    one.git("config", "user.email", address(name))
    return type(one)(one.root, one.name, one.context).like(one)


def exchange(*machines: Machine) -> None:
    for one in machines:
        one.sync()
        one.sync_transcripts()


def make_team(machine: Callable[[str], Machine]) -> tuple[Machine, ...]:
    people = tuple(belong(machine(name), name) for name in PEOPLE)
    for one in people:
        put(one.store, f"s-{one.name}", BEGAN, [said(one.name)])
        one.save(f"noted by {one.name} on that day")
        one.sync()
    return people


@pytest.fixture
def team(made_once: Callable[..., tuple[Machine, ...]]) -> tuple[Machine, ...]:
    """Three people, each with a transcript, before any of these was synced."""
    return made_once(make_team, *PEOPLE)


@pytest.mark.slow
def test_each_user_has_a_ref_that_does_not_show_the_address(team, remote, bare_git):
    exchange(*team, *team)
    refs = [f"{REF}/{ref_name_of(address(name))}" for name in PEOPLE]
    for one in team:
        assert sorted(tips(one.store)) == sorted(refs)
        assert {name: read(one.store, f"s-{name}") for name in PEOPLE} == {name: [said(name)] for name in PEOPLE}
    there = bare_git(remote, "for-each-ref", "--format=%(refname)").splitlines()
    assert {one for one in there if "l1" in one} == {f"{REMOTE_REF}-{ref_name_of(address(name))}" for name in PEOPLE}
    assert not any(name in ref for ref in there for name in PEOPLE)
    before = bare_git(remote, "for-each-ref")
    exchange(*team)
    assert bare_git(remote, "for-each-ref") == before  # nothing new makes no commit


def test_two_machines_of_one_user_share_the_ref(machine, team):
    ada, ben, _ = team
    other = belong(machine("laptop"), "ada")
    put(other.store, "s-laptop", BEGAN, [said("laptop")])
    exchange(ada, other, ben, ada)
    assert [one.session for one in sessions(ada.store)] == ["s-ada", "s-ben", "s-laptop"]
    assert (
        tips(ada.store)[f"{REF}/{ref_name_of('ADA@example.org')}"]
        == tips(other.store)[f"{REF}/{ref_name_of(address('ada'))}"]
    )


@pytest.mark.slow
def test_a_backup_has_the_transcripts_of_all_users(team, tmp_path):
    ada, ben, cleo = team
    file = str(tmp_path / "backup")
    exchange(ben, ada)
    assert len(back_up(ada.store, file, transcripts=True).transcripts) == 2
    merge_backup(cleo.store, file, Options(chance=QUICK))
    assert [read(cleo.store, f"s-{name}") for name in PEOPLE] == [[said(name)] for name in PEOPLE]
    assert sorted(tips(cleo.store)) == sorted(f"{REF}/{ref_name_of(address(name))}" for name in PEOPLE)


@pytest.mark.slow
def test_who_keeps_no_transcripts_of_others_takes_them_out_of_the_remote(team, remote, bare_git):
    ada, ben, _ = team
    exchange(ada)
    put(ada.store, "s-both", BEGAN, [said("ada"), said("ada")])
    exchange(ada)
    purge(ben.store, plan_erasure(ben.store, author="Ada"))
    sync_remote(ben.store, find_remote(ben.store, None), Options(chance=QUICK), asks=False)
    assert "l1" not in bare_git(remote, "for-each-ref")
    assert [one.session for one in sessions(ben.store)] == ["s-ben"]
    assert not any(b"what ada asked" in data for _, data in every_object(ben.store.repository.git))


@pytest.mark.slow
def test_an_authors_transcripts_go_from_every_clone_and_from_the_remote(team, remote, bare_git):
    _, ben, cleo = team
    exchange(*team, *team)
    purge(ben.store, plan_erasure(ben.store, author="Ada"))
    exchange(ben)
    with pytest.raises(RefusedError, match="another machine purged"):  # another's erasure asks first
        exchange(cleo)
    assert read(cleo.store, "s-ada")
    assert "what ada asked" not in bare_git(remote, "log", "-p", "--all")
    [waiting] = waiting_purges(cleo.store)
    answer_purge(cleo.store, waiting.path, yes=True)
    exchange(cleo, ben)
    for one in (ben, cleo):
        held = b"".join(data for _, data in every_object(one.store.repository.git))
        assert b"what ada asked" not in held
        assert address("ada").encode() not in held
        assert [item.session for item in sessions(one.store)] == ["s-ben", "s-cleo"]
        assert ref_name_of(address("ada")) not in one.git("for-each-ref")
        one.sound()
    assert ref_name_of(address("ada")) not in bare_git(remote, "for-each-ref")
    assert address("ada") not in bare_git(remote, "log", "-p", "--all", "--format=%an %ae %ce %B")
