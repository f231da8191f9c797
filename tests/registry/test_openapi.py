"""The OpenAPI document is valid, and describes exactly the routes that there are."""
import html
import re
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from registry.views.api_docs import openapi


def routes(app):
    """Path and method of every route below /api/v3, as OpenAPI writes them."""
    return {(re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule.removeprefix("/api/v3")), method)
            for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/v3")
            for method in rule.methods - {"HEAD", "OPTIONS"}}


def described():
    return {(path, method.upper()) for path, methods in openapi()["paths"].items()
            for method in methods}


def test_the_document_is_valid_openapi(web):
    document = web.browser().get("/api/v3/openapi.json").json
    OpenAPIV31SpecValidator(document).validate()
    assert document == openapi()


def test_every_route_is_described_and_every_description_has_its_route(web):
    assert routes(web.app) == described()


def test_every_operation_has_a_name_of_its_own_a_summary_and_its_errors():
    operations = [each for methods in openapi()["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    for each in operations:
        assert each["summary"] and "400" in each["responses"]
        assert ("401" in each["responses"]) or each.get("security") == []


def test_every_parameter_of_a_path_is_described():
    for path, methods in openapi()["paths"].items():
        for each in methods.values():
            named = {item["name"] for item in each["parameters"] if item["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))


def test_the_page_of_the_api_reads_out_every_operation(web):
    page = web.browser().get("/api/docs").text
    for path, method in described():
        assert f"<b>{method}</b> <span class=\"wrap\">{path}</span>" in page


def test_the_guide_lists_every_route():
    guide = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
    assert {(path, method) for method, path in re.findall(r"`([A-Z]+) (/[^`]+)`", guide)
            } == described()


def test_the_page_and_the_document_have_short_addresses_too(web):
    browser = web.browser()
    assert browser.get("/api").location == "/api/docs"
    assert browser.get("/api/openapi.json").json == browser.get("/api/v3/openapi.json").json


def test_the_page_shows_how_each_request_is_made(web):
    page = html.unescape(web.browser().get("/api/docs").text)
    for shown in ("paishare submit job/digits_classifier --follow",
                  """curl http://localhost/api/v3/validate --json '{"yaml": "…"}'""",
                  'curl -X DELETE http://localhost/api/v3/token -H "Authorization: Bearer '):
        assert shown in page
