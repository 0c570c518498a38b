"""Take the pictures of the README from a demo of its own; the first of them in dark, too.

The demo gets some minutes of traffic first, in which its migrations run.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from embedded import chromium, demo  # noqa: E402
from embedded.demo_process import DemoProcess  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
SIZE = {"width": 1360, "height": 850}
THEMES = {"light": None, "dark": 1}  # how many of them


@dataclass(frozen=True, slots=True)
class Picture:
    name: str
    who: str
    path: str
    follow: tuple[str, ...] = ()  # texts of links to go on by
    height: int = SIZE["height"]


PICTURES = (
    Picture("overview", "admin", "/"),
    Picture("mig-node", "admin", "/nodes/demo/a100-mig-1/"),
    Picture("claims", "admin", "/claims/"),
    Picture("pattern", "admin", "/catalog/patterns/h100-cards/"),
    Picture("why", "admin", "/", follow=("Why is",), height=1250),
    Picture("migration", "admin", "/migrations/", follow=("ranker-to-claims",), height=1100),
    Picture(
        "report", "admin", "/migrations/", follow=("assistant-to-claims", "Report"), height=1100
    ),
    Picture("figures", "admin", "/observability/?range=15m", height=1100),
    Picture("deployment", "editor", "/t/chat/deployments/llama-8b/"),
)
type Wanted = Sequence[Picture]


def log_in(page: Page, url: str, who: str, password: str) -> None:
    page.goto(f"{url}/login/")
    page.fill("input[name=username]", who)
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_url(lambda address: "/login" not in address)


def go_to(page: Page, url: str, picture: Picture) -> None:
    answer = page.goto(url + picture.path)
    if answer is None or not answer.ok:
        raise SystemExit(f"{picture.path} answers {answer and answer.status} to {picture.who}")
    page.wait_for_load_state("networkidle")
    for text in picture.follow:
        page.locator("main a", has_text=text).first.click()
        page.wait_for_load_state("networkidle")


def take(browser: Browser, url: str, password: str, theme: str, pictures: Wanted) -> None:
    for who in dict.fromkeys(one.who for one in pictures):
        context = browser.new_context(viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
        page = context.new_page()
        log_in(page, url, who, password)
        for picture in pictures:
            if picture.who != who:
                continue
            page.set_viewport_size({"width": SIZE["width"], "height": picture.height})
            go_to(page, url, picture)
            page.wait_for_timeout(1500)  # charts are drawn
            page.locator(".htmx-request").first.wait_for(state="detached")  # it fades its rows
            file = FOLDER / f"{picture.name}-{theme}.png"
            page.screenshot(path=file)
            print(file.relative_to(ROOT))
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settle", type=int, default=330, help="seconds of traffic before")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="claimyard-pictures-") as folder:
        process = DemoProcess.on(Path(folder))
        try:
            url = process.url()
            password = process.until(r"platform admin +admin +(\S+)")[1]
            time.sleep(arguments.settle)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(**chromium.launch_options())
                for theme, count in THEMES.items():
                    take(browser, url, password, theme, PICTURES[:count])
                browser.close()
        finally:
            process.end()
            demo.reset(Path(folder))
            Path(folder).mkdir()


if __name__ == "__main__":
    main()
