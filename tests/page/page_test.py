#!/usr/bin/env python3
"""The page of a node in a real browser, over real nodes.

    page_test.py STARLING

Starts three nodes and a headless Chromium, waits until the page shows what the nodes say, uses it
by keyboard and pointer, and ends the node that it is of. Exit code 77, and a word, where there is no
Chromium; nothing installs one.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import Browser, chromium  # noqa: E402

SKIPPED = 77
SMALL = ["--cluster.preset=local", "--data.source=digits", "--data.samples=300",
         "--model.kind=softmax", "--topology.kind=ring", "--eval.every=5"]


class Node:
    def __init__(self, program, name, arguments):
        ready, tell = os.pipe()
        self.process = subprocess.Popen(
            [program, "run", f"--node.name={name}", "--listen.control=127.0.0.1:0",
             "--listen.bulk=127.0.0.1:0", "--listen.http=127.0.0.1:0",
             f"--ready-file=/dev/fd/{tell}", *SMALL, *arguments],
            pass_fds=[tell], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(tell)
        with os.fdopen(ready) as pipe:
            self.addresses = json.loads(pipe.readline())

    @property
    def page(self):
        return f"http://{self.addresses['http']}/"

    def kill(self):
        self.process.kill()
        self.process.wait()


def text(selector):
    return f"(document.querySelector('{selector}')?.textContent ?? '')"


def shows_what_nodes_say(browser):
    browser.wait_for(f"{text('#sentence')}.includes('train')")
    browser.wait_for("document.querySelectorAll('#rows tr').length === 3")
    browser.wait_for("document.querySelectorAll('.chart:not([hidden]) canvas').length >= 3")
    browser.wait_for(f"/[0-9]/.test({text('.curve .value')})")
    browser.wait_for("document.querySelectorAll('#log li').length >= 5")
    browser.wait_for(f"{text('#details h3')}.startsWith('node-0')")
    links = browser.value("[...document.querySelectorAll('#rows a')].map((link) => link.href)")
    assert len(links) == 2 and all(link.startswith("http://127.0.0.1:") for link in links), links


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


def fits_a_phone(browser):
    browser.resize(360, 740)
    browser.wait_for("innerWidth === 360 && document.documentElement.scrollWidth <= 360")


def asks_only_its_node(browser, node):
    foreign = [url for url in browser.requests
               if not url.startswith((node.page, "about:"))]
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
    nodes, browser = [], None
    try:
        nodes.append(Node(sys.argv[1], "node-0", []))
        join = f"--cluster.join={nodes[0].addresses['control']}"
        nodes += [Node(sys.argv[1], f"node-{k}", [join]) for k in (1, 2)]
        browser = Browser(browser_program)
        browser.resize(1280, 900)
        browser.visit(nodes[0].page)
        shows_what_nodes_say(browser)
        is_used_by_keyboard(browser)
        answers_clicks(browser)
        fits_a_phone(browser)
        asks_only_its_node(browser, nodes[0])
        says_when_its_node_is_silent(browser, nodes[0])
        print(f"{len(browser.requests)} requests, all to the node")
        return 0
    finally:
        if browser:
            browser.close()
        for node in nodes:
            node.kill()


if __name__ == "__main__":
    sys.exit(main())
