"""Holds a page of report/page.hpp against parsers that know nothing of it.

    python3 html_check.py PAGE [METRICS.jsonl]

The page is well-formed XML and HTML, refers to nothing outside itself, has no script, and (with
METRICS) its table of epochs holds the file's very numbers."""

import html.parser
import json
import re
import sys
import xml.etree.ElementTree as xml

VOID = {"meta", "img", "br", "link", "input"}


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another"


def main(page, metrics=None):
    text = open(page, encoding="utf-8").read()
    assert len(text) < 4_000_000, f"{len(text)} bytes"
    root = xml.fromstring(text.replace("<!DOCTYPE html>", "", 1))
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert not tags.open, f"not closed: {tags.open}"
    names = {tag for tag, _ in tags.seen}
    allowed = set(
        "html head meta title style body main header section h1 h2 h3 p div span b i data figure "
        "figcaption svg g line rect path polygon circle text table tr th td details summary dl dt "
        "dd article img image nav a pre".split()
    )
    assert names <= allowed, f"unexpected elements: {names - allowed}"
    for tag, attributes in tags.seen:
        for name, value in attributes.items():
            assert not name.startswith("on"), f"<{tag} {name}>"
            assert name not in ("action", "srcset", "xlink:href"), f"<{tag} {name}>"
            beside = tag == "a" and re.fullmatch(r"#?[\w.]+", value)  # a file of the same folder
            inside = tag == "image" and value.startswith("data:image/png;base64,")
            assert name != "href" or beside or inside, f"<{tag} href={value[:40]}>"
            assert name != "src" or value.startswith("data:image/"), f"<{tag} src={value[:40]}>"
    for tag, attributes in tags.seen:  # by keys, too
        scrolls = tag == "figure" or attributes.get("class") == "scroll"
        assert not scrolls or attributes.get("tabindex") == "0", f"<{tag}> scrolls, but not by keys"
    assert all(list(th) or th.text for th in root.iter("th")), "a header without a word"
    assert len(list(root.iter("main"))) == 1, "no main"
    style = "".join(root.find("head/style").itertext())
    assert not re.search(r"@import|url\(", style), "the style fetches something"
    policy = [a for t, a in tags.seen if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy and policy[0]["content"].startswith("default-src 'none'"), "no policy"
    if metrics:
        check_epochs(root, metrics)


def check_epochs(root, metrics):
    keys = ["train_loss", "train_accuracy", "val_loss", "val_accuracy",
            "test_loss", "test_accuracy", "lr", "grad_norm"]
    lines = [json.loads(line) for line in open(metrics)]
    epochs = [line for line in lines if line.get("kind", "epoch") == "epoch"]
    section = [s for s in root.iter("section") if s.find("h2").text == "Epochs"][0]
    rows = section.findall(".//tr")[1:]
    assert len(rows) == len(epochs), f"{len(rows)} rows of {len(epochs)} epochs"
    for row, epoch in zip(rows, epochs):
        shown = [float(d.get("value")) for d in row.iter("data")]
        expected = [epoch[k] for k in keys if epoch.get(k) is not None]
        assert shown == expected, f"{shown} is not {expected}"


main(*sys.argv[1:])
