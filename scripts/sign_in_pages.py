"""Takes the pictures of the pages in the documentation, by `python -m scripts.sign_in_pages`.

Those of docs/sign-in-pages.md and of docs/account.md. Each page at 390 and 1280 pixels, light and
dark, and in Arabic, beside each other on one sheet.
Needs Chromium, Debian's package of that name.
"""

import shutil
from argparse import ArgumentParser
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, sync_playwright

from gateway.domain.realm import Localization, Realm
from gateway.http.pages.designs import MEDIA_TYPES, load_designs
from gateway.http.pages.renderer import PageFrame, PageRenderer
from gateway.http.pages.resources import Resources, ResourceUrls
from gateway.http.pages.theme_check import SAMPLES

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs/pictures"
LOCALES: Final = ("en", "de", "fr", "es", "ja", "ar")
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
)
_VARIANTS: Final = (("light", "en"), ("dark", "en"), ("light", "ar"))
_SIZES: Final = ((1280, 844), (390, 844))
_LEAVING: Final = {"form-post", "frontchannel-logout"}
"""Pages that would leave at once with their script."""
_CROPPED: Final = 680
"""Pixels around the middle of a wide page of a sign-in: the rest is empty."""
_CONSOLE: Final = "account-"
"""Before the names of the pages of the account console, which are as wide as the window."""
_DRAW: Final = """async ([pictures, scale, kind]) => {
  const images = await Promise.all(pictures.map((source) => new Promise((done) => {
    const image = new Image();
    image.onload = () => done(image);
    image.src = source;
  })));
  const gap = 12, canvas = document.createElement("canvas");
  const width = images.reduce((sum, image) => sum + image.width * scale + gap, -gap);
  canvas.width = Math.round(width);
  canvas.height = Math.round(images[0].height * scale);
  const drawing = canvas.getContext("2d");
  drawing.fillStyle = "#8a8f98";
  drawing.fillRect(0, 0, canvas.width, canvas.height);
  drawing.imageSmoothingQuality = "high";
  let left = 0;
  for (const image of images) {
    drawing.drawImage(image, left, 0, image.width * scale, image.height * scale);
    left += image.width * scale + gap;
  }
  return canvas.toDataURL("image/" + kind, 0.75);
}"""


def demo_realm(**attributes: str) -> Realm:
    """Return a realm that offers every language."""
    languages = Localization(enabled=True, supported_locales=LOCALES, default_locale="en")
    return Realm(
        "demo",
        "demo",
        display_name="Demo Company",
        localization=languages,
        attributes={"realmgate.contact": "it-help@example.com", **attributes},
    )


@dataclass(frozen=True, slots=True)
class PageServer:
    """Serves the samples with their headers, as `/<sample>?locale=<locale>`."""

    url: str
    _server: ThreadingHTTPServer

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def serve_samples(realm: Realm, themes: Path | None = None, theme: str = "") -> PageServer:
    """Start a server on a free port of this machine."""
    designs = load_designs(themes)
    renderer = PageRenderer(designs, ResourceUrls.below("", designs.version))
    resources = Resources.of(designs)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path.startswith("/resources/"):
                self._send_resource(parts.path.split("/", 3)[3])
                return
            view = SAMPLES.get(parts.path[1:])
            if view is None:
                self.send_error(404)
                return
            locale = parse_qs(parts.query).get("locale", ["en"])[0]
            frame = PageFrame(
                realm=realm,
                locale=locale,
                theme=theme,
                language_url=lambda tag: f"?locale={tag}",
                account_url="/realms/demo/account/",
            )
            reply = renderer.reply(view, frame)
            self._send(reply.body, [(n.decode(), v.decode("latin-1")) for n, v in reply.headers])

        def do_POST(self) -> None:
            self.send_error(404)

        def _send_resource(self, path: str) -> None:
            content = resources.find_file(path)
            if content is None:
                self.send_error(404)
                return
            self._send(content, [("content-type", MEDIA_TYPES[Path(path).suffix])])

        def _send(self, body: bytes, headers: list[tuple[str, str]]) -> None:
            self.send_response(200)
            for name, value in (*headers, ("content-length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=partial(server.serve_forever, 0.05), daemon=True).start()
    return PageServer(f"http://127.0.0.1:{server.server_address[1]}", server)


def chromium() -> str:
    """Return Debian's Chromium; raises SystemExit where there is none."""
    found = shutil.which("chromium")
    if found is None:
        raise SystemExit("Chromium is missing: apt-get install chromium")
    return found


def _shots(
    page: Page, url: str, name: str, variants: tuple[tuple[str, str], ...]
) -> Iterator[bytes]:
    for scheme, locale in variants:
        page.emulate_media(color_scheme=cast("Any", scheme), reduced_motion="reduce")
        for width, height in _SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{url}/{name}?locale={locale}")
            shown = width if name.startswith(_CONSOLE) else min(width, _CROPPED)
            clip = {"x": (width - shown) // 2, "y": 0, "width": shown, "height": height}
            yield page.screenshot(clip=cast("Any", clip))


def sheet(page: Page, shots: list[bytes], scale: float, kind: str) -> bytes:
    """Return PNG pictures beside each other, encoded by the browser of `page`."""
    pictures = [f"data:image/png;base64,{b64encode(shot).decode()}" for shot in shots]
    encoded: str = page.evaluate(_DRAW, [pictures, scale, kind])
    return b64decode(encoded.partition(",")[2])


def _place(folder: Path, name: str, kind: str) -> Path:
    place = folder / ("account" if name.startswith(_CONSOLE) else "sign-in") / f"{name}.{kind}"
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def main(
    folder: Path,
    scale: float,
    kind: str,
    names: list[str],
    variants: tuple[tuple[str, str], ...] = _VARIANTS,
) -> None:
    """Take the pictures of the samples with these names, of all without any."""
    server = serve_samples(demo_realm())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        plain = browser.new_page(java_script_enabled=False)
        scripted, drawing = browser.new_page(), browser.new_page()
        for name in names or SAMPLES:
            page = plain if name in _LEAVING else scripted
            shots = list(_shots(page, server.url, name, variants))
            _place(folder, name, kind).write_bytes(sheet(drawing, shots, scale, kind))
        browser.close()
    server.close()


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--scale", type=float, default=0.5)
    parser.add_argument("--kind", choices=("webp", "png"), default="webp")
    parser.add_argument("names", nargs="*", help="samples; all without any")
    parser.add_argument(
        "--variant",
        nargs=2,
        action="append",
        metavar=("SCHEME", "LOCALE"),
        help="light or dark, and a language; may be repeated",
    )
    arguments = parser.parse_args()
    chosen = tuple(map(tuple, arguments.variant or _VARIANTS))
    main(arguments.folder, arguments.scale, arguments.kind, arguments.names, chosen)
