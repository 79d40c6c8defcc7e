// Other nights of an operator: no funds, a receiver that fails, a base fee above the cap, a chain that stands still, and a dead RPC URL
// that stays beside a new one.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { webhookId } from "../../testkit/Receiver.ts"
import { call, fieldOf, signIn, textOf, until } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"
import { OwnService } from "./OwnService.ts"
import type { Own } from "./OwnService.ts"

const phone = { width: 390, height: 844 }

const receiver = "0x00000000000000000000000000000000000000bb"

const ether = 10n ** 18n
const gwei = 10n ** 9n

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

const send = async (running: Running, relayer: string, body: object = {}) => {
  const answer = await call(running, "POST", `relayers/${relayer}/transactions`, { to: receiver, value: "1", ...body })
  assert.isBelow(answer.status, 300, answer.error)
  return textOf(answer.data, "id")
}

const transaction = async (running: Running, relayer: string, id: string) =>
  (await call(running, "GET", `relayers/${relayer}/transactions/${id}`)).data

/** Waits until the transaction has the status. */
const isIn = (running: Running, relayer: string, id: string, status: string) =>
  until(async () => (textOf(await transaction(running, relayer, id), "status") === status ? true : undefined))

/** Waits until the transaction has the code, and gives its explanation. */
const explained = async (running: Running, relayer: string, id: string, code: string) => {
  await until(async () => (textOf(await transaction(running, relayer, id), "code") === code ? true : undefined))
  return (await call(running, "GET", `relayers/${relayer}/transactions/${id}/explain`)).data
}

/** Opens the page of a transaction in another tab, which stays open. */
const watch = async (page: Page, running: Running, relayer: string, id: string) => {
  const tab = await page.context().newPage()
  await tab.goto(`${running.baseUrl}/console/transactions/${id}?relayer=${relayer}`)
  return tab
}

/** The numbers of the newest block in the table of a plot of fees, in gwei. */
const newestFees = async (plot: Locator) => {
  const heads = await plot.locator("thead th").allInnerTexts()
  const cells = await plot.locator("tbody tr").last().locator("td, th").allInnerTexts()
  const under = (head: string) => Number(cells[heads.findIndex((one) => one.startsWith(head))])
  return { base: under("Base fee"), cap: under("gas_price_cap") }
}

/** Zero: no further blocks. */
const mine = (chain: Own["chain"], everySeconds: number) =>
  Effect.runPromise(chain.call("evm_setIntervalMining", [everySeconds]))

const isConfirmed = (page: Page) => page.locator("h1").getByText("Confirmed").waitFor()

const nothingLeft = (page: Page) => page.getByText("Nothing needs attention").waitFor()

layer(OwnService.layer, { timeout: 240_000, excludeTestServices: true })("an operator at night", (it) => {
  it.effect(
    "whose relayer runs out of funds reads address and amount on the first screen, and sends exactly that",
    () =>
      Effect.gen(function* () {
        const running = yield* OwnService
        const { chain } = running
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running, phone)
          await nothingLeft(page)
          const address = textOf((await call(running, "GET", "relayers/first")).data, "address")
          // More than the least balance, so that only the transaction lacks something.
          const rest = 1_000n
          await Effect.runPromise(chain.fund(address, rest))
          const id = await send(running, "first", { value: String(ether) })
          const tab = await watch(page, running, "first", id)
          const item = page.locator(".att").filter({ hasText: "insufficient_funds" })
          const fund = item.locator(".fund")
          await fund.getByText(address).waitFor()
          assert.isTrue(await fund.isVisible())
          const { bottom } = await fund.evaluate((element) => ({ bottom: element.getBoundingClientRect().bottom }))
          assert.isAtMost(bottom, phone.height, "the amount is on the first screen, without scrolling")
          const missing = BigInt((await fund.locator(".amount").getAttribute("data-exact")) ?? "0")
          assert.isTrue(missing > ether - rest, `${missing}`)
          await Effect.runPromise(chain.fund(address, rest + missing))
          await isConfirmed(tab)
          await Effect.runPromise(chain.fund(address, 100n * ether))
          await item.waitFor({ state: "detached" })
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
  )

  it.effect("whose receiver answers 503 sees what waits, and after the repair all deliveries arrive in order", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { receiver: hooks } = running
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, phone)
        hooks.answer = () => ({ status: 503, body: "<b>down</b>\u0007" })
        const before = hooks.seen.length
        for (const paused of [true, false, true, false]) await call(running, "PATCH", "relayers/second", { paused })
        await until(async () => (hooks.seen.length > before ? true : undefined))
        await page.goto(`${running.baseUrl}/console/webhooks/ops?state=pending`)
        // The answer is text: no markup, and control characters as escapes.
        const first = page.getByText("503").first()
        await first.waitFor()
        await page.getByText("<b>down</b>\\u0007").first().waitFor()
        await page.getByText("waits for an earlier one").first().waitFor()
        const waiting = await call(running, "GET", "notifications/ops/deliveries?state=pending")
        const ids = (Array.isArray(waiting.data) ? waiting.data : [])
          .filter((delivery) => textOf(delivery, "relayer_id") === "second")
          .map((delivery) => textOf(delivery, "id"))
          .toReversed()
        assert.isAtLeast(ids.length, 4)
        hooks.answer = () => undefined
        const repairedAt = hooks.seen.length
        await until(async () => {
          const { data } = await call(running, "GET", "notifications/ops/deliveries?state=pending")
          return Array.isArray(data) && data.length === 0 ? true : undefined
        })
        const accepted = hooks.seen.slice(repairedAt).map(webhookId)
        assert.deepStrictEqual(
          accepted.filter((one) => ids.includes(one)),
          ids
        )
        await page.getByText("503").first().waitFor({ state: "detached" })
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("who raises the cap of the gas price above the base fee sees the transactions go out", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { chain } = running
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, phone)
        await call(running, "PATCH", "relayers/second", { policies: { gas_price_cap: Number(5n * gwei) } })
        const falling = new AbortController()
        // Empty blocks lower the base fee by an eighth each.
        const high = (async () => {
          while (!falling.signal.aborted) {
            await Effect.runPromise(chain.call("anvil_setNextBlockBaseFeePerGas", [`0x${(100n * gwei).toString(16)}`]))
            await new Promise((resolve) => setTimeout(resolve, 250))
          }
        })()
        await until(async () => {
          const block = await Effect.runPromise(chain.call("eth_getBlockByNumber", ["latest", false]))
          return BigInt(textOf(block, "baseFeePerGas")) > 50n * gwei ? true : undefined
        })
        const ids = [await send(running, "second"), await send(running, "second")]
        const [id = ""] = ids
        const why = await explained(running, "second", id, "gas_price_above_cap")
        assert.include(textOf(why, "reason"), String(5n * gwei))
        const tab = await watch(page, running, "second", id)
        await tab.getByText("gas_price_above_cap").first().waitFor()
        const plot = tab.getByRole("region", { name: "Fee offered and base fee" })
        await plot.locator("canvas").waitFor()
        await plot.getByText("Show as table").click()
        assert.deepStrictEqual(await newestFees(plot), { base: 100, cap: 5 })
        await page.goto(`${running.baseUrl}/console/relayers/second/policies`)
        await page.locator("#field-gas_price_cap").fill("1000")
        await page.locator(".review tbody tr").waitFor()
        await button(page, "Save").click()
        await page.locator(".review").waitFor({ state: "detached" })
        await isConfirmed(tab)
        for (const one of ids) await isIn(running, "second", one, "confirmed")
        falling.abort()
        await high
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("who speeds up a transaction gets prices that the service takes", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { chain } = running
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, phone)
        await mine(chain, 0)
        const fees = { max_fee_per_gas: String(200n * gwei), max_priority_fee_per_gas: String(2n * gwei) }
        const id = await send(running, "first", fees)
        await isIn(running, "first", id, "submitted")
        await page.goto(`${running.baseUrl}/console/transactions/${id}?relayer=first`)
        await button(page, "Speed up").click()
        const dialog = page.getByRole("dialog")
        await dialog.getByRole("button", { name: "Speed up" }).click()
        await dialog.waitFor({ state: "detached" })
        // More than a tenth above the former price.
        const raised = String(220n * gwei + 1n)
        const priceOf = async () => textOf(await transaction(running, "first", id), "max_fee_per_gas")
        await until(async () => ((await priceOf()) === raised ? true : undefined))
        await mine(chain, 1)
        await isIn(running, "first", id, "confirmed")
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect(
    "who cancels with a double click while no block comes sends one request, and finds no cancel to send again",
    () =>
      Effect.gen(function* () {
        const running = yield* OwnService
        const { chain } = running
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running, phone)
          const cancels: Array<string> = []
          page.on("request", (request) => {
            if (request.method() === "DELETE") cancels.push(request.url())
          })
          // Without blocks, the transaction stays open, also after its cancel.
          await mine(chain, 0)
          const id = await send(running, "first")
          // One without a nonce would be final at once.
          await isIn(running, "first", id, "submitted")
          await page.goto(`${running.baseUrl}/console/transactions/${id}?relayer=first`)
          await button(page, "Cancel…").click()
          // Both clicks come before the button is drawn as busy.
          await page
            .getByRole("dialog")
            .getByRole("button", { name: "Cancel transaction" })
            .evaluate((button: HTMLElement) => [button.click(), button.click()])
          await page.getByRole("dialog").waitFor({ state: "detached" })
          const canceled = page.getByRole("button", { name: /^Cancel….*It is being canceled\.$/ })
          await canceled.waitFor()
          // Back, and to the transaction again: there is nothing left to ask for.
          await page.goBack()
          await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
          await page.goForward()
          await canceled.dispatchEvent("click")
          assert.strictEqual(await page.getByRole("dialog").count(), 0)
          await mine(chain, 1)
          await isIn(running, "first", id, "canceled")
          await page.getByRole("button", { name: /^Cancel….*It is final\.$/ }).waitFor()
          assert.strictEqual(cancels.length, 1)
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
  )

  it.effect("who adds an RPC URL beside the dead one reads when one provider decides alone, and it does", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { providers } = running
      yield* Effect.promise(async () => {
        await call(running, "PATCH", "networks/evm:harbour", { finality_by_one: "1m" })
        const { page, problems } = await signIn(running, phone)
        await providers.a.refuse()
        await page.locator(".att").filter({ hasText: "2 disabled" }).waitFor()
        await page.getByRole("link", { name: "Change RPC URLs", exact: true }).first().click()
        const field = page.locator("#field-rpc_urls")
        const shown = await field.inputValue()
        assert.include(shown, providers.a.host)
        await field.fill([shown, providers.c.url].join("\n"))
        const normal = page.getByRole("region", { name: "RPC URLs of the network" })
        await normal.getByRole("button", { name: "Save", exact: true }).click()
        await page.locator(".review").waitFor({ state: "detached" })
        // The next check by itself is up to a minute away.
        const check = async (result: string) => {
          for (const relayer of ["first", "second"]) {
            await page.goto(`${running.baseUrl}/console/relayers/${relayer}`)
            await button(page, "Check now").click()
            await page.locator("h1").getByText(result).waitFor()
          }
        }
        await check("Degraded")
        const id = await send(running, "first")
        const why = await explained(running, "first", id, "second_provider_missing")
        assert.include(JSON.stringify(why), providers.a.host)
        const decidesAt = Date.parse(textOf(why, "next_at"))
        assert.isAtMost(decidesAt - Date.now(), 61_000)
        assert.include(["mined", "submitted"], textOf(await transaction(running, "first", id), "status"))
        const tab = await watch(page, running, "first", id)
        await tab.getByText(providers.a.host).first().waitFor()
        await tab.locator("h1").getByText("Confirmed").waitFor({ timeout: 150_000 })
        assert.isAtLeast(Date.now(), decidesAt - 1_000)
        await tab.getByText("by one provider").waitFor()
        assert.strictEqual(fieldOf(await transaction(running, "first", id), "confirmed_by"), 1)
        await providers.a.accept()
        await check("Healthy")
        await page.goto(`${running.baseUrl}/console/`)
        await nothingLeft(page)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
