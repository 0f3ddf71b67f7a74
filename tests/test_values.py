import copy
import pickle
from pathlib import Path

import pytest

import gitmem
from gitmem.values import Value


class Point(Value):
    """A place."""

    x: int
    y: int = 2
    name: str = ""

    @property
    def total(self) -> int:
        return self.x + self.y


class Named(Point):
    colour: str = "red"


def test_fields_come_by_position_by_name_and_by_default():
    assert Point(1) == Point(x=1) == Point(1, 2, "") == Point(1, name="")
    assert (Point(1, 5).y, Point(1, 5).total, Point(3, name="n").name) == (5, 6, "n")
    assert Named(1, colour="blue")._asdict() == {"x": 1, "y": 2, "name": "", "colour": "blue"}
    assert repr(Point(1)) == "Point(x=1, y=2, name='')"
    assert pickle.loads(pickle.dumps(Point(1))) == copy.deepcopy(Point(1)) == Point(1)


@pytest.mark.parametrize("args, named", [((), {}), ((1, 2, "", 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_wrong_fields_are_a_type_error(args, named):
    with pytest.raises(TypeError, match="Point"):
        Point(*args, **named)


def test_a_value_cannot_be_changed_and_gets_no_new_fields():
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 2
    with pytest.raises((AttributeError, TypeError)):
        del point.x


def test_values_of_two_kinds_are_never_equal():
    class Other(Value):
        x: int
        y: int
        name: str

    assert Point(1, 2, "") != Other(1, 2, "")
    assert Point(1, 2, "") != (1, 2, "")
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_replace_and_asdict():
    assert Point(1)._replace(y=9) == Point(1, 9)
    assert Point(1)._asdict() == {"x": 1, "y": 2, "name": ""}
    with pytest.raises(TypeError, match="Point"):
        Point(1)._replace(z=1)


def test_there_is_one_base_of_values():
    room = Path(gitmem.__file__).parent
    found = {path.relative_to(room).as_posix(): path.read_text(encoding="utf-8") for path in room.rglob("*.py")}
    assert {name for name, text in found.items() if "NamedTuple)" in text} == set()
    others = {name for name, text in found.items() if "\n@dataclass" in text}
    assert others == {"purge/rewrite.py", "web/view.py"}  # what no tuple can be: see gitmem.values
