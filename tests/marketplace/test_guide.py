"""docs/marketplace.md: its examples are valid, and it names what is there."""
import re

import pytest

from registry import component
from tests.marketplace.programs import MARKETPLACE, PROGRAMS

TEXT = (MARKETPLACE.parent / "docs" / "marketplace.md").read_text()
REFERENCES = re.findall(r"\b((?:job|data|script|dockerimage)/\w+)@1\.0\.0", TEXT)
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: re.search("name: (.*)", text)[1])
def test_an_example_is_a_component_without_a_warning(text):
    assert component.parse(text).warnings == ()


@pytest.mark.parametrize("reference", sorted(set(REFERENCES)))
def test_a_reference_in_an_example_is_in_the_marketplace(reference):
    assert (MARKETPLACE / f"{reference}.yaml").is_file()


def test_the_programs_that_it_points_to_exist():
    for name in set(re.findall(r"`(\w+\.py)`", TEXT)):
        assert (PROGRAMS / name).is_file()


def test_each_section_of_its_table_of_contents_exists():
    titles = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
              for title in re.findall(r"^## (.*)$", TEXT, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(.*?)\)", TEXT)) == titles
