"""Plug-ins that the settings name are loaded at the start, or one sentence says why not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from configuration import RemoteSettings
from plugins.finding import LoadError
from remote_proxy.main import serving
from remote_proxy.plugged_in import BUILT_IN, load_plugins

SCHEDULER = (
    "from hats.disciplines.fifo import Fifo\n\n\nclass Mine(Fifo):\n"
    '    name = "{name}"\n\n    def select(self):\n        return super().select()\n'
)
OTHER = (
    'class Mine:\n    name = "{name}"\n\n    def wants(self, *what):\n        return False\n\n'
    "    def {method}(self, *what):\n        return ()\n"
)


def saved(folder: Path, name: str, code: str) -> str:
    path = folder / f"{name}.py"
    path.write_text(code)
    return str(path)


def test_each_sort_is_loaded_under_its_name(tmp_path: Path) -> None:
    scheduler = saved(tmp_path, "s", SCHEDULER.format(name="mine"))
    transcoder = saved(tmp_path, "t", OTHER.format(name="mine", method="make"))
    driver = saved(tmp_path, "d", OTHER.format(name="mine", method="find"))
    plugged = load_plugins(
        schedulers=[scheduler], transcoders=[transcoder], import_drivers=[driver]
    )
    assert "plugin:mine" in plugged.schedulers.names()
    assert plugged.schedulers.create("plugin:mine").name == "plugin:mine"
    assert [one.name for one, _ in plugged.transcoders] == ["mine"]
    assert [switch.what for _, switch in plugged.import_drivers] == ["import driver mine"]


def test_a_name_that_is_taken_is_refused_in_one_sentence(tmp_path: Path) -> None:
    for sort, method, option in (
        ("transcoder", "make", "transcoders"),
        ("import driver", "find", "import_drivers"),
        ("scheduler", "select", "schedulers"),
    ):
        form = SCHEDULER if method == "select" else OTHER
        name = BUILT_IN[sort][0]
        taken = saved(tmp_path, "taken", form.format(name=name, method=method))
        with pytest.raises(LoadError, match=f"its name '{name}' is taken, that {sort} is built in"):
            load_plugins(**{option: [taken]})
        one = saved(tmp_path, "one", form.format(name="mine", method=method))
        other = saved(tmp_path, "other", form.format(name="mine", method=method))
        with pytest.raises(LoadError, match=r"other\.py: its name 'mine' is taken, .*one\.py"):
            load_plugins(**{option: [one, other]})


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("class Mine:\n    def make(self):\n        pass\n", "needs `name`, `wants` and `make`"),
        ("transcoder = 3\n", "3 needs `name`"),
        (
            "class Mine:\n    make = None\n\n    def __init__(self):\n        1 / 0\n",
            "ZeroDivisionError",
        ),
        (OTHER.format(name="", method="make"), "has no `name`"),
        ("", "no class in it has a method `make`"),
    ],
)
def test_what_is_no_transcoder_is_refused(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        load_plugins(transcoders=[saved(tmp_path, "bad", code)])


def test_an_object_is_no_class_of_schedulers(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="is no class of schedulers"):
        load_plugins(schedulers=[saved(tmp_path, "bad", "scheduler = 3\n")])
    driver = saved(tmp_path, "driver", "import_driver = 3\n")
    with pytest.raises(LoadError, match="3 needs `name`, `wants` and `find`"):
        load_plugins(import_drivers=[driver])


def test_a_remote_with_a_plugin_that_can_not_be_had_does_not_start(tmp_path: Path) -> None:
    async def go() -> None:
        settings = RemoteSettings(state=str(tmp_path), schedulers=[str(tmp_path / "no.py")])
        async with serving(settings):
            pass

    with pytest.raises(OSError, match=r"no file .*no\.py"):
        asyncio.run(go())
