"""Documentation that fails when it lies."""
import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def names(option):
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    section = "options" if option == "install_requires" else "options.extras_require"
    return {re.split(r"[<>=]", line)[0].lower() for line in setup[section][option].split()}


def test_every_dependency_has_its_reason():
    text = (ROOT / "docs/decisions/0001-dependencies.md").read_text().lower()
    rows = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("|"))
    assert names("install_requires") <= set(re.findall(r"[a-z0-9-]+", rows))


def test_every_variable_of_the_settings_is_documented():
    for package, page in (("registry", "settings.md"), ("runner", "runner.md")):
        code = (ROOT / package / "config.py").read_text()
        variables = set(re.findall(r'"((?:PAISHARE|RUNNER)_[A-Z_]+)"', code))
        assert variables and variables <= set(re.findall(r"[A-Z_]+", (
            ROOT / "docs" / page).read_text()))


def test_links_between_the_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_every_pitfall_of_containers_is_held_somewhere_and_by_tests_that_exist():
    rows = re.findall(r"^\| (\d+) \| .+ \| (.*) \| ?(.*?) ?\|$", (
        ROOT / "docs/decisions/0012-engine.md").read_text(), re.M)
    assert [int(number) for number, _, _ in rows] == list(range(1, 55))
    known = {path.stem for folder in ("runner", "functional")
             for path in (ROOT / "tests" / folder).glob("*.py")}
    for number, held, tests in rows:
        named = set(re.findall(r"`(\w+)`", tests))
        assert named <= known, f"pitfall {number} names {named - known}"
        assert named or "–" in held, f"pitfall {number} is neither tried nor a choice"
