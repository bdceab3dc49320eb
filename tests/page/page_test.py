#!/usr/bin/env python3
"""The page of a node in a real browser, over real nodes.

    page_test.py STARLING

Starts three nodes and a headless Chromium, waits until the page shows what the nodes say, uses it
by keyboard and pointer, pauses one node, kills another, and ends the node that it is of. Exit code 77, and a word, where there is no
Chromium; nothing installs one.
"""
import contextlib
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parent.parent)]
from browser import Browser, chromium  # noqa: E402
from nodes import program  # noqa: E402
from nodes.fleet import Fleet  # noqa: E402
from nodes.watch import SKIPPED, eventually  # noqa: E402

SMALL = ["--cluster.preset=local", "--data.source=digits", "--data.samples=300",
         "--model.kind=softmax", "--topology.kind=ring", "--eval.every=5", "--stop.rounds=1000000"]


def page_of(node):
    return node.url + "/"


def text(selector):
    return f"(document.querySelector('{selector}')?.textContent ?? '')"


def shows_what_nodes_say(browser):
    browser.wait_for(f"{text('#sentence')}.includes('train')")
    browser.wait_for(f"{text('#fleet')}.endsWith(' of 1000000 rounds')")
    browser.wait_for("document.querySelectorAll('#rows tr').length === 3")
    browser.wait_for("document.querySelectorAll('.chart:not([hidden]) canvas').length >= 3")
    browser.wait_for(f"/[0-9]/.test({text('.curve .value')})")
    browser.wait_for("document.querySelectorAll('#log li').length >= 5")
    browser.wait_for(f"{text('#details h3')}.startsWith('node-0')")
    links = browser.value("[...document.querySelectorAll('#rows a')].map((link) => link.href)")
    assert len(links) == 2 and all(link.startswith("http://127.0.0.1:") for link in links), links


# What the table shows of one node: [state, round, behind, age of the round, loss].
ROWS = """[...document.querySelectorAll('#rows tr')].map((row) =>
    Object.fromEntries(['name', 'state', 'round', 'behind', 'ago', 'loss'].map((key, k) =>
      [key, row.children[k].textContent.replace(',', '')])))"""


def numbers_are_of_one_moment(browser):
    """Rounds and how far they are behind this node, which waits for both, and the loss beside the panel's."""
    rows, loss = browser.value(f"[{ROWS}, [...document.querySelectorAll('#details dt')]"
                               ".find((term) => term.textContent === 'loss').nextSibling.textContent]")
    rounds = {row["name"]: int(row["round"]) for row in rows}
    for row in rows:
        assert int(row["behind"]) <= 2 and abs(rounds[row["name"]] - rounds["node-0"]) <= 2, rows
        assert (row["ago"] == "now") == (row["name"] == "node-0"), rows
    assert [row["loss"] for row in rows if row["name"] == "node-0"] == [loss], (rows, loss)


def is_heard_by_a_screen_reader(browser):
    unnamed = browser.value("[...document.querySelectorAll('canvas')]"
                            ".filter((one) => !one.ariaLabel || one.role !== 'img').length")
    assert unnamed == 0, f"{unnamed} canvases without a name"
    live = browser.value("document.querySelector('#spoken[role=status][aria-live=polite]')"
                         ".textContent")
    assert live == "3 nodes train", live


MARKS = "import('/page/charts.js').then(({ marks }) => [[59e-5, 189e-5], [0.5, 0.55], [1e-9, 1]]" \
        ".map(([min, max]) => marks(min, max)))"


def axes_have_enough_marks(browser):
    found = browser.value(MARKS)
    assert found[0] == [6e-4, 7e-4, 8e-4, 9e-4, 1e-3], found
    assert found[1] == [0.5, 0.51, 0.52, 0.53, 0.54, 0.55], found
    assert found[2] == [1e-9, 1e-7, 1e-5, 1e-3, 1e-1], found


def is_used_by_keyboard(browser):
    browser.value("document.getElementById('stage').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    browser.wait_for(f"{text('#details h3')} === 'node-1'")
    browser.wait_for(f"{text('#details dl')}.includes('round trip')")
    browser.press("Escape")
    browser.wait_for(f"{text('#details h3')}.startsWith('node-0')")


def answers_clicks(browser):
    browser.value("document.querySelector('#columns button').click()")
    browser.wait_for(f"{text('#rows td')} === 'node-2'")
    browser.value("document.querySelector('.curve').click()")
    browser.wait_for("!document.querySelector('.help').hidden")
    filtered = """(() => { const field = document.getElementById('filter');
        field.value = 'no event says this'; field.dispatchEvent(new Event('input')); })()"""
    browser.value(filtered)
    browser.wait_for("document.querySelectorAll('#log li').length === 0")
    browser.value("document.getElementById('theme').click()")
    browser.wait_for("document.documentElement.dataset.theme === 'light'")


def state_of(name):
    return f"""([...document.querySelectorAll('#rows tr')]
        .find((row) => row.children[0].textContent === '{name}')?.children[1].textContent)"""


def shows_pauses_and_deaths(browser, nodes):
    nodes[2].post("/v1/pause")
    browser.wait_for(f"{state_of('node-2')} === 'paused'")
    browser.wait_for(f"{text('#fleet')}.includes('1 paused')")
    browser.value("document.getElementById('stage').focus()")
    browser.press("ArrowLeft")
    browser.wait_for(f"{text('#details h3')} === 'node-2'")
    browser.wait_for(f"{text('#details dd')} === 'paused'")
    browser.wait_for("document.getElementById('stage').ariaLabel.startsWith('node-2: paused, loss ')")
    browser.press("Escape")
    nodes[2].post("/v1/resume")
    browser.wait_for(f"{state_of('node-2')} === 'training'")
    nodes[0].post("/v1/pause")
    browser.wait_for(f"{text('#state.is-paused')} === 'paused'")
    nodes[0].post("/v1/resume")
    browser.wait_for(f"{text('#state.is-training')} === 'training'")
    nodes[1].kill()
    eventually(lambda: nodes[0].members()["node-1"]["state"] == "dead", "node-1 is found dead")
    told = time.monotonic()
    browser.wait_for(f"{state_of('node-1')} === 'dead'")
    browser.wait_for(f"{text('#sentence')}.startsWith('1 of 3 nodes died ')")
    browser.wait_for(f"{text('#sentence')}.includes(' ago (node-1); ')")
    browser.wait_for(f"{text('#spoken')}.startsWith('1 of 3 nodes died (node-1)')")
    browser.wait_for("document.title.startsWith('1 died · node-0: ')")
    # The page asks for the members every two seconds.
    assert time.monotonic() - told < 10, "the page shows a dead node long after /v1/members does"


# The extremes of a point are four seconds older; what is no later than the one before replaces it.
FLEET_VALUES = """import('/page/fleet_series.js').then(({ fleetValues }) => {
    const points = [[9, 1], [16, 2], [20, 3], [20, 4]].map(([time_s, value]) =>
      ({ time_s, age_s: 4, loss: { mean: value, max: value } }));
    const of = (areExtremes, pick) => fleetValues(points, (point) => point.loss[pick], areExtremes)
      .map(({ time_s, value }) => [time_s, value]);
    return { mean: of(false, 'mean'), max: of(true, 'max') }; })"""


def draws_extremes_at_their_age(browser):
    found = browser.value(FLEET_VALUES)
    assert found["mean"] == [[9, 1], [16, 2], [20, 4]], found
    assert found["max"] == [[5, 1], [12, 2], [16, 4]], found


def draws_what_was_before_it_was_opened(browser, nodes):
    """The mean and the band of all nodes, and says what the band is."""
    known = nodes[0].get("/v1/convergence")["fleet"]
    assert known[0]["time_s"] < known[-1]["time_s"], known
    browser.wait_for(f"{text('.chart .curves')}.includes('smallest to largest')")
    browser.wait_for(f"{text('#splits h3')}.startsWith('In the last ')")


# Two rounds a millisecond apart, and a band whose mean rises between two of its answers.
CURVES = """import('/page/curves.js').then(({ shown, edge }) => ({
    rates: shown([[0, 0], [1, 100], [1.001, 200], [2, 300]]
      .map(([time_s, bytes]) => ({ time_s, bytes }))).map((point) => point.bytes_per_s),
    edge: edge([[0, 3], [10, 3]].map(([time_s, value]) => ({ time_s, value })),
               [[0, 2], [5, 9], [10, 2]].map(([time_s, value]) => ({ time_s, value })),
               [0, 5, 10, 11], false) }))"""


def draws_rates_and_bands_smoothly(browser):
    found = browser.value(CURVES)
    assert found["rates"] == [None, 100, 200 / 1.001, 200], found
    assert found["edge"] == [3, 10, 3, None], found


def has_the_theme_of_the_system_at_once(browser, node):
    browser.call("Page.addScriptToEvaluateOnNewDocument", source="""
        new MutationObserver(() => { window.isThemedInHead ??= document.body === null; })
          .observe(document, { subtree: true, attributeFilter: ['data-theme'] });""")
    for theme in ("light", "dark"):
        has_system(browser, theme)
        browser.visit(page_of(node))
        assert browser.value("document.documentElement.dataset.theme") == theme
        assert browser.value("window.isThemedInHead") is True
    has_system(browser, "light")
    browser.wait_for("document.documentElement.dataset.theme === 'light'")
    has_system(browser, "dark")
    browser.wait_for("document.documentElement.dataset.theme === 'dark'")


def has_system(browser, theme):
    browser.call("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": theme}])


def begins_with_round_zero(browser, node):
    asked = [url for url in browser.requests if "/v1/convergence" in url]
    assert asked[0] == page_of(node) + "v1/convergence", asked[0]
    browser.wait_for("""performance.getEntriesByType('resource')
        .some(({ name }) => name.includes('/v1/convergence?since='))""")
    kept = browser.value("""import('/page/series.js').then(({ Series }) => {
        const series = new Series();
        series.add([{ round: 0 }, { round: 1 }, { round: 1 }]);
        return series.points.map(({ round }) => round); })""")
    assert kept == [0, 1], kept


# Each poll waits a period after an answer before it asks again.
def asks_once_a_period(browser, node):
    browser.requests.clear()
    begun = time.monotonic()
    browser.wait_for(f"performance.now() > {browser.value('performance.now()')} + 4000")
    browser.value("0")
    elapsed_s = time.monotonic() - begun
    for path, period_s in (("status", 1), ("convergence", 1), ("members", 2), ("fleet", 2),
                           ("events", 2)):
        count = sum(url.startswith(page_of(node) + "v1/" + path) for url in browser.requests)
        assert 1 <= count <= elapsed_s / period_s + 1, (path, count, elapsed_s)


def fits_a_phone(browser):
    browser.resize(360, 740)
    browser.wait_for("innerWidth === 360 && document.documentElement.scrollWidth <= 360")
    tops = browser.value("['members', 'curves', 'graph']"
                         ".map((id) => document.getElementById(id).getBoundingClientRect().top)")
    assert tops == sorted(tops), f"sentence, nodes and then the curves: {tops}"


def asks_only_its_node(browser, node):
    foreign = [url for url in browser.requests
               if not url.startswith((page_of(node), "about:"))]
    assert not foreign, foreign
    # A node without a report on the fleet answers 404, which the browser notes.
    complaints = [one for one in browser.complaints if "/v1/fleet" not in one]
    assert not complaints, complaints


def says_when_its_node_is_silent(browser, node):
    node.kill()
    browser.wait_for(f"{text('#silence')}.startsWith('No answer from this node since')")


def main():
    browser_program = chromium()
    if not browser_program:
        print("skipped: there is no Chromium here")
        return SKIPPED
    program.use(sys.argv[1])
    with Fleet(range(3), SMALL) as fleet, contextlib.closing(Browser(browser_program)) as browser:
        nodes = fleet.nodes
        browser.resize(1280, 900)
        has_the_theme_of_the_system_at_once(browser, nodes[0])
        browser.requests.clear()
        browser.visit(page_of(nodes[0]))
        shows_what_nodes_say(browser)
        numbers_are_of_one_moment(browser)
        is_heard_by_a_screen_reader(browser)
        axes_have_enough_marks(browser)
        is_used_by_keyboard(browser)
        answers_clicks(browser)
        draws_extremes_at_their_age(browser)
        draws_what_was_before_it_was_opened(browser, nodes)
        draws_rates_and_bands_smoothly(browser)
        begins_with_round_zero(browser, nodes[0])
        shows_pauses_and_deaths(browser, nodes)
        fits_a_phone(browser)
        asks_only_its_node(browser, nodes[0])
        print(f"{len(browser.requests)} requests, all to the node")
        asks_once_a_period(browser, nodes[0])
        says_when_its_node_is_silent(browser, nodes[0])
        return 0


if __name__ == "__main__":
    sys.exit(main())
