"""Whatever others write into a text of theirs, no page runs it, asks for it or is changed by it."""
import pytest

from tests.browser.corpus import packs, write_corpus
from tests.browser.payloads import FAMILIES, PAYLOADS
from tests.browser.trap import FOREIGN, Trap

SIZE = 83
NAMES = [f"corpus{number}" for number in range(len(packs(SIZE)))]
OF_EACH = ("/c/job/{}", "/c/data/{}", "/c/script/{}", "/c/dockerimage/{}", "/use/job/{}",
           "/changelog?of=job/{}", "/used-by?of=data/{}")
OF_ALL = ("/", "/?page=2", "/?q=corpus", "/sources", "/sources/examples")


@pytest.fixture(scope="module")
def home_template(tmp_path_factory):
    home = tmp_path_factory.mktemp("corpus") / "home"
    write_corpus(home, SIZE)
    return home


@pytest.fixture(params=["with the policy", "without the policy"])
def policy(request):
    return request.param


@pytest.fixture
def trap(policy, open_page):
    """Ann's page; without the policy, it is the escaping alone that holds."""
    return Trap(open_page("ann", bypass_csp=policy == "without the policy"))


def test_there_are_200_payloads_and_more():
    assert len(set(PAYLOADS)) >= 200


def test_the_payloads_do_harm_where_nothing_is_escaped(open_page):
    trap = Trap(open_page("ann"))
    page = trap.page
    harmful = page.evaluate(f"""(texts) => texts.filter((text) => {{
        const html = `<main id=main><input title="${{text}}"><p>${{text}}</p><a href="${{text}}">`;
        try {{ return ({FOREIGN})(new DOMParser().parseFromString(html, "text/html")).length; }}
        catch {{ return true; }}
    }})""", PAYLOADS)
    assert len(harmful) > 200
    body = "".join(FAMILIES["event handlers"]).replace("RUN", "ran(7)")
    page.route("**/naive", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto("/naive")
    assert len(trap.ran) > 5
    page.watch.errors.clear()


def test_nothing_that_a_repository_holds_runs(trap, policy):
    names = NAMES if policy == "without the policy" else NAMES[:1]
    for path in OF_ALL + tuple(each.format(name) for each in OF_EACH for name in names):
        trap.visit(path)
