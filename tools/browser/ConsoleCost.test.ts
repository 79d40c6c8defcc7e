// The console in Chromium: what open pages cost the service and the browser.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { Console, call, fieldOf, settled, signIn, textOf } from "./ConsoleInBrowser.ts"

/** Requests a second of an open overview: CONSOLE.md, budget. Streams are counted by another test. */
const mostPerSecond = 0.4

/** Seconds that are counted. After a minute without input, the page asks less often. */
const counted = 55

/** An hour of events, second by second. */
const hour = 3_600
const eventsPerSecond = 50

/** Bytes of the heap after garbage collection. */
const mostHeap = 150_000_000

/** By how much the heap may move in the second half of the hour, as a share. Compiled code and caches of the browser move it. */
const noise = 0.05

const heapOf = async (page: Page) => {
  const session = await page.context().newCDPSession(page)
  await session.send("HeapProfiler.collectGarbage")
  const { usedSize } = await session.send("Runtime.getHeapUsage")
  await session.detach()
  return usedSize
}

/** Reads the seconds of processor time that scripts of the page have used since this call. */
const scriptTimeOf = async (page: Page) => {
  const session = await page.context().newCDPSession(page)
  await session.send("Performance.enable", { timeDomain: "threadTicks" })
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics")
    return metrics.find(({ name }) => name === "ScriptDuration")?.value ?? 0
  }
}

const pages = 100
const rowsPerPage = 100

/** Pixels of one step of the wheel. */
const step = 800

/**
 * Script time of the console for ten thousand rows, relative to making the same rows by calls of the DOM and nothing else. Measured: 6.
 * The rest is decoding by the contract, comparing with the rows before, and a clock for each age.
 */
const mostScriptTime = 12

/** Makes the rows that the page shows once for each page, by calls of the DOM. */
const copyRows = (page: Page) =>
  page.evaluate((count) => {
    const body = document.querySelector("main tbody")
    const make = (from: Node): Node => {
      if (!(from instanceof Element)) return document.createTextNode(from.textContent ?? "")
      const made = document.createElementNS(from.namespaceURI, from.localName)
      for (const { name, value } of from.attributes) made.setAttribute(name, value)
      for (const child of from.childNodes) made.appendChild(make(child))
      return made
    }
    const place = document.createElement("table")
    document.body.appendChild(place)
    for (let number = 0; number < count; number += 1) if (body !== null) place.replaceChildren(make(body))
    place.remove()
  }, pages)

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("the console", (it) => {
  it.effect("asks for at most 0.4 responses a second while an overview is open, also beside other tabs", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.context().newPage()
        const overview = await page.context().newPage()
        await overview.clock.install()
        await overview.goto(`${running.baseUrl}/console/`)
        await settled(overview)
        await overview.getByText("Nothing needs attention").waitFor()
        const asked: Array<string> = []
        overview.on("request", (request) => {
          const { pathname } = new URL(request.url())
          if (pathname !== "/console/api/v1/events") asked.push(pathname)
        })
        for (let second = 0; second < counted; second += 1) {
          await overview.clock.runFor(1_000)
          // A response that is on its way would keep the next request of its kind away.
          await overview.evaluate("fetch('/console/').then((response) => response.text())")
        }
        const own = asked.filter((pathname) => pathname.startsWith("/console/api/"))
        assert.isAtLeast(own.filter((pathname) => pathname.endsWith("/attention")).length, counted / 5 - 2)
        assert.isAtMost(own.length / counted, mostPerSecond, own.join("\n"))
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("keeps as much memory after an hour of 50 events a second as after half of it", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { data } = await call(running, "GET", "events?before=latest&limit=1")
        const [event] = Array.isArray(data) ? data : []
        const first = Number(fieldOf(event, "id")) + 1_000
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/events`)
        await settled(page)
        /** Gives the page the events of these seconds as another tab does that reads the stream, each second as soon as the page takes it. */
        const seconds = (from: number, to: number) =>
          page.evaluate(
            async ({ event, first, from, to, perSecond }) => {
              const channel = new BroadcastChannel("effect-relayer.events")
              for (let second = from; second < to; second += 1) {
                const texts = Array.from({ length: perSecond }, (_, index) =>
                  JSON.stringify({ ...event, id: first + second * perSecond + index })
                )
                channel.postMessage({ type: "events", texts })
                await new Promise((resolve) => setTimeout(resolve, 0))
              }
              channel.close()
            },
            { event: event as object, first, from, to, perSecond: eventsPerSecond }
          )
        const shown = page.locator("main tbody tr")
        /** The heap when the page shows the last event of the seconds before this one, so that none waits for the screen. */
        const heapAfter = async (second: number) => {
          await shown
            .first()
            .getByText(String(first + second * eventsPerSecond - 1))
            .waitFor()
          return heapOf(page)
        }
        await seconds(0, hour / 2)
        await page.locator("[role=status]").filter({ hasText: "are not shown here" }).waitFor()
        const half = await heapAfter(hour / 2)
        await seconds(hour / 2, hour)
        const whole = await heapAfter(hour)
        assert.isAtMost(whole, half * (1 + noise), `${half} bytes after half an hour, ${whole} after an hour`)
        assert.isAtMost(whole, mostHeap)
        assert.isAtMost(await shown.count(), 300)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("uses little script time for ten thousand rows that are scrolled through", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { data } = await call(running, "GET", "transactions?per_page=1")
        const [row] = Array.isArray(data) ? data : []
        assert.isNotEmpty(textOf(row, "id"))
        const { page, problems } = await signIn(running)
        // The rows of the service, each with another id, a page for each cursor.
        await page.route("**/console/api/v1/transactions?*", (route) => {
          const number = Number(new URL(route.request().url()).searchParams.get("cursor") ?? "0")
          const ids = Array.from({ length: rowsPerPage }, (_, index) => String(number * rowsPerPage + index))
          const rows = ids.map((id) => ({ ...row, id: `00000000-0000-4000-8000-${id.padStart(12, "0")}` }))
          const next = number + 1 < pages ? { link: `</api/v1/transactions?cursor=${number + 1}>; rel="next"` } : {}
          return route.fulfill({ json: { success: true, data: rows }, headers: next })
        })
        await page.goto(`${running.baseUrl}/console/transactions`)
        await settled(page)
        await page.evaluate(() => {
          const long: Array<number> = []
          Reflect.set(window, "long", long)
          new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration))).observe({
            type: "longtask"
          })
        })
        const scriptTime = await scriptTimeOf(page)
        const begun = await scriptTime()
        for (let number = 1; ; number += 1) {
          const last = page.locator("tbody tr").nth(rowsPerPage - 1)
          await last.locator(`a[href*="${String(number * rowsPerPage - 1).padStart(12, "0")}"]`).waitFor()
          const height = await page.evaluate(() => document.documentElement.scrollHeight)
          for (let at = 0; at < height; at += step) await page.mouse.wheel(0, step)
          if (number === pages) break
          await page.getByRole("link", { name: "Next page" }).click()
        }
        const used = (await scriptTime()) - begun
        const before = await scriptTime()
        await copyRows(page)
        const least = (await scriptTime()) - before
        assert.isAbove(least, 0)
        const long = await page.evaluate("window.long.slice()")
        if (process.env.CONSOLE_COST !== undefined) {
          process.stdout.write(`script time ${used} s, rows alone ${least} s, tasks over 50 ms: ${String(long)}\n`)
        }
        assert.isAtMost(used / least, mostScriptTime, `${used} s, ${least} s for the rows alone`)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
