"""The submit page as one writes on it: form and text in step, problems with their fixes, drafts."""
import json
import re
import zlib
from base64 import urlsafe_b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from registry.public_web import PublicWeb
from registry.views.services import EXTENSION
from tests.browser.conftest import PHONE, traced
from tests.fakes.web_home import HELLO, PASSWORD
from tests.registry.test_public_web import serving
from tests.registry.test_views_submit import PLAIN

MANIFEST = Path(__file__).parents[2] / "registry" / "static" / "dist" / "manifest.json"
COMMENTED = PLAIN.replace("epochs: 3", "epochs: 3     # more is slower").replace(
    "contributor: Ann", "contributor:   Ann  # me")


@pytest.fixture
def form(page):
    page.goto("/submit")
    ready(page)
    return page


def ready(page):
    """The editor stands and the first answer of the server is in."""
    with page.expect_response("**/api/v3/schemas"):
        page.locator(".cm-content").wait_for()
    return page


def opened(page, address):
    with page.expect_response("**/submit/check"):
        page.goto(address)
    page.locator(".cm-content").wait_for()
    return page


def yaml_of(page):
    return page.locator("#yaml").input_value()


def write(page, text):
    page.get_by_label("YAML", exact=True).press("Control+a")
    page.keyboard.insert_text(text)


def test_problems_appear_at_their_line_and_their_field(form):
    write(form, PLAIN.replace("cpu: 1", "cpu: 0"))
    link = form.locator("#problems a").first
    link.wait_for()
    line = PLAIN[:PLAIN.index("cpu: 1")].count("\n") + 1
    assert link.inner_text() == f"Line {line}"
    expect(form.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(form.locator(".cm-lintRange-error")).to_have_text("cpu")
    form.locator("#blocks summary", has_text="main").click()
    expect(form.get_by_label("CPU")).to_have_attribute("aria-invalid", "true")
    link.click()
    assert "cpu: 0" in form.evaluate("document.getSelection().toString()")
    write(form, PLAIN)
    expect(form.locator("#problems a, .cm-lint-marker-error")).to_have_count(0)


@pytest.mark.parametrize("size", [{"width": 1280, "height": 900}, PHONE])
def test_the_bar_tells_how_the_job_stands_and_covers_nothing_at_the_end(form, size):
    form.set_viewport_size(size)
    write(form, PLAIN.replace("cpu: 1", "cpu: 0"))
    bar = form.locator("#verdict")
    expect(bar).to_have_text("1 problem to solve first")
    expect(bar).to_be_in_viewport()
    bar.get_by_role("link").click()
    expect(form.locator("#problems h2")).to_be_in_viewport()
    form.evaluate("scrollTo(0, document.body.scrollHeight)")
    edges = form.evaluate("""() => [document.querySelector("#problems .alert"),
        document.querySelector(".bar")].map((each) => each.getBoundingClientRect())""")
    assert edges[0]["bottom"] <= edges[1]["top"]
    write(form, PLAIN)
    expect(bar).to_have_text("Fits this machine now.")


def test_a_problem_is_mended_by_its_button(form):
    write(form, PLAIN + "retryCount: -2   # as the example has it\n")
    form.get_by_role("button", name="Set to 0").click()
    assert yaml_of(form) == PLAIN + "retryCount: 0   # as the example has it\n"
    form.get_by_role("button", name="Undo").click()
    assert yaml_of(form) == PLAIN + "retryCount: -2   # as the example has it\n"


def test_who_types_before_the_editor_is_there_types_on(page):
    held = []
    built = json.loads(MANIFEST.read_text())["page.js"]["file"]
    page.route(f"**/{built}", lambda route: held.append(route))
    with page.expect_request(f"**/{built}"):
        page.goto("/use/job/hello")
    field = page.get_by_label("note")
    field.press("End")
    page.keyboard.type(" of m")
    held.pop().continue_()
    page.locator(".cm-content").wait_for()
    page.keyboard.type("ine")
    expect(field).to_have_value("a text of mine")
    assert "note: a text of mine" in yaml_of(page)


def test_a_field_changes_its_own_range_of_the_text(form):
    write(form, COMMENTED)
    form.get_by_label("epochs").fill("12")
    assert yaml_of(form) == COMMENTED.replace("epochs: 3", "epochs: 12")
    form.get_by_label("lr").fill("1e-3")
    form.locator("#blocks summary", has_text="main").click()
    form.get_by_label("GPU", exact=True).fill("2")
    form.get_by_label("Commands 1", exact=True).fill("python train.py: # now")
    assert yaml_of(form) == COMMENTED.replace("epochs: 3", "epochs: 12").replace(
        "lr: 0.1", "lr: 1e-3").replace("gpu: 0", "gpu: 2").replace(
            "echo $$epochs$$ $$lr$$ $$shuffle$$ $$note$$", '"python train.py: # now"')


def test_a_change_of_the_text_shows_in_the_form_and_a_broken_text_freezes_it(form):
    write(form, PLAIN.replace("epochs: 3", "epochs: 4\n  seed: 1"))
    expect(form.get_by_label("epochs")).to_have_value("4")
    expect(form.get_by_label("seed")).to_have_value("1")
    write(form, PLAIN.replace("tasks:", "tasks: ["))
    expect(form.locator("#waits")).to_contain_text("The form waits for line")
    told = form.locator("#problems a").first.inner_text()
    expect(form.locator("#waits a")).to_have_text(told.lower())
    expect(form.locator("#verdict")).to_have_text("1 problem to solve first")
    expect(form.get_by_label("epochs")).to_be_disabled()
    write(form, PLAIN)
    expect(form.get_by_label("epochs")).to_be_enabled()


def test_a_job_is_put_together_by_blocks_alone(form):
    for block in ("Settings of the job", "Tasks", "Docker images", "Data", "Scripts", "Storage"):
        expect(form.locator("#blocks")).to_contain_text(block)
    form.get_by_label("Name of the job").fill("mine")
    assert yaml_of(form) == "type: job\nname: mine\nversion: 1.0.0\n"
    form.get_by_role("button", name="Add a task").click()
    form.get_by_role("button", name="Add an image").click()
    form.get_by_role("button", name="Write it by hand").click()
    expect(form.locator("[data-path='prerequisites[0].name']")).to_be_focused()
    form.get_by_role("button", name="Add a parameter").click()
    name = form.locator("#parameters").get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    name.fill("epochs")
    name.press("Enter")
    expect(form.get_by_label("epochs", exact=True)).to_be_focused()
    form.get_by_label("epochs", exact=True).press_sequentially("12")
    form.get_by_label("Commands 1", exact=True).fill("echo $$epochs$$")
    expect(form.locator("#will-run .commands")).to_have_text("echo 12")
    assert "parameters:\n  epochs: 12\n" in yaml_of(form)
    expect(form.locator("#problems .bad")).to_have_count(0)


def test_a_parameter_is_renamed_where_it_is_used_and_removed(form):
    write(form, COMMENTED.replace("- echo", "- echo $$epochs$$ #"))
    form.get_by_text("Change epochs").locator("xpath=..").click()
    name = form.locator("#parameters").get_by_label("Name", exact=True).first
    name.fill("more epochs")
    name.press("Enter")
    expect(form.locator("#parameters .wrong:visible")).to_have_text(
        "A name is made of letters, digits, dots, _ and -.")
    name.fill("rounds")
    name.press("Enter")
    expect(form.get_by_label("rounds", exact=True)).to_be_focused()
    assert "  rounds: 3     # more is slower" in yaml_of(form)
    assert "echo $$rounds$$" in yaml_of(form) and "epochs" not in yaml_of(form)
    form.get_by_text("Change rounds").locator("xpath=..").click()
    form.get_by_role("button", name="Remove rounds").click()
    expect(form.get_by_role("button", name="Add a parameter")).to_be_focused()
    assert "rounds: 3" not in yaml_of(form)


def test_a_number_stays_one_while_it_is_typed(form):
    write(form, PLAIN.replace("epochs: 3", "epochs: 1e-3"))
    field = form.get_by_label("epochs", exact=True)
    field.fill("")
    for typed in ("1e-5", "-1", "64"):
        field.press("Control+a")
        field.press_sequentially(typed)
        assert f"epochs: {typed}\n" in yaml_of(form)
    field.fill("many")
    expect(form.locator("#parameters .wrong:visible")).to_have_text(
        "This is no number: the job gets it as a text.")


def test_tasks_are_added_and_removed_beside_what_was_written(form):
    write(form, COMMENTED)
    form.get_by_role("button", name="Add a task").click()
    expect(form.locator(".block[open]").get_by_label("Role")).to_have_value("worker")
    assert yaml_of(form).startswith(COMMENTED.rstrip("\n")) and "- role: worker" in yaml_of(form)
    form.locator(".block[open]").get_by_role("button", name="Remove", exact=True).last.click()
    assert yaml_of(form) == COMMENTED


def test_data_of_the_marketplace_is_found_and_used_by_the_task(form):
    write(form, PLAIN)
    form.get_by_role("button", name="Add data").click()
    form.locator("#market-search").fill("points")
    form.locator("#market-found button", has_text="points").first.click()
    text = yaml_of(form)
    assert "  - data/points@1.0.0\n" in text and "    data: points\n" in text
    expect(form.locator("#commands pre")).to_have_count(1)


def test_what_oneself_ran_last_is_offered_and_not_what_is_merely_new(site, page):
    opened(page, "/use/job/hello")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/*")
    page.goto("/submit")
    page.locator(".cm-content").wait_for()
    write(page, PLAIN)
    page.get_by_role("button", name="Add data").click()
    own = page.locator("#market-found section", has_text="You used last")
    expect(own.get_by_role("button")).to_contain_text(["points"])
    expect(own).to_contain_text("in 1 job of yours")


def test_what_is_removed_is_used_no_more_and_the_keyboard_stays_where_it_was(form):
    write(form, COMMENTED)
    form.get_by_role("button", name="Add an image").press("Enter")
    form.get_by_role("button", name="Write it by hand").press("Enter")
    name = form.locator(".block[open]").get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    name.fill("torch")
    form.locator(".block[open]").get_by_role("button", name="Remove", exact=True).press("Enter")
    expect(form.get_by_role("button", name="Add an image")).to_be_focused()
    assert yaml_of(form) == COMMENTED
    form.locator("#blocks summary", has_text="busybox").press("Enter")
    form.locator(".block[open]").get_by_role("button", name="Remove", exact=True).press("Enter")
    assert "dockerimage: busybox" not in yaml_of(form) and "{name: busybox" not in yaml_of(form)
    form.get_by_role("button", name="Undo").click()
    assert yaml_of(form) == COMMENTED


def test_settings_of_the_job_are_fields_too(form):
    write(form, COMMENTED)
    form.get_by_text("Settings of the job").click()
    form.get_by_label("Time limit, minutes").fill("30")
    assert yaml_of(form) == COMMENTED + "timeLimitMinutes: 30\n"
    form.get_by_label("Time limit, minutes").fill("")
    assert yaml_of(form) == COMMENTED


def test_storage_is_written_by_hand(form):
    write(form, PLAIN)
    form.get_by_role("button", name="Add storage").click()
    form.locator(".block[open]").get_by_label("Name").fill("models")
    assert "name: models" in yaml_of(form) and "storage: models" in yaml_of(form)


def test_completion_offers_what_may_stand_there(form):
    write(form, "type: job\nname: x\nret")
    form.get_by_label("YAML", exact=True).press("Control+End")
    form.get_by_label("YAML", exact=True).press("Control+Space")
    form.locator(".cm-tooltip-autocomplete li", has_text="retryCount").click()
    expect(form.locator("#yaml")).to_have_value("type: job\nname: x\nretryCount: ")


def test_the_editor_is_left_by_escape_and_tab(form):
    area = form.get_by_label("YAML", exact=True)
    area.press("a")
    form.keyboard.press("Escape")
    form.keyboard.press("Escape")
    form.keyboard.press("Tab")
    expect(area).not_to_be_focused()


@pytest.mark.parametrize("text, form_name", [
    (PLAIN, None),
    (json.dumps({"jobName": "old", "image": "busybox:1", "taskRoles": [
        {"name": "main", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100,
         "command": "echo v1"}]}), "v1")])
def test_a_chosen_file_is_imported_at_once(form, tmp_path, text, form_name):
    file = tmp_path / "job.yaml"
    file.write_text(text)
    form.locator("#file").set_input_files(file)
    form.locator("#commands pre").wait_for()
    assert (yaml_of(form) == PLAIN) is (form_name is None)
    if form_name:
        expect(form.locator("#notes .warn")).to_contain_text("This job was")
        expect(form.locator("#commands")).to_contain_text("echo v1")


def test_a_file_that_is_no_text_is_not_imported(form):
    write(form, PLAIN)
    form.locator("#file").set_input_files(
        {"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n\x00\xff"})
    expect(form.locator("#notes .bad")).to_contain_text("photo.png is no text in UTF-8")
    assert yaml_of(form) == PLAIN


def test_a_file_that_is_dropped_is_imported(form):
    form.evaluate("""text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "job.yaml"));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true,
                                                           cancelable: true}));
    }""", PLAIN)
    expect(form.locator("#yaml")).to_have_value(PLAIN)


def test_a_pasted_text_is_imported(form):
    form.get_by_text("Import", exact=True).first.click()
    form.get_by_role("button", name="Pasted text").click()
    form.get_by_label("YAML or JSON of a job").fill(PLAIN)
    form.locator("#paste").get_by_role("button", name="Import").click()
    expect(form.locator("#yaml")).to_have_value(PLAIN)


def test_a_job_is_imported_from_an_address_and_shown_in_our_form(site, form):
    with serving() as server:
        url = f"http://127.0.0.1:{server.server_port}"
        site.app.extensions[EXTENSION] = replace(site.services, web=PublicWeb([url]))
        for path in ("v1.json", "none"):
            form.get_by_text("Import", exact=True).first.click()
            form.get_by_role("button", name="From an address").click()
            form.get_by_label("Address of a YAML or JSON file").fill(f"{url}/{path}")
            form.locator("#fetch").get_by_role("button", name="Import").click()
            expect(form.locator("#notes")).to_contain_text(
                "Check before running" if path == "v1.json" else "no such file for everybody")
    expect(form.locator("#commands")).to_contain_text("echo v1")
    form.watch.expect("400")
    assert site.runner.jobs == {}


def test_what_the_job_would_find_is_told_before_it_runs(site, page):
    site.runner.outlook["supplies"] = [
        {"kind": "image", "uri": "busybox:1", "missing": None},
        {"kind": "file", "uri": "https://example.org/x.zip", "missing": 170_498_071}]
    opened(page, "/use/job/hello")
    outlook = page.locator("#outlook")
    expect(outlook).to_contain_text("1 CPU · 100 MiB · 0 GPU")
    expect(outlook).to_contain_text("6 of 8 CPU · 12 GiB of 16 GiB")
    expect(outlook).to_contain_text("170.5 MB + 1 of unknown size")
    expect(outlook).to_contain_text("As soon as all of it is here.")
    outlook.get_by_text("170.5 MB + 1").click()
    expect(outlook.get_by_role("listitem").first).to_have_text(
        "busybox:1 to be pulled, size unknown")
    site.runner.fit = {"fit": "later", "reason": "It waits."}
    page.get_by_label("epochs").fill("4")
    expect(outlook).to_contain_text("in about 1 minute")


def test_a_link_to_one_field_leads_to_it(site, page):
    opened(page, "/use/job/hello")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/*")
    opened(page, "/submit?from_job=000000000001"
           "&focus=taskRoles.main.resourcePerInstance.memoryMB")
    memory = page.get_by_label("Memory, MiB", exact=True)
    expect(memory).to_be_focused()
    page.get_by_role("button", name="Double it: 200").click()
    expect(memory).to_have_value("200")
    assert "memoryMB: 200" in yaml_of(page) and len(site.runner.jobs) == 1
    page.goto("/submit?from_job=000000000001&focus=parameters.speed")
    expect(page.locator("#notes")).to_contain_text("The link points at parameters.speed")


def test_the_values_of_a_template_are_shared_as_a_link(page):
    opened(page, "/use/job/hello")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_label("epochs").fill("12")
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("button", name="Copy a link to the template").click()
    page.wait_for_function("() => window.copied")
    link = page.evaluate("window.copied")
    assert "/submit?use=examples/job/hello@" in link and link.endswith("&p.epochs=12")
    opened(page, link)
    assert page.get_by_label("epochs set by the link").input_value() == "12"


def test_a_server_that_is_away_costs_nothing(site, page):
    opened(page, "/use/job/hello")
    page.context.set_offline(True)
    page.get_by_label("epochs").fill("11")
    expect(page.locator("#offline")).to_be_visible()
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#away")).to_contain_text("your text is kept in this browser")
    assert "epochs: 11" in page.evaluate(
        "JSON.parse(Object.entries(localStorage).find(([key]) => /draft/.test(key))[1]).text")
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    page.wait_for_url("**/jobs/*")
    page.watch.expect("ERR_INTERNET_DISCONNECTED")
    (job,) = site.runner.jobs.values()
    assert job["spec"]["parameters"]["epochs"] == 11


def test_a_runner_that_is_away_keeps_the_page(site, page):
    opened(page, "/use/job/hello")
    site.runner.close()
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#away")).to_contain_text("The runner does not answer")
    expect(page.locator("#away").get_by_role("button")).to_be_focused()
    page.watch.expect("503")


def test_leaving_with_changes_asks(page):
    asked = []
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    opened(page, "/use/job/hello")
    page.goto("/jobs")
    opened(page, "/use/job/hello")
    assert asked == []
    page.get_by_label("epochs").press("End")
    page.keyboard.type("1")
    page.goto("/jobs")
    assert asked == ["beforeunload"]


def test_a_draft_survives_a_reload_and_a_login_and_can_be_dropped(form):
    write(form, COMMENTED)
    expect(form.locator("#draft-state")).to_have_text(re.compile(r"draft saved \d\d:\d\d$"))
    form.context.clear_cookies()
    form.goto("/submit")
    form.locator("[name=username]").fill("ann")
    form.locator("[name=password]").fill("correct horse")
    form.locator("main form button").first.click()
    form.wait_for_url("**/submit")
    expect(form.locator("#yaml")).to_have_value(COMMENTED)
    form.get_by_role("button", name="Drop the draft").click()
    assert yaml_of(form) == ""


def test_a_submitted_job_leaves_no_draft(site, form):
    write(form, PLAIN)
    form.locator("#commands pre").wait_for()
    form.get_by_label("YAML", exact=True).press("Control+Enter")
    form.wait_for_url("**/jobs/*")
    ready_again = form.goto("/submit")
    assert ready_again.ok and len(site.runner.jobs) == 1
    form.locator(".cm-content").wait_for()
    assert yaml_of(form) == ""


def test_a_link_that_holds_a_job_says_to_check_it_and_runs_nothing(site, open_page):
    page = open_page("ann")
    word = urlsafe_b64encode(zlib.compress(PLAIN.encode())).decode().rstrip("=")
    page.goto(f"/submit#yaml={word}")
    expect(page.locator("#notes")).to_contain_text("Check before running")
    assert yaml_of(page) == PLAIN and site.runner.jobs == {}
    expect(page.locator("#commands")).to_contain_text("echo 3 0.1 true a text")


def test_a_linked_job_comes_along_through_the_login(open_page):
    page = open_page()
    word = urlsafe_b64encode(zlib.compress(PLAIN.encode())).decode().rstrip("=")
    page.goto(f"/submit#yaml={word}")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#notes")).to_contain_text("Check before running")
    assert yaml_of(page) == PLAIN


def test_what_came_with_a_link_is_told_no_longer_when_another_text_takes_its_place(page):
    word = urlsafe_b64encode(zlib.compress(PLAIN.encode())).decode().rstrip("=")
    page.goto(f"/submit#yaml={word}")
    expect(page.locator("#notes")).to_contain_text("Check before running")
    page.locator("#file").set_input_files({
        "name": "job.yaml", "mimeType": "text/yaml",
        "buffer": PLAIN.replace("name: hello", "name: mine").encode()})
    expect(page.locator("#notes")).not_to_contain_text("Check before running")
    assert "name: mine" in yaml_of(page)


def test_what_is_made_of_a_linked_job_survives_a_reload_and_still_warns(page):
    word = urlsafe_b64encode(zlib.compress(PLAIN.encode())).decode().rstrip("=")
    page.goto(f"/submit#yaml={word}")
    page.get_by_label("epochs").fill("5")
    expect(page.locator("#draft-state")).to_contain_text("draft saved")
    page.reload()
    expect(page.locator("#notes")).to_contain_text("Check before running")
    assert "epochs: 5" in yaml_of(page)


def test_a_linked_job_does_not_take_the_place_of_ones_own_draft(form):
    write(form, COMMENTED)
    expect(form.locator("#draft-state")).to_contain_text("draft saved")
    word = urlsafe_b64encode(zlib.compress(PLAIN.encode())).decode().rstrip("=")
    form.goto(f"/submit#yaml={word}")  # in the same page: an address of its own would load anew
    expect(form.locator("#notes")).to_contain_text("Check before running")
    form.get_by_label("epochs").fill("5")
    expect(form.locator("#draft-state")).to_contain_text("draft saved")
    form.goto("/jobs")
    form.goto("/submit")
    expect(form.locator("#notes")).to_contain_text("was brought back")
    assert yaml_of(form) == COMMENTED
    expect(form.locator("#notes")).not_to_contain_text("Check before running")


@pytest.mark.parametrize("word", ["abc", urlsafe_b64encode(zlib.compress(
    b"#" * 1_000_000)).decode().rstrip("=")])
def test_a_link_that_is_cut_or_too_large_takes_nothing(page, word):
    page.goto(f"/submit#yaml={word}")
    expect(page.locator("#notes")).to_contain_text("nothing was taken from it")
    assert yaml_of(page) == ""


def test_the_shared_link_brings_the_same_text(form):
    write(form, COMMENTED)
    form.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    form.get_by_text("Share", exact=True).click()
    form.get_by_role("button", name="Copy a link").click()
    form.wait_for_function("() => window.copied")
    link = form.evaluate("window.copied")
    other = form.context.new_page()
    other.goto(link)
    expect(other.locator("#yaml")).to_have_value(COMMENTED)


def test_pressing_twice_is_one_job(site, form):
    write(form, PLAIN)
    form.get_by_role("button", name="Submit", exact=True).dblclick()
    form.wait_for_url("**/jobs/*")
    assert len(site.runner.jobs) == 1


def test_enter_in_a_field_checks_and_does_not_submit(site, page):
    opened(page, "/use/job/hello")
    page.get_by_label("epochs").press("Enter")
    page.wait_for_url("**/submit")
    assert site.runner.jobs == {}


def test_a_link_marks_what_it_set(page):
    opened(page, "/use/job/hello?param.epochs=9")
    assert page.get_by_label("epochs set by the link").input_value() == "9"
    assert page.get_by_label("lr").input_value() == "0.1"
    assert page.locator(".from-link-line").inner_text() == "  epochs: 9"


def test_only_parameters_changed_is_the_template_that_runs(site, page):
    opened(page, "/use/job/hello?param.epochs=9")
    page.get_by_label("lr").fill("0.5")
    page.get_by_label("Name of the job").fill("mine")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/*")
    (job,) = site.runner.jobs.values()
    assert job["spec"]["yaml"] == HELLO.replace("1.0.0\ncon", "1.1.0\ncon")
    assert job["spec"]["parameters"]["epochs"] == 9 and job["spec"]["parameters"]["lr"] == 0.5
    assert job["name"] == "mine" and "edited" not in job["spec"]["origin"]


def test_from_a_template_to_its_job_in_two_clicks(site, page):
    page.goto("/c/job/hello")
    page.locator("#use").click()
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/*")
    assert len(site.runner.jobs) == 1


def test_from_a_job_to_one_with_a_change_in_three_clicks(site, page):
    opened(page, "/use/job/hello")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/*")
    page.get_by_role("link", name=re.compile("again", re.IGNORECASE)).first.click()
    page.get_by_label("epochs").fill("8")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/000000000002")
    first, second = (job["spec"]["parameters"]["epochs"] for job in site.runner.jobs.values())
    assert (first, second) == (3, 8)


def test_two_thousand_lines_are_written_in_without_a_pause(form):
    lines = "\n".join(f"      - echo {number}" for number in range(950))
    long = PLAIN.replace("      - echo $$epochs$$ $$lr$$ $$shuffle$$ $$note$$", lines)
    long += "".join(f"# line {number}\n" for number in range(1030))
    write(form, long)
    expect(form.locator("#commands")).to_contain_text("echo 949")
    form.get_by_label("YAML", exact=True).press("Control+Home")
    form.keyboard.type("# x\n")
    expect(form.locator("#yaml")).to_have_value("# x\n" + long)


def test_without_a_script_the_page_still_runs_jobs(site, open_page):
    page = open_page("ann")
    page.context.storage_state()
    plain = traced(page.context.browser.new_context(
        base_url=site.url, java_script_enabled=False, storage_state=page.context.storage_state()))
    try:
        bare = plain.new_page()
        bare.goto("/use/job/hello")
        bare.get_by_label("epochs").fill("6")
        bare.get_by_role("button", name="Submit", exact=True).click()
        bare.wait_for_url("**/jobs/*")
    finally:
        plain.close()
    assert [job["spec"]["parameters"]["epochs"] for job in site.runner.jobs.values()] == [6]
