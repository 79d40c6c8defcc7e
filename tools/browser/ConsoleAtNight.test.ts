// At 3 a.m.: a provider of three relayers stops answering. What the console shows, and how an operator repairs it with a phone.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { call, endSession, fieldOf, signIn, textOf, until } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"
import { isFinal, receiver, startLoad, transaction } from "./Load.ts"
import { OwnService, relayers } from "./OwnService.ts"
import type { Own } from "./OwnService.ts"

const phone = { width: 390, height: 844 }

/**
 * Milliseconds between two checks of a healthy relayer. A machine that is not busy shows an item after 48 seconds at the latest: 36 until the
 * next check, because intervals vary by a fifth, ten between the failed check and the one after it, and one each until the job finds them.
 */
const checkInterval = 30_000

/** Milliseconds from a fault to its item on the screen: two intervals and five seconds. */
const shownWithin = 2 * checkInterval + 5_000

const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 }).waitFor()

/** Taps elements, and counts the taps. */
const fingers = (page: Page) => {
  let taps = 0
  const tap = async (name: string, role: "button" | "link" = "button") => {
    taps += 1
    await page.getByRole(role, { name, exact: true }).first().click()
  }
  const type = async (selector: string, value: string) => {
    taps += 1
    await page.locator(selector).click()
    await page.locator(selector).fill(value)
  }
  return { tap, type, taps: () => taps }
}

const recordsOf = async (running: Running, action: string, id: string) => {
  const { data } = await call(running, "GET", `audit?action=${action}&resource_id=${encodeURIComponent(id)}`)
  return Array.isArray(data) ? data.length : 0
}

interface Patched {
  readonly path: string
  readonly ifMatch: string | undefined
  readonly body: object | null
}

/** The changes that a page sends, as they are on the wire. */
const patchesOf = (page: Page) => {
  const patches: Array<Patched> = []
  page.on("request", (request) => {
    if (request.method() !== "PATCH") return
    const path = decodeURIComponent(new URL(request.url()).pathname)
    patches.push({ path, ifMatch: request.headers()["if-match"], body: request.postDataJSON() })
  })
  return patches
}

const etagOf = async ({ baseUrl, key }: Running, route: string) => {
  const { headers } = await fetch(`${baseUrl}/api/v1/${route}`, { headers: { authorization: `Bearer ${key}` } })
  return headers.get("etag") ?? undefined
}

/** A page that was loaded again has no mark. */
const marked = (page: Page) => page.evaluate("window.isSamePage === true")

/** Reads the moment of the first age in an element. */
const sinceOf = async (item: Locator) => Date.parse((await item.locator("time").first().getAttribute("datetime")) ?? "")

const receiptOf = async (chain: Own["chain"], data: unknown) =>
  await Effect.runPromise(chain.call("eth_getTransactionReceipt", [textOf(data, "hash")]))

const mine = (chain: Own["chain"], everySeconds: number) =>
  Effect.runPromise(chain.call("evm_setIntervalMining", [everySeconds]))

const service = OwnService.layerCheckedEvery(checkInterval)

layer(service, { timeout: 240_000, excludeTestServices: true })("at 3 a.m.", (it) => {
  it.effect("an operator sees one item, repairs the URLs with few taps, and sees that it helped", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { providers, chain } = running
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, phone)
        const { tap, type, taps } = fingers(page)
        const patches = patchesOf(page)
        const load = startLoad(running)
        for (const relayer of relayers) {
          await until(async () => {
            const first = load.accepted.find((one) => one.relayer === relayer)
            return first !== undefined && isFinal(await transaction(running, first)) ? true : undefined
          })
        }
        await page.getByText("Nothing needs attention").waitFor()
        await page.evaluate("window.isSamePage = true")

        // 1. The provider of all three stops answering.
        const brokenAt = Date.now()
        await providers.a.refuse()
        const items = page.locator(".att")
        const ofAllThree = items.filter({ hasText: "3 relayers, 2 disabled, 1 degraded: first, second, third" })
        await ofAllThree.waitFor({ timeout: shownWithin })
        const shownAt = Date.now()
        assert.strictEqual(await items.count(), 1)
        const item = await items.first().innerText()
        assert.include(item, providers.a.host)
        assert.notInclude(item, "secret")
        const since = await sinceOf(items.first())
        assert.isAtLeast(since, brokenAt - 1_000)
        assert.isAtMost(since, shownAt + 1_000)
        await items
          .first()
          .getByText(/transactions? waits?\./)
          .waitFor()

        // The third relayer still sends. What it sends is mined, and waits for a second provider.
        const third = await until(async () => {
          for (const one of load.accepted.filter(({ relayer }) => relayer === "third")) {
            if (textOf(await transaction(running, one), "code") === "second_provider_missing") return one
          }
          return undefined
        })
        const data = await transaction(running, third)
        assert.strictEqual(textOf(data, "status"), "mined")
        assert.strictEqual(textOf(await receiptOf(chain, data), "status"), "0x1")
        const explained = (await call(running, "GET", `relayers/third/transactions/${third.id}/explain`)).data
        assert.include(textOf(explained, "reason"), providers.a.host)
        assert.isAbove(Date.parse(textOf(fieldOf(explained, "figures"), "decides_at")), Date.now())
        assert.strictEqual(textOf((await call(running, "GET", "relayers/third")).data, "system_disabled"), "false")
        assert.strictEqual(await items.count(), 1)

        // A page that stays open on a transaction that is not sent yet.
        const waiting = await until(async () => {
          for (const one of load.accepted.filter(({ relayer }) => relayer !== "third").toReversed()) {
            if (textOf(await transaction(running, one), "status") === "pending") return one
          }
          return undefined
        })
        const other = await page.context().newPage()
        await other.goto(`${running.baseUrl}/console/transactions/${waiting.id}?relayer=${waiting.relayer}`)
        await other.locator("h1").getByText("Pending").waitFor()
        await other.evaluate("window.isSamePage = true")
        const tail = await page.context().newPage()
        await tail.goto(`${running.baseUrl}/console/events?type=relayer.enabled`)

        // 2. From the item to the form, and to the first repair. The session ends in between.
        await tap("Change RPC URLs", "link")
        const field = page.locator("#field-rpc_urls")
        const shown = await field.inputValue()
        assert.isAtMost(taps(), 2, "taps from the item to the form")
        assert.include(shown, providers.a.host)
        assert.notInclude(shown, "secret")
        await type("#field-rpc_urls", providers.c.url)
        await endSession(page)
        // The page notices it by itself, and asks for the key over the form.
        const dialog = page.getByRole("dialog")
        await dialog.locator("#key").fill(running.key)
        await dialog.getByRole("button", { name: "Sign in" }).click()
        await dialog.waitFor({ state: "detached" })
        assert.strictEqual(await field.inputValue(), providers.c.url)
        assert.strictEqual(await page.locator(".review tbody tr").count(), 1)
        // Without blocks, what is sent stays `submitted`.
        await mine(chain, 0)
        const networkTag = await etagOf(running, "networks/evm:harbour")
        await tap("Save")
        await page.locator(".review").waitFor({ state: "detached" })
        assert.isAtMost(taps(), 6, "taps from the overview to the first repair")
        assert.deepStrictEqual(patches, [
          {
            path: "/console/api/v1/networks/evm:harbour",
            ifMatch: networkTag,
            body: { rpc_urls: [{ url: providers.c.url, weight: 100 }] }
          }
        ])
        await other.locator("h1").getByText("Submitted").waitFor()

        // 4. The service is killed and started again.
        await running.restart(async () => {
          await page.getByText(/Not connected since \d\d:\d\d:\d\d\./).waitFor()
        })
        await page.getByText("Not connected since").waitFor({ state: "detached" })
        await mine(chain, 1)

        // The item names the third relayer only, and leads to its own URLs.
        await tap("Menu")
        await tap("Overview", "link")
        await heading(page, "Overview")
        await items.filter({ hasText: providers.a.host }).filter({ hasText: "1 relayer, 1 degraded: third" }).waitFor()
        await tap("Change RPC URLs", "link")
        const own = page.locator("#field-custom_rpc_urls")
        const lines = (await own.inputValue()).split("\n")
        assert.strictEqual(lines.length, 2)
        assert.include(lines[1] ?? "", providers.b.host)
        assert.notInclude(lines.join(), "secret")
        await type("#field-custom_rpc_urls", [providers.c.url, lines[1]].join("\n"))
        const thirdTag = await etagOf(running, "relayers/third")
        await tap("Save")
        await page.locator(".review").waitFor({ state: "detached" })
        assert.strictEqual(patches.length, 2)
        const { body: ownPatch, ...ownHead } = patches[1] ?? assert.fail("no second patch")
        assert.deepStrictEqual(ownHead, { path: "/console/api/v1/relayers/third", ifMatch: thirdTag })
        assert.deepStrictEqual(Object.keys(ownPatch ?? {}), ["custom_rpc_urls"])
        // The masked URL stands for the one that the service has.
        assert.deepStrictEqual(new Set(providers.b.asked), new Set(["/?key=secret"]))

        // 3. Each relayer becomes healthy, without a reload of the page.
        for (const relayer of relayers) {
          await tap("Menu")
          await tap("Relayers", "link")
          await heading(page, "Relayers")
          await page.locator(`main a[href="/console/relayers/${relayer}"]`).click()
          await heading(page, `The ${relayer}`)
          const checked = page.waitForResponse((response) => response.url().endsWith(`/relayers/${relayer}/check`))
          await tap("Check now")
          assert.strictEqual((await checked).status(), 200)
          await page.locator("h1").getByText("Healthy").waitFor()
          await page.locator(".say.ok").waitFor()
        }
        await other.locator("h1").getByText("Confirmed").waitFor()
        const history = await other.locator(".tl b").allInnerTexts()
        assert.isBelow(history.indexOf("Submitted"), history.indexOf("Confirmed"))
        assert.include(history, "Submitted")
        const enabled = tail.locator("tbody tr").filter({ hasText: "relayer.enabled" })
        await enabled.filter({ hasText: "first" }).waitFor()
        await enabled.filter({ hasText: "second" }).waitFor()
        await tap("Menu")
        await tap("Overview", "link")
        await page.getByText("Nothing needs attention").waitFor()
        assert.isTrue(await marked(page), "the page was not loaded again")
        assert.isTrue(await marked(other), "the page of the transaction was not loaded again")

        // 5. Each patch once, each transaction once, and every accepted one is final.
        assert.strictEqual(await recordsOf(running, "network.updated", "evm:harbour"), 1)
        assert.strictEqual(await recordsOf(running, "relayer.updated", "third"), 1)
        assert.strictEqual(patches.length, 2)
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
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
