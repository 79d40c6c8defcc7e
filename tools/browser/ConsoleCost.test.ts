// The console in Chromium: what open pages cost the service and the browser.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { Console, call, fieldOf, settled, signIn } from "./ConsoleInBrowser.ts"

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
})
