// A list of 10,000 relayers in Chromium: how much of the processor the console takes to show and scroll it, page by page.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { CDPSession, Page } from "playwright-core"
import { Console, call, open, settled, signIn } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

/** Rows of the whole list, and of a page of the API. */
const rows = 10_000
const perPage = 100
const pages = rows / perPage

/** Steps of 800 pixels: 400 for the whole list, as in the comparison of stacks that CONSOLE.md has. */
const step = 800
const stepsOfPage = 4

/**
 * Processor time of the console for a page of 100 rows, as a multiple of that of a table without the console: the same texts, the same
 * browser, the same steps. Measured: docs/adr/0023-preact-for-the-console.md.
 */
const mostRatio = 12

/** Answers pages of a long list. Their rows are the first one of the service under other ids. */
const serveMany = async (running: Running, page: Page) => {
  const { data } = await call(running, "GET", "relayers?include=health&per_page=1")
  const row: object = Array.isArray(data) ? data[0] : assert.fail("no relayer")
  await page.route(
    ({ pathname, searchParams }) =>
      pathname === "/console/api/v1/relayers" && searchParams.get("per_page") === String(perPage),
    (route) => {
      const url = new URL(route.request().url())
      const number = Number(url.searchParams.get("cursor") ?? "0")
      const many = Array.from({ length: perPage }, (_, index) => {
        const position = number * perPage + index
        return { ...row, id: `relayer-${position}`, name: `Relayer ${position}` }
      })
      url.searchParams.set("cursor", String(number + 1))
      return route.fulfill({
        headers: number + 1 < pages ? { link: `<${url.pathname}${url.search}>; rel="next"` } : {},
        json: {
          success: true,
          data: many,
          pagination: { current_page: 1, per_page: perPage, total_items: rows }
        }
      })
    }
  )
}

/** Seconds of the processor that the thread of the page has spent. */
const processor = async (session: CDPSession) => {
  const { metrics } = await session.send("Performance.getMetrics")
  return metrics.find(({ name }) => name === "TaskDuration")?.value ?? assert.fail("no TaskDuration")
}

const measured = async (page: Page) => {
  const session = await page.context().newCDPSession(page)
  await session.send("Performance.enable", { timeDomain: "threadTicks" })
  return session
}

/** Milliseconds within which a page that is shown gets a frame, also on a busy machine. A page in the background gets none. */
const framePatience = 60_000

const scroll = async (page: Page) => {
  for (let count = 0; count < stepsOfPage; count += 1) {
    await page.evaluate(`new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("no frame, visibility: " + document.visibilityState)), ${framePatience})
      const end = () => { clearTimeout(late); resolve() }
      scrollBy(0, ${step})
      requestAnimationFrame(() => requestAnimationFrame(end))
    })`)
  }
}

const showBare = (texts: ReadonlyArray<ReadonlyArray<string>>) => `
  document.body.replaceChildren()
  const table = document.body.appendChild(document.createElement("table"))
  for (const texts of ${JSON.stringify(texts)}) {
    const row = table.insertRow()
    for (const text of texts) row.insertCell().textContent = text
  }`

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("a list of 10,000 relayers", (it) => {
  it.effect("is shown and scrolled in a few times the processor time of a bare table, 100 rows at a time", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await serveMany(running, page)
        await page.goto(`${running.baseUrl}/console/relayers`)
        await settled(page)
        await page.getByText("Relayer 99", { exact: true }).waitFor()
        const session = await measured(page)
        const before = await processor(session)
        for (let number = 1; number < pages; number += 1) {
          await page.getByRole("link", { name: "Next page" }).click()
          await page.getByText(`Relayer ${(number + 1) * perPage - 1}`, { exact: true }).waitFor()
          await scroll(page)
        }
        const spent = (await processor(session)) - before
        assert.strictEqual(await page.locator("tbody tr").count(), perPage)
        const cells = page.locator("tbody tr").first().locator("td")
        const texts = await cells.allInnerTexts()
        assert.deepStrictEqual(problems, [])
        await page.context().close()

        // A tab beside an open one may be in the background, where Chromium draws no frames.
        const { page: bare } = await open(running)
        const bareSession = await measured(bare)
        const bareBefore = await processor(bareSession)
        for (let number = 1; number < pages; number += 1) {
          await bare.evaluate(showBare(Array.from({ length: perPage }, () => texts)))
          await scroll(bare)
        }
        const bareSpent = (await processor(bareSession)) - bareBefore
        assert.isAtMost(spent / bareSpent, mostRatio)
        await bare.context().close()
      })
    })
  )
})
