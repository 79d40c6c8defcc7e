// The console in Chromium: the numbers of its pages, which come from the service, from checks and from the chain.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { call, cutTexts, fieldOf, keep, looksOf, settled, signIn, textOf, violations } from "./ConsoleInBrowser.ts"
import type { Look, Running } from "./ConsoleInBrowser.ts"
import { OwnService } from "./OwnService.ts"

const looks: ReadonlyArray<Look> = [
  { theme: "light", width: 1440 },
  { theme: "dark", width: 360 }
]

const receiver = "0x00000000000000000000000000000000000000aa"

const gwei = 1_000_000_000n

/** Milliseconds. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends a wei and waits until the transaction is final. */
const sent = async (running: Running, relayer: string, body: object = {}): Promise<unknown> => {
  const { data, error } = await call(running, "POST", `relayers/${relayer}/transactions`, {
    to: receiver,
    value: "1",
    ...body
  })
  const id = textOf(data, "id")
  assert.isNotEmpty(id, error)
  for (;;) {
    const { data: present } = await call(running, "GET", `relayers/${relayer}/transactions/${id}`)
    if (textOf(present, "status") === "confirmed") return present
    await pause(250)
  }
}

const region = (page: Page, name: string) => page.getByRole("region", { name, exact: true }).first()

/** The plot is drawn, and its table has the same numbers. Returns the cells of the table, row by row. */
const plotIn = async (page: Page, name: string): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const plot = page.locator("figure.plot").filter({ has: page.getByRole("img", { name, exact: true }) })
  await plot.locator("canvas").waitFor()
  const drawn = await plot.locator("canvas").evaluate((canvas: HTMLCanvasElement) =>
    canvas
      .getContext("2d")
      ?.getImageData(0, 0, canvas.width, canvas.height)
      .data.some((byte) => byte !== 0)
  )
  assert.strictEqual(drawn, true, `${name} is drawn`)
  await plot.getByText("Show as table").click()
  await plot.locator("tbody tr").first().waitFor()
  const rows = await plot.locator("tr").all()
  const cells = await Promise.all(rows.map((row) => row.locator("th, td").allInnerTexts()))
  await plot.getByText("Show as table").click()
  return cells
}

/** The page in both themes, on a screen and on a phone: in the long form in all of them. */
const seen = async (running: Running, route: string, ready: (page: Page) => Promise<unknown>) => {
  for (const look of looksOf(route, looks)) {
    const { page, problems, elsewhere } = await signIn(running, look)
    await page.goto(running.baseUrl + route)
    await settled(page)
    await ready(page)
    await keep(page, route, look)
    assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, route)
    assert.deepStrictEqual(
      [...(await cutTexts(page)), ...(await violations(page))],
      [],
      `${route}, ${look.theme}, ${look.width}`
    )
    assert.deepStrictEqual([...problems, ...elsewhere], [])
    await page.context().close()
  }
}

layer(OwnService.layer, { timeout: 240_000, excludeTestServices: true })("a page of the console", (it) => {
  it.effect("plots the fees that a transaction has offered, with base fee, cap and what was paid", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      yield* running.chain.call("anvil_setNextBlockBaseFeePerGas", [`0x${(40n * gwei).toString(16)}`])
      yield* Effect.promise(async () => {
        await call(running, "PATCH", "relayers/first", { policies: { gas_price_cap: (90n * gwei).toString() } })
        await sent(running, "first")
        const transaction = await sent(running, "first", { external_id: "with-plot" })
        // Two further blocks, so that the plot has at least three.
        await pause(3_000)
        const route = `/console/transactions/${textOf(transaction, "id")}?relayer=first`
        await seen(running, route, (page) => page.locator("figure.plot canvas").waitFor())

        const { page } = await signIn(running)
        await page.goto(running.baseUrl + route)
        const [head = [], ...rows] = await plotIn(page, "Fee offered and base fee")
        assert.deepStrictEqual(head, ["Block", "Base fee, gwei", "Offered, gwei", "gas_price_cap, gwei", "Paid, gwei"])
        assert.isAtLeast(rows.length, 3)
        const mined = rows.find(([, , , , paid]) => paid !== "–") ?? []
        assert.strictEqual(mined[0]?.replaceAll(",", ""), textOf(transaction, "block_number"))
        const paid = BigInt(textOf(transaction, "effective_gas_price"))
        assert.strictEqual(mined[4], `${paid / gwei}.${String(paid % gwei).padStart(9, "0")}`.replace(/\.?0+$/, ""))
        assert.strictEqual(mined[3], "90")
        assert.isTrue(rows.every(([, base]) => Number(base) > 0))
        await page.context().close()
        await call(running, "PATCH", "relayers/first", { policies: null })
      })
    })
  )

  it.effect("lists relayers by what needs attention, with balance, and the network says which provider fails", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { providers } = running
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/relayers`)
        await page.getByLabel("Sort").selectOption("attention")
        await page.waitForURL("**/console/relayers?sort=attention")
        const rows = page.locator("tbody tr")
        await rows.filter({ hasText: "Healthy" }).nth(2).waitFor()
        assert.match(await rows.first().innerText(), /\d…? ETH/)
        await providers.a.refuse()
        await rows.filter({ hasText: "Disabled" }).nth(1).waitFor()
        await rows.filter({ hasText: "Degraded" }).waitFor()
        assert.match((await rows.allInnerTexts()).join("|"), /Disabled.*\|.*Disabled.*\|.*Degraded/s)
        await page.getByLabel("State").selectOption("degraded")
        await rows.nth(1).waitFor({ state: "detached" })
        assert.include(await rows.first().innerText(), "The third")
        assert.include(page.url(), "state=degraded")
        await page.goBack()
        await rows.nth(2).waitFor()
        await seen(running, "/console/relayers?sort=attention", (shown) =>
          shown.locator("tbody tr").filter({ hasText: "Disabled" }).first().waitFor()
        )

        await page.goto(`${running.baseUrl}/console/networks/evm%3Aharbour`)
        const health = region(page, "Health of the providers")
        await health.getByText("2 of 2").waitFor()
        assert.include(await health.innerText(), providers.a.host)
        assert.notInclude(await health.innerText(), "secret")
        await seen(running, "/console/networks/evm%3Aharbour", (shown) => shown.getByText("2 of 2").waitFor())
        // The reason of the provider that fails is a sentence.
        await seen(running, "/console/relayers/third", (shown) => shown.locator("h1").getByText("Degraded").waitFor())
        await providers.a.accept()
        for (const id of ["first", "second", "third"]) await call(running, "POST", `relayers/${id}/check`)
        await health.getByText("Works").waitFor()
        await health.getByRole("button", { name: "Check now" }).click()
        await health.getByText(/^50 calls at once · final blocks · .* · anvil/).waitFor()
        await keep(page, "network-abilities", { theme: "light", width: 1440 })
        assert.deepStrictEqual(await violations(page), [])
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("shows how a receiver does: failures, what waits, and latency", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      yield* Effect.promise(async () => {
        const change = async () => {
          for (const paused of [true, false]) await call(running, "PATCH", "relayers/first", { paused })
        }
        await change()
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/webhooks`)
        const row = page.locator("tbody tr").filter({ hasText: "ops" }).first()
        await row.getByText("Accepts").waitFor()
        await page.goto(`${running.baseUrl}/console/webhooks/ops`)
        const numbers = region(page, "Deliveries, last hour")
        await numbers.getByText("Accepts").waitFor()
        const [head = []] = await plotIn(page, "Deliveries per minute")
        assert.deepStrictEqual(head, ["Time", "Delivered", "Failed", "Pending"])
        const latencies = await plotIn(page, "p95 from creation to acceptance")
        assert.isTrue(latencies.slice(1).some(([, p95]) => Number(p95) > 0))

        running.receiver.answer = () => ({ status: 503 })
        await change()
        await numbers.getByText("Fails").waitFor()
        await numbers.getByText("First one is given up").waitFor()
        await seen(running, "/console/webhooks/ops", (shown) => shown.getByText("First one is given up").waitFor())
        await seen(running, "/console/webhooks", (shown) => shown.getByText("Fails").first().waitFor())
        running.receiver.answer = () => undefined
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("draws a plot whose library could not be loaded at first", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        let refused = 0
        await page.route("**/uPlot*", (route) => (refused++ === 0 ? route.abort() : route.continue()))
        await page.goto(`${running.baseUrl}/console/`)
        await page.locator("figure.plot canvas").first().waitFor()
        assert.isAbove(refused, 1)
        await plotIn(page, "Final per minute")
        await page.unroute("**/uPlot*")
        // A week of checks takes a week, so that the browser gets this trend instead of the service's.
        const points = [3n, 2n, 1n].map((balance, day) => ({
          at: `2026-01-0${day + 1}T00:00:00.000Z`,
          balance: `${balance}`
        }))
        await page.route("**/balances", (route) =>
          route.fulfill({ json: { success: true, data: { unit: "wei", points } } })
        )
        await page.goto(`${running.baseUrl}/console/relayers/second`)
        const rows = await plotIn(page, "Balance")
        assert.strictEqual(rows.length, 1 + points.length)
        await keep(page, "relayer-with-balance", { theme: "light", width: 1440 })
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("changes nothing while the service cannot be reached, and everything again afterwards", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        const button = (name: string) => page.getByRole("button", { name, exact: true })
        await page.goto(`${running.baseUrl}/console/relayers/second/policies`)
        await page.locator("#field-min_balance").fill("0.5")
        await button("Save").and(page.locator(":enabled")).waitFor()
        await page.context().setOffline(true)
        await page.getByText("Nothing can be changed until the service answers.").waitFor()
        for (const name of ["Save", "Check now", "Pause", "Delete…"])
          assert.isTrue(await button(name).isDisabled(), name)
        await page.locator("#field-min_balance").press("Enter")
        assert.strictEqual(await page.locator("#field-min_balance").inputValue(), "0.5")
        await page.context().setOffline(false)
        await page.getByText("Nothing can be changed").waitFor({ state: "detached" })
        await button("Save").click()
        await page.locator(".review").waitFor({ state: "detached" })
        const { data } = await call(running, "GET", "relayers/second")
        assert.strictEqual(textOf(fieldOf(data, "policies"), "min_balance"), "500000000000000000")
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
