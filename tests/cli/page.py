"""Reads a page of `ncclprof html` independently: its elements, its content policy, and the data for its script."""

import base64
import hashlib
import html.parser
import json
import math
import re

from tests.cli.support import trace

VOID = {"meta", "br", "input", "link", "img"}


class Element:
    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent = name, dict(attributes), parent
        self.children, self.texts = [], []

    @property
    def text(self):
        return "".join(part if isinstance(part, str) else part.text for part in self.texts)

    def every(self, name=None, **attributes):
        """This element and all elements below it with that name whose attributes contain these words."""
        if (name is None or self.name == name) and all(
                value in (self.attributes.get(key.rstrip("_")) or "").split() for key, value in attributes.items()):
            yield self
        for child in self.children:
            yield from child.every(name, **attributes)

    def first(self, name=None, **attributes):
        return next(self.every(name, **attributes), None)


class Parser(html.parser.HTMLParser):
    """Checks the nesting: elements that are not closed in order are an error."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("", {}, None)
        self.feed(text)
        self.close()
        assert self.at is self.root, f"{self.at.name} is not closed"

    def handle_starttag(self, name, attributes):
        element = Element(name, attributes, self.at)
        assert len(element.attributes) == len(attributes), f"an attribute of {name} comes twice"
        self.at.children.append(element)
        self.at.texts.append(element)
        if name not in VOID:
            self.at = element

    def handle_startendtag(self, name, attributes):
        self.handle_starttag(name, attributes)
        if name not in VOID:
            self.handle_endtag(name)

    def handle_endtag(self, name):
        assert self.at.name == name, f"</{name}> ends <{self.at.name}>"
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.texts.append(data)


class Page:
    def __init__(self, text):
        self.source = text
        self.root = Parser(text).root
        self.scripts = list(self.root.every("script"))
        self.data = json.loads(self.scripts[0].text)

    @property
    def policy(self):
        meta = next(one for one in self.root.every("meta") if "http-equiv" in one.attributes)
        return dict(part.strip().split(" ", 1) for part in meta.attributes["content"].split(";"))

    @staticmethod
    def digest(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    def section(self, name):
        """The section with that heading."""
        return next((one for one in self.root.every("section") if one.first("h2").text == name), None)

    def heat(self, run=0):
        """{(rank, step): {key: us}} of the heat map; None: unknown."""
        heat = self.data["runs"][run]["heat"]
        columns = math.ceil(heat["steps"] / heat["fold"])
        cells = {}
        for layer in heat["layers"]:
            values, packed = [], iter(base64.b64decode(layer["cells"], validate=True))
            for byte in packed:
                for _ in range(1 if byte else next(packed)):
                    above = values[-columns] if len(values) >= columns else 0
                    values.append((above + byte) % 256)
            assert len(values) == columns * len(heat["ranks"]), (len(values), columns, len(heat["ranks"]))
            for place, byte in enumerate(values):
                at = heat["ranks"][place // columns], heat["first"] + place % columns * heat["fold"]
                ratio = layer["most"] / layer["least"] if byte > 1 else 1
                cells.setdefault(at, {})[layer["key"]] = (
                    None if byte == 0 else 0 if byte == 1 else layer["least"] * ratio ** ((byte - 2) / 253))
        return cells

    def lanes(self, step, run=0):
        """{rank: [(begin us, length us, waiting us, text, tag, 0, 1 if it never finished, 2 if its end is unknown, mean
        wait of its slow network steps)]} of the picture of a step.
        """
        picture = next(one for one in self.data["runs"][run]["lanes"] if one["id"].endswith(f"-{step}"))
        found = {}
        for lane in picture["lanes"]:
            begin, bars = 0, lane["bars"]
            for at in range(0, len(bars), 7):
                begin += bars[at]
                name, tag = picture["texts"][bars[at + 3]], picture["texts"][bars[at + 4]] if bars[at + 4] >= 0 else None
                found.setdefault(lane["name"], []).append(
                    (begin / 10, bars[at + 1] / 10, bars[at + 2] / 10, name, tag, bars[at + 5], bars[at + 6] / 10))
        return found

    @staticmethod
    def dots(figure):
        """{step: (us, whether it stands out, peers' us)} of a chart."""
        found = {}
        for dot in figure.every("circle"):
            title = dot.first("title")
            if not title:
                continue
            step, mine, peers = re.fullmatch(r"step (\d+): ([\d.]+ \w+)(?:; .* ([\d.]+ \w+))?", title.text).groups()
            found[int(step)] = us_of(mine), "out" in dot.attributes["class"].split(), peers and us_of(peers)
        return found


def us_of(text):
    number, unit = text.split()
    return float(number) * {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[unit]


HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\\\" onmouseover=\\\"alert(1)", "'&amp;<!--",
           "</title></svg></style>", "\u202egnirts\u2066", "\u05d0\u05d1", "z" * 4000]


def hostile_job(case):
    """Two ranks that use unusual tags in each of six steps, in a folder whose name contains one as well."""
    for rank in range(2):
        marks = [(text, 1000.0 * (number + 1) - 500) for number, text in enumerate(6 * HOSTILE)]
        case.write(f"<b>job/dump_{rank}.json", trace(rank=rank, count=6 * len(HOSTILE), tags=marks))
    return "<b>job"
