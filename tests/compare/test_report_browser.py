"""The page of a report as a person meets it, in headless Chromium: it loads, filters, and runs nothing foreign."""

from __future__ import annotations

import base64
import shutil
import struct

import pytest
from made_runs import meta, record, records, write_run

from react_text.compare.report import write_report
from react_text.compare.report_data import read_runs

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium and chromedriver: apt-get install chromium chromium-driver"
)
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
ARMS = ("text", "text+grammar", "structured", "auto")
HOSTILE = "Thought: x\nFinal Answer: </script><script>document.title='owned'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in OPTIONS.split():
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The report of two joined runs, one reply of which is hostile."""
    folder = tmp_path_factory.mktemp("runs")
    hostile = record("made-1", "text", "hostile", text=HOSTILE, question=HOSTILE, category="hostile")
    one = write_run(folder / "one", [*records(["made-1", "made-2"], ARMS, 12), hostile], meta(["made-1"], ARMS))
    two = write_run(folder / "two", list(records(["made-1"], ARMS, 6)), meta(["made-1"], ARMS, "bfcl:simple"))
    write_report(read_runs([one, two]), folder)
    return (folder / "report.html").as_uri()


@pytest.fixture
def opened(browser, address):
    """The page at a desk's width in light; afterwards nothing may stand in the console."""
    show(browser, address)
    yield browser
    assert browser.get_log("browser") == []


def show(browser, address, width=1200, scheme="light"):
    browser.get("about:blank")
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get(address)


def all_of(browser, selector):
    return browser.find_elements("css selector", selector)


def the(browser, selector):
    """The element; an output that was opened is filled a moment later."""
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, 10).until(lambda page: page.find_element("css selector", selector))


def shown(browser):
    """How many outputs the filters leave, as the page says."""
    return int(the(browser, "#count").text.split()[0])


def choose(browser, name, value):
    from selenium.webdriver.support.select import Select

    Select(the(browser, f"#filters [name={name}]")).select_by_value(value)


def background(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_the_page_opens_with_its_headline_figures_and_outputs(opened):
    assert "solved" in the(opened, "h1").text
    assert all_of(opened, ".view:not([hidden]) .rows .chart rect")
    assert shown(opened) == 2 * 4 * 12 + 1 + 4 * 6
    assert len(all_of(opened, ".output")) == 40
    the(opened, "#further").click()
    assert len(all_of(opened, ".output")) == 80


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [("model", "made-2", "made-2"), ("arm", "structured", "structured"), ("category", "enum", "enum")],
)
def test_a_filter_leaves_only_what_fits_it(opened, name, value, word):
    before = shown(opened)
    choose(opened, name, value)
    assert 0 < shown(opened) < before
    assert all(word in meta.text for meta in all_of(opened, ".output .meta"))
    the(opened, "#filters [type=reset]").click()
    opened.execute_async_script("setTimeout(arguments[0], 20)")
    assert shown(opened) == before


def test_the_outcome_filter_tells_unreadable_outputs_from_solved_ones(opened):
    choose(opened, "outcome", "failed")
    assert all_of(opened, ".output.failed")
    assert not all_of(opened, ".output:not(.failed)")
    choose(opened, "outcome", "strict")
    assert not all_of(opened, ".output:not(.strict)")


def test_a_repair_in_the_figures_leads_to_its_outputs_and_each_is_marked_before_and_after(opened):
    name = the(opened, ".view:not([hidden]) [data-filter=repair][data-value=single_quotes]")
    opened.execute_script("arguments[0].closest('details')?.setAttribute('open', '')", name)
    name.click()
    assert shown(opened) > 0
    assert "repair=single_quotes" in opened.current_url
    for summary in all_of(opened, ".output summary")[:1]:
        summary.click()
    assert the(opened, ".output[open] .raw mark").text
    changes = [item.text for item in all_of(opened, ".output[open] .mended li")]
    assert any("single_quotes" in change and "→" in change for change in changes), changes
    assert all_of(opened, ".output[open] .raw [class*=label]")


def test_the_filters_are_kept_in_the_address(browser, address):
    show(browser, f"{address}#outputs?arm=auto&outcome=wrong")
    assert the(browser, "#filters [name=arm]").get_attribute("value") == "auto"
    assert not all_of(browser, ".output:not(.wrong)")
    assert 0 < shown(browser) < 40


def test_search_finds_words_of_a_reply(opened):
    the(opened, "#filters [name=search]").send_keys("onerror owned")
    assert shown(opened) == 1
    the(opened, "#filters [name=search]").send_keys(" nowhere-to-be-found")
    assert "No output fits" in the(opened, "#list").text


def test_what_a_model_wrote_is_shown_as_text_and_never_run(opened):
    choose(opened, "category", "hostile")
    the(opened, ".output summary").click()
    assert the(opened, ".output .raw").text.replace("\n", "") == HOSTILE.replace("\n", "")
    assert "owned" not in opened.title
    assert not all_of(opened, "#outputs img, #outputs script")


def test_the_keyboard_reaches_search_and_walks_the_outputs(opened):
    from selenium.webdriver import ActionChains, Keys

    ActionChains(opened).send_keys("/").perform()
    assert opened.switch_to.active_element.get_attribute("name") == "search"
    ActionChains(opened).send_keys("task", Keys.ESCAPE, "jj").perform()
    assert opened.switch_to.active_element == all_of(opened, ".output summary")[1]
    ActionChains(opened).send_keys(Keys.ENTER).perform()
    assert len(all_of(opened, ".output[open]")) == 1


def test_another_task_set_shows_its_own_figures(opened):
    from selenium.webdriver.support.select import Select

    suite = Select(the(opened, "#suite"))
    assert [option.text for option in suite.options] == ["all task sets", "builtin (test)", "bfcl:simple (test)"]
    suite.select_by_visible_text("bfcl:simple (test)")
    assert "bfcl:simple (test)" in the(opened, ".view:not([hidden])").text
    assert "of 6" in the(opened, ".view:not([hidden]) .rows .n:not(:empty)").text


def test_light_and_dark_follow_the_reader_and_the_button(browser, address):
    show(browser, address)
    light = background(browser)
    show(browser, address, scheme="dark")
    dark = background(browser)
    assert light != dark
    the(browser, "#theme").click()
    assert background(browser) == light


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_no_width_makes_the_page_scroll_sideways(browser, address, width):
    show(browser, address, width=width)
    for summary in all_of(browser, ".output summary")[:2]:
        browser.execute_script("arguments[0].click()", summary)
    inner, outer = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert inner <= outer


WORDS = "h1, h2, h3, p, small, b, dt, dd, td, th, li, a, button, .raw span, .tag, .n"
CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const paint = (...colours) => {
  canvas.clearRect(0, 0, 1, 1);
  for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const grounds = (node) => (node ? [...grounds(node.parentElement), getComputedStyle(node).backgroundColor] : ["white"]);
const light = (rgb) => {
  const linear = rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
return [...document.querySelectorAll(arguments[0])]
  .filter((node) => node.checkVisibility() && node.textContent.trim())
  .filter((node) => !node.closest(".k-ignored, .k-observation, .k-role"))
  .map((node) => {
    const under = grounds(node);
    const [a, b] = [light(paint(...under, getComputedStyle(node).color)), light(paint(...under))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.outerHTML.slice(0, 120)];
  })
  .sort((one, two) => one[0] - two[0])[0];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, address, scheme):
    """WCAG contrast of at least 4.5, measured on the colours that the browser computed."""
    show(browser, address, scheme=scheme)
    browser.execute_script("document.querySelectorAll('.output summary').forEach((one, at) => at < 5 && one.click())")
    worst, where = browser.execute_script(CONTRASTS, WORDS)
    assert worst >= 4.5, where


def test_every_control_and_chart_list_has_a_name_for_a_screen_reader(opened):
    unnamed = opened.execute_script(
        """
        return [...document.querySelectorAll("button, select, input, a")].filter((node) => node.checkVisibility())
          .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length))
          .map((node) => node.outerHTML);
        """
    )
    assert unnamed == []
    assert not all_of(opened, "svg.chart:not([aria-hidden=true])")


def test_a_screenshot_shows_a_page_of_several_colours(opened, tmp_path):
    picture = base64.b64decode(opened.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
    (tmp_path / "report.png").write_bytes(picture)
    assert struct.unpack(">II", picture[16:24]) == (1200, 800)
    assert len(picture) > 20_000
