// Walks the pages in Firefox, by WebDriver BiDi; prints what is wrong, a line each, and ends with 0.
// Its one argument is JSON: firefox, tools, profile, link, paths, widths, dark, patience_ms.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const given = JSON.parse(process.argv[2]);
const tools = createRequire(`${given.tools}/`);
const puppeteer = tools("puppeteer-core");
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf-8");
const base = new URL(given.link).origin;
const wrong = (what) => console.log(what);

const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: given.firefox,
  userDataDir: given.profile,
  timeout: given.patience_ms,
  protocolTimeout: given.patience_ms,
  extraPrefsFirefox: { "layout.css.prefers-color-scheme.content-override": given.dark ? 0 : 1 },
});
const page = await browser.newPage();
page.setDefaultTimeout(given.patience_ms);
page.on("console", (message) => wrong(`console: ${message.text()}`));
page.on("pageerror", (error) => wrong(`error: ${error.message}`));
const own = [base, "data:"];
page.on("request", (request) => own.some((each) => request.url().startsWith(each)) || wrong(`elsewhere: ${request.url()}`));

const see = (path) => page.goto(base + path, { waitUntil: "load" });
const count = (query) => page.$$eval(query, (found) => found.filter((each) => each.checkVisibility()).length);
const expect = async (what, is) => {
  const deadline = Date.now() + given.patience_ms;
  while (!(await is().catch(() => false))) {
    if (Date.now() > deadline) return wrong(`not so: ${what}`);
    await new Promise((go) => setTimeout(go, 50));
  }
};
const says = (query, words) => expect(`${query} says ${words}`, () => page.$eval(query, (x, words) => x.textContent.includes(words), words));
const rows = (number) => expect(`${number} rows are new`, async () => (await count("section[aria-labelledby=new] li[data-ref]")) === number);

await page.goto(given.link);
for (const path of given.paths) {
  await see(path);
  for (const width of given.widths) {
    await page.setViewport({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) wrong(`${path} at ${width}: wider than the window`);
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
    for (const each of found.violations) wrong(`${path} at ${width}: ${each.id}: ${each.nodes[0].html.slice(0, 200)}`);
  }
}

// Today and the box, by keys alone.
await see("/");
const news = await count("section[aria-labelledby=new] li[data-ref]");
await rows(news);
await page.keyboard.press("ArrowDown");
await page.keyboard.press("k");
await rows(news - 1);
await page.keyboard.press("u");
await rows(news);
await page.keyboard.press("x");
await rows(news - 1);
await says(".note", "in 10 s");
await page.keyboard.press("u");
await rows(news);
await page.keyboard.press("?");
await expect("the keys are shown", async () => (await count("dialog[open]")) === 1);
await page.keyboard.press("Escape");
await page.keyboard.press("n");
await page.keyboard.type("deployed part");
await expect("it is found as one types", async () => (await count("#found a.open")) > 0);
await page.keyboard.down("Control");
await page.keyboard.press("a");
await page.keyboard.up("Control");
await page.keyboard.type("/feeling the harbour is calm");
await expect("the chip is chosen", () => page.$eval("input[value=feeling]", (x) => x.checked));
await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
await says(".note", "Kept: the harbour is calm");
await expect("the box is empty", () => page.$eval("#box textarea", (x) => x.value === ""));
await Promise.all([page.waitForNavigation(), page.keyboard.press("u")]);
await says(".note", "Deleted");
await browser.close();
