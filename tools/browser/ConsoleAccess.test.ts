// The console in Chromium: keys of the keyboard, small windows, wrong clocks, and browsers without JavaScript.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HealthCode } from "../../src/domain/health/HealthExplanation.ts"
import { codesOf, states, types, wordsOf } from "../../testkit/console/SpokenCodes.ts"
import { pages } from "../../testkit/ConsoleWindow.ts"
import {
  Console,
  call,
  firstId,
  open,
  ownRelayer,
  settled,
  signIn,
  tabTo,
  tabToText,
  textOf,
  violations
} from "./ConsoleInBrowser.ts"

const longest = (codes: ReadonlyArray<string>) =>
  codes.toSorted((one, other) => other.length - one.length)[0] ?? assert.fail("no code")

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("the console", (it) => {
  it.effect("says the same of what is no id, of an unknown id, and of an id that only another key may see", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const id = await firstId(running, "relayers/dev-evm/transactions")
        const limited = await call(running, "POST", "api-keys", {
          name: "solana only",
          scopes: ["relayers:read", "transactions:read", "events:read"],
          relayer_ids: ["dev-solana"]
        })
        const { page, problems } = await signIn(running, {}, false, textOf(limited.data, "key"))
        const unknown = "00000000-0000-4000-8000-000000000000"
        for (const route of [
          "abc?relayer=dev-solana",
          "abc",
          `${unknown}?relayer=dev-solana`,
          unknown,
          `${id}?relayer=dev-evm`,
          id
        ]) {
          await page.goto(`${running.baseUrl}/console/transactions/${route}`)
          await page.locator(".failed b").first().waitFor()
          const said = (await page.locator(".failed > div").first().innerText()).split("\n")[0]
          assert.strictEqual(said, "Nothing here has this id, or this key may not see it", route)
          const more = await page.locator(".failed p:not(.mut)").count()
          assert.strictEqual(more, 0, route)
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("is used with the keyboard alone: to sign in, send, cancel and sign out", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await open(running)
        await page.goto(`${running.baseUrl}/console/`)
        await tabTo(page, "#key")
        await page.keyboard.type(running.key)
        await page.keyboard.press("Enter")
        await page.locator("#content h1").waitFor()
        await page.keyboard.type("gr")
        await page.getByRole("heading", { name: "Relayers", level: 1 }).waitFor()
        await page.getByRole("link", { name: "Development, evm" }).waitFor()
        await page.keyboard.press("j")
        assert.include(await page.evaluate("document.activeElement.getAttribute('href')"), "/console/relayers/dev-")
        await page.keyboard.type("/")
        await page.keyboard.type("dev-evm")
        await page.keyboard.press("Enter")
        // A relayer and its signer have this id.
        await tabToText(page, "link", "Development, evm")
        await page.keyboard.press("Enter")
        await page.waitForURL("**/console/relayers/dev-evm")
        await tabToText(page, "link", "Send")
        await page.keyboard.press("Enter")
        await tabTo(page, "#field-to")
        await page.keyboard.type("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
        await tabTo(page, "#field-value")
        await page.keyboard.type("0.001")
        await tabTo(page, "#field-external_id")
        await page.keyboard.type("by-keyboard?/")
        await tabToText(page, "button", "Review and send…")
        await page.keyboard.press("Enter")
        await tabToText(page, "button", "Send")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "by-keyboard?/" }).waitFor()
        await page.keyboard.press("?")
        const list = page.getByRole("dialog", { name: "Keys" })
        await list.waitFor()
        await tabTo(page, "dialog input[type=checkbox]")
        await page.keyboard.press("Space")
        await page.keyboard.press("Escape")
        await list.waitFor({ state: "detached" })
        await page.keyboard.type("gr")
        await page.keyboard.press("?")
        assert.strictEqual(await page.getByRole("dialog").count(), 0)
        assert.include(page.url(), "/console/transactions/")
        await tabToText(page, "button", "Sign out")
        await page.keyboard.press("Enter")
        await page.locator("#key").waitFor()
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("shows names with markup, writing from the right and many emoji as text, and all of a long one", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const relayer = await ownRelayer(running, "named")
        const { page, problems } = await signIn(running, { width: 360 })
        for (const name of ["<img src=x onerror=alert(1)>", "\u202Egnp.exe\u202C \u05D0\u05D1", "😀".repeat(256)]) {
          const changed = await call(running, "PATCH", `relayers/${relayer}`, { name })
          if (changed.status !== 200) assert.fail(`${name}: ${changed.error}`)
          for (const route of ["/console/relayers", `/console/relayers/${relayer}`, "/console/audit"]) {
            await page.goto(running.baseUrl + route)
            await settled(page)
            assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, route)
            assert.strictEqual(await page.locator("img").count(), 0)
          }
          await page.goto(`${running.baseUrl}/console/relayers`)
          const text = page.locator("tbody a bdi").filter({ hasText: name })
          await text.waitFor()
          const hidden = () => text.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)
          // Isolated: the writing of the name does not turn the order of what follows it.
          assert.strictEqual(await text.evaluate((bdi) => getComputedStyle(bdi).unicodeBidi), "isolate")
          assert.strictEqual(await hidden(), 0, name)
        }
        await call(running, "PATCH", `relayers/${relayer}`, { name: "Own, named" })
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("fits a window of 320 pixels, which is what a zoom of 400 % leaves of 1280", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, { width: 320, height: 256 })
        for (const [route] of pages) {
          await page.goto(`${running.baseUrl}/console/${route}`)
          await settled(page)
          assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, route)
        }
        await page.goto(`${running.baseUrl}/console/`)
        await settled(page)
        assert.deepStrictEqual(await violations(page), [])
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("counts ages by the clock of the service, and says that the clock of the browser is wrong by an hour", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page } = await open(running)
        // Half a minute more than an hour: a busy machine sets the clock a second or two after it has read this time.
        await page.clock.install({ time: Date.now() + 3_630_000 })
        await page.goto(`${running.baseUrl}/console/`)
        await page.locator("#key").fill(running.key)
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.locator("#content h1").waitFor()
        await page.goto(`${running.baseUrl}/console/signed-in`)
        await page.getByText("this session").waitFor()
        const used = await page.locator("tbody tr", { hasText: "this session" }).locator("time").first().innerText()
        assert.match(used, /^(\d+ s|[0-4] min)$/)
        await page.getByRole("link", { name: "System" }).click()
        await page.getByText("The clock of this browser is 1 h ahead of that of the service.").waitFor()
        await page.context().close()
      })
    })
  )

  it.effect("says in one sentence what it needs where there is no JavaScript, with the call of the same page", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const context = await running.browser.newContext({ javaScriptEnabled: false })
        const page = await context.newPage()
        for (const [route, path] of [
          ["relayers/dev-evm/policies", "relayers/dev-evm"],
          ["keys", "api-keys"],
          ["transactions/abc?relayer=dev-evm", "relayers/dev-evm/transactions/abc"],
          ["", "relayers"]
        ] as const) {
          await page.goto(`${running.baseUrl}/console/${route}`)
          const said = await page.locator("body").innerText()
          assert.include(said, "This page needs JavaScript.")
          const call = `curl -H "Authorization: Bearer $API_KEY" ${running.baseUrl}/api/v1/${path}`
          assert.strictEqual(await page.locator("noscript code").innerText(), call)
        }
        await context.close()
      })
    })
  )

  it.effect("shows a transaction completely to a key that may read transactions of one relayer, and nothing else", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const id = await firstId(running, "relayers/dev-evm/transactions?status=confirmed")
        const body = { name: "support", scopes: ["transactions:read"], relayer_ids: ["dev-evm"] }
        const limited = await call(running, "POST", "api-keys", body)
        const { page, problems } = await signIn(running, {}, false, textOf(limited.data, "key"))
        for (const query of ["?relayer=dev-evm", ""]) {
          await page.goto(`${running.baseUrl}/console/transactions/${id}${query}`)
          await page.getByText("The transaction was executed in block").first().waitFor()
          for (const name of ["Attempts", "Timeline", "Details"]) {
            await page.getByRole("region", { name, exact: true }).first().waitFor()
          }
          await settled(page)
          assert.strictEqual(await page.getByText("may not see this").count(), 0, query)
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("shows every tab of a relayer within the width of a phone", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page } = await signIn(running, { width: 360 })
        await page.goto(`${running.baseUrl}/console/relayers/dev-stellar`)
        const tabs = page.getByRole("navigation", { name: "Relayer" }).getByRole("link")
        await tabs.first().waitFor()
        assert.strictEqual(await tabs.count(), 7)
        for (const tab of await tabs.all()) {
          const box = await tab.boundingBox()
          assert.isAtMost((box?.x ?? 0) + (box?.width ?? 0), 360, await tab.innerText())
        }
        await page.context().close()
      })
    })
  )

  it.effect("fits a phone with every sentence about transactions and relayers, and with every code", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, { width: 360 })
        const sideways = () => page.evaluate("document.documentElement.scrollWidth - innerWidth")
        for (const type of types) {
          const all = codesOf(type).flatMap((code) => states.map((state) => wordsOf(type, code, state)))
          // Lines break between words, so that the page has room for each sentence if it has room for all of their words.
          const said = {
            reason: [...new Set(all.map(({ reason }) => reason))].join(" "),
            next: [...new Set(all.map(({ next }) => next))].join(" "),
            next_at: "2036-01-02T03:04:05.678Z",
            since: "2026-01-02T03:04:05.678Z"
          }
          const relayer = `dev-${type}`
          const id = await firstId(running, `relayers/${relayer}/transactions`)
          const code = longest(codesOf(type))
          await page.route(`**/relayers/${relayer}/transactions/${id}/explain`, (asked) =>
            asked.fulfill({ json: { success: true, data: { ...said, figures: {}, status: "submitted", code } } })
          )
          await page.goto(`${running.baseUrl}/console/transactions/${id}?relayer=${relayer}`)
          await page.locator(".say").getByText(code, { exact: true }).waitFor()
          await settled(page)
          assert.strictEqual(await sideways(), 0, type)
          const shown = { state: "disabled", code: longest(HealthCode.literals), paused: false, ...said }
          await page.route(`**/relayers/${relayer}/explain`, (asked) =>
            asked.fulfill({ json: { success: true, data: shown } })
          )
          await page.goto(`${running.baseUrl}/console/relayers/${relayer}`)
          await page.locator(".say").getByText(shown.code, { exact: true }).waitFor()
          await settled(page)
          assert.strictEqual(await sideways(), 0, relayer)
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
