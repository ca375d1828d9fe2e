"""What axe finds on a page, rule by rule."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# WCAG 2.0 to 2.2, A and AA, and what axe's authors advise beyond.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

# Two thirds of axe's time, and no window changes a colour.
CONTRAST = "color-contrast"

RUN = """async ([tags, rules]) => {
  const { violations } = await axe.run({ runOnly: tags, rules, resultTypes: ["violations"] });
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${target} (${help})`));
}"""


def violations(page: Page, *, contrast: bool = True) -> list[str]:
    """Each element that breaks a rule, with the rule; the page's own policy stays in force.

    `contrast`: False leaves out the rule of contrast, for a page on which axe has judged it in another window.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(RUN, [TAGS, {CONTRAST: {"enabled": contrast}}])
    return found
