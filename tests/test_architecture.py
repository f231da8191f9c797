"""The arrows of docs/architecture.md, held by the code's own imports."""
import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path for package in ("registry", "runner")
                 for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts)
GATEWAYS = {  # each outside library, and the only modules that may import it
    "whoosh": {"registry.segments"},
    "rapidfuzz": {"registry.spelling"},
    "dulwich": {"registry.git_objects", "registry.git_origin", "registry.git_snapshot",
                "registry.git_packs", "registry.git_store"},
    "cryptography": {"registry.signing", "registry.sealing"},
    "github": {"registry.github_api"},
    "docker": {"runner.docker_driver", "runner.image_builder"},
    "pynvml": {"runner.devices"},
    "fsspec": {"runner.remote_files"},
    "waitress": {"runner.__main__"},
    "simple_websocket": {"registry.views.sockets", "registry.commands.shell"},
}


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@cache
def imports_of(path):
    """Each imported module by its full name; `from a import b` counts as a and a.b."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_outside_libraries_come_in_through_one_gateway_each(path):
    for library, gateways in GATEWAYS.items():
        if any(name.split(".")[0] == library for name in imports_of(path)):
            assert name_of(path) in gateways, f"{library} belongs to {sorted(gateways)}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_runner_knows_no_registry_and_the_registry_only_its_job_spec_and_sentences(path):
    allowed = {"runner.spec", "runner.sentence"}
    for name in imports_of(path):
        if name_of(path).startswith("runner."):
            assert not name.startswith("registry")
        elif name == "runner" or name.startswith("runner."):
            assert any(name == known or name.startswith(known + ".") or known.startswith(f"{name}.")
                       for known in allowed), name


@pytest.mark.parametrize("path", [path for path in MODULES if "runner" in path.parts], ids=name_of)
def test_only_what_is_below_the_engine_knows_the_driver(path):
    below = {"runner.node_agent", "runner.follower", "runner.ending", "runner.images",
             "runner.housekeeping", "runner.console"}
    knows = {"runner.docker_driver": below, "runner.node_agent": {"runner.local_engine"},
             "runner.local_engine": set()}
    for module, knowing in knows.items():
        if module in imports_of(path):
            assert name_of(path) in knowing | {"runner.__main__"}, f"{module} is below the engine"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_pages_talk_to_the_services_and_never_to_tables_sources_or_engines(path):
    if name_of(path).startswith("registry.views."):
        forbidden = {"registry.db", "registry.source", "registry.git_store", "sqlalchemy",
                     "registry.sync"}
        assert not imports_of(path) & forbidden


def test_imports_make_no_cycle():
    graph = {name_of(path): {name for name in imports_of(path)
                             if (ROOT / (name.replace(".", "/") + ".py")).exists()}
             for path in MODULES}
    done, open_now = set(), []

    def visit(name):
        assert name not in open_now, " → ".join([*open_now, name])
        if name not in done:
            open_now.append(name)
            for following in graph.get(name, ()):
                visit(following)
            open_now.pop()
            done.add(name)
    for module in graph:
        visit(module)


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"],
                         ids=name_of)
def test_packages_import_nothing_by_themselves(path):
    assert imports_of(path) == set()


def test_the_architecture_page_lists_every_module_below_what_it_imports():
    text = (ROOT / "docs/architecture.md").read_text()
    for package in ("runner", "registry"):
        table = text.partition(f"| `{package}` module |")[2].partition("\n\n")[0]
        listed = [f"{package}.{name}" for name in re.findall(r"^\| `([\w.]+)` \|", table, re.M)]
        modules = {name_of(path): path for path in MODULES
                   if path.parts[len(ROOT.parts)] == package and path.name != "__init__.py"}
        assert sorted(listed) == sorted(modules)
        for place, name in enumerate(listed):
            assert not imports_of(modules[name]) & set(listed[place:]), name
