// At 3 a.m.: a provider of three relayers stops answering. What the console shows, and how an operator repairs it with a phone.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { call, fieldOf, signIn, textOf, until } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"
import { OwnService, checkInterval, relayers } from "./OwnService.ts"

const phone = { width: 390, height: 844 }

const receiver = "0x00000000000000000000000000000000000000aa"

/** Milliseconds between two transactions of a relayer: 20 a minute. */
const pace = 3_000

interface Accepted {
  readonly relayer: string
  readonly id: string
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends transactions of one wei through each relayer until `stop`. `accepted` has those that the service accepted. */
const startLoad = (running: Running) => {
  const accepted: Array<Accepted> = []
  const stopping = new AbortController()
  const loops = relayers.map(async (relayer) => {
    for (let number = 0; !stopping.signal.aborted; number += 1) {
      const body = { to: receiver, value: "1", external_id: `${relayer}-${number}` }
      const answer = await call(running, "POST", `relayers/${relayer}/transactions`, body).catch(() => undefined)
      if (answer !== undefined && answer.status < 300) accepted.push({ relayer, id: textOf(answer.data, "id") })
      await pause(pace)
    }
  })
  return {
    accepted,
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
    }
  }
}

const transaction = async (running: Running, { relayer, id }: Accepted) =>
  (await call(running, "GET", `relayers/${relayer}/transactions/${id}`)).data

const isFinal = (data: unknown) => ["confirmed", "failed", "canceled", "expired"].includes(textOf(data, "status"))

const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 }).waitFor()

/** Taps elements, and counts the taps. */
const fingers = (page: Page) => {
  let taps = 0
  const tap = async (name: string, role: "button" | "link" = "button") => {
    taps += 1
    await page.getByRole(role, { name, exact: true }).first().click()
  }
  return { tap, taps: () => taps }
}

const recordsOf = async (running: Running, action: string, id: string) => {
  const { data } = await call(running, "GET", `audit?action=${action}&resource_id=${encodeURIComponent(id)}`)
  return Array.isArray(data) ? data.length : 0
}

const endSession = (page: Page) =>
  page.evaluate(
    "fetch('/console/session', { method: 'DELETE', headers: { 'x-console': sessionStorage.getItem('effect-relayer.proof') } })"
  )

layer(OwnService.layer, { timeout: 240_000, excludeTestServices: true })("at 3 a.m.", (it) => {
  it.effect("an operator sees one item, repairs the URLs with few taps, and sees that it helped", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { providers, chain } = running
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, phone)
        const { tap, taps } = fingers(page)
        const load = startLoad(running)
        for (const relayer of relayers) {
          await until(async () => {
            const first = load.accepted.find((one) => one.relayer === relayer)
            return first !== undefined && isFinal(await transaction(running, first)) ? true : undefined
          })
        }
        await page.getByText("Nothing needs attention").waitFor()

        // 1. The provider of all three stops answering.
        const brokenAt = Date.now()
        await providers.a.refuse()
        const items = page.locator(".att")
        await items.filter({ hasText: "3 relayers, 2 disabled" }).waitFor()
        const shownAfter = Date.now() - brokenAt
        assert.strictEqual(await items.count(), 1)
        const item = await items.first().innerText()
        assert.include(item, providers.a.host)
        assert.notInclude(item, "secret")
        const third = await until(async () => {
          for (const one of load.accepted.filter(({ relayer }) => relayer === "third")) {
            if (textOf(await transaction(running, one), "code") === "second_provider_missing") return one
          }
          return undefined
        })
        const explained = (await call(running, "GET", `relayers/third/transactions/${third.id}/explain`)).data
        assert.include(JSON.stringify(explained), providers.a.host)
        assert.isNotEmpty(textOf(explained, "next_at"))
        await items
          .first()
          .getByText(/transactions? waits?\./)
          .waitFor()
        assert.strictEqual(await items.count(), 1)

        // A page that stays open on a transaction that waits.
        const waiting = await until(async () => {
          for (const one of load.accepted.filter(({ relayer }) => relayer !== "third").toReversed()) {
            if (!isFinal(await transaction(running, one))) return one
          }
          return undefined
        })
        const other = await page.context().newPage()
        await other.goto(`${running.baseUrl}/console/transactions/${waiting.id}?relayer=${waiting.relayer}`)
        const tail = await page.context().newPage()
        await tail.goto(`${running.baseUrl}/console/events?type=relayer.enabled`)

        // 2. From the item to the form, and to the first repair. The session ends in between.
        await tap("Change RPC URLs", "link")
        const field = page.locator("#field-rpc_urls")
        const shown = await field.inputValue()
        assert.include(shown, providers.a.host)
        assert.notInclude(shown, "secret")
        await field.fill(providers.c.url)
        await endSession(page)
        // The page notices it by itself, and asks for the key over the form.
        const dialog = page.getByRole("dialog")
        await dialog.locator("#key").fill(running.key)
        await dialog.getByRole("button", { name: "Sign in" }).click()
        await dialog.waitFor({ state: "detached" })
        assert.strictEqual(await field.inputValue(), providers.c.url)
        assert.strictEqual(await page.locator(".review tbody tr").count(), 1)
        await tap("Save")
        await page.locator(".review").waitFor({ state: "detached" })
        assert.isAtMost(taps() + 1, 6, "taps from the overview to the first repair, with one into the field")

        // 4. The service is killed and started again.
        await running.restart(async () => {
          await page.getByText("Not connected since").waitFor()
        })
        await page.getByText("Not connected since").waitFor({ state: "detached" })

        // The item names the third relayer only, and leads to its own URLs.
        await page.getByRole("button", { name: "Menu" }).click()
        await tap("Overview", "link")
        await heading(page, "Overview")
        await items.filter({ hasText: providers.a.host }).filter({ hasText: "1 relayer" }).waitFor()
        await page.locator(".att a", { hasText: "third" }).waitFor()
        await tap("Change RPC URLs", "link")
        const own = page.locator("#field-custom_rpc_urls")
        const lines = (await own.inputValue()).split("\n")
        assert.strictEqual(lines.length, 2)
        assert.include(lines[1] ?? "", providers.b.host)
        await own.fill([providers.c.url, lines[1]].join("\n"))
        await tap("Save")
        await page.locator(".review").waitFor({ state: "detached" })

        // 3. Each relayer becomes healthy, without a reload of the page.
        for (const relayer of relayers) {
          await page.goto(`${running.baseUrl}/console/relayers/${relayer}`)
          await tap("Check now")
          await page.locator("h1").getByText("Healthy").waitFor()
        }
        await other.locator("h1").getByText("Confirmed").waitFor()
        const enabled = tail.locator("tbody tr").filter({ hasText: "relayer.enabled" })
        await enabled.filter({ hasText: "first" }).waitFor()
        await enabled.filter({ hasText: "second" }).waitFor()
        await page.goto(`${running.baseUrl}/console/`)
        await page.getByText("Nothing needs attention").waitFor()

        // 5. Each patch once, each transaction once, and every accepted one is final.
        assert.strictEqual(await recordsOf(running, "network.updated", "evm:harbour"), 1)
        assert.strictEqual(await recordsOf(running, "relayer.updated", "third"), 1)
        await load.stop()
        for (const one of load.accepted) {
          const data = await until(async () => {
            const found = await transaction(running, one)
            return isFinal(found) ? found : undefined
          })
          assert.strictEqual(fieldOf(data, "status"), "confirmed")
        }
        const balance = await Effect.runPromise(chain.call("eth_getBalance", [receiver, "latest"]))
        assert.strictEqual(Number(balance), load.accepted.length)
        assert.isAtMost(shownAfter, 2 * checkInterval + 5_000)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
