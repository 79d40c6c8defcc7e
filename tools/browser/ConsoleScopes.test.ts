// The console in Chromium for sessions with few scopes: what each page and each form says, and what the navigation has.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Console, call, firstId, pages, settled, signIn, textOf } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

const keyWith = async (running: Running, scopes: ReadonlyArray<string>): Promise<string> =>
  textOf((await call(running, "POST", "api-keys", { name: scopes.join(" "), scopes })).data, "key")

const scopes = [...new Set(pages.flatMap(([, , needed]) => needed))]

/** Pages with a form, and the scope without which the form can change nothing. */
const forms = [
  ["/console/new/relayer", "relayers:write"],
  ["/console/new/relayer?type=solana", "relayers:write"],
  ["/console/new/relayer?type=stellar", "relayers:write"],
  ["/console/new/network", "networks:write"],
  ["/console/new/network?type=stellar", "networks:write"],
  ["/console/new/signer", "signers:write"],
  ["/console/new/signer?type=vault_transit", "signers:write"],
  ["/console/new/webhook", "notifications:write"],
  ["/console/new/key", "api-keys:write"],
  ["/console/relayers/dev-evm/send", "transactions:write"],
  ["/console/relayers/dev-solana/send", "transactions:write"],
  ["/console/relayers/dev-stellar/send", "transactions:write"],
  ["/console/relayers/dev-evm/policies", "relayers:write"],
  ["/console/relayers/dev-evm/urls", "networks:write"],
  ["/console/relayers/dev-evm/urls?own", "relayers:write"],
  ["/console/networks/evm%3Adev", "networks:write"]
] as const

/** Scopes of a session that may read everything. */
const reading = [
  "relayers:read",
  "transactions:read",
  "notifications:read",
  "events:read",
  "networks:read",
  "signers:read",
  "api-keys:read",
  "audit:read"
]

/** What keyboards and screen readers meet in the page before the first field, if it has fields. */
const beforeFields = `(() => {
  const field = document.querySelector("main form :is(input, select, textarea)")
  const range = document.createRange()
  range.selectNodeContents(document.querySelector("main"))
  if (field !== null) range.setEndBefore(field)
  return range.toString()
})()`

/** Entries of the navigation that every session has. */
const always = ["Overview", "Sessions", "System"]

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("the console", (it) => {
  it.effect("names the missing scope on each page, and its navigation has only what the session may see", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        for (const scope of scopes) {
          const key = await keyWith(running, [scope])
          const { page, problems } = await signIn(running, {}, false, key)
          const entries = await page.locator("#navigation > a").allInnerTexts()
          const own = pages.filter(([route, , needed]) => needed[0] === scope && route.split("/").length === 3)
          assert.sameMembers(
            entries.map((entry) => entry.trim()),
            [...always, ...own.map(([, title]) => title)]
          )
          for (const [route, , needed] of pages) {
            await page.goto(running.baseUrl + route)
            await settled(page)
            const missing = needed.find((one) => one !== scope)
            const said = page.getByText(/session lacks the scope/)
            if (missing === undefined) assert.strictEqual(await said.count(), 0, `${route} with ${scope}`)
            else await page.getByText(`This session lacks the scope ${missing}.`).waitFor()
          }
          assert.deepStrictEqual(problems, [], scope)
          await page.context().close()
        }
      })
    })
  )

  it.effect("names the missing scope before the first field of each form, and nothing of it can be sent", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const sessions = [
          [await keyWith(running, reading), false, "can give it to the key of this session."],
          [running.key, true, "This session is read-only. Sign out"]
        ] as const
        for (const [key, isReadOnly, way] of sessions) {
          const { page, problems } = await signIn(running, {}, isReadOnly, key)
          for (const [route, scope] of forms) {
            const [place = "", own] = route.split("?own")
            await page.goto(running.baseUrl + place)
            await settled(page)
            if (own !== undefined) await page.getByRole("button", { name: /^Give/ }).click()
            await page.getByText(`This session lacks the scope ${scope}.`).waitFor()
            const read = String(await page.evaluate(beforeFields))
            assert.include(read, `This session lacks the scope ${scope}.`, route)
            assert.include(read, way, route)
            const sending = page.locator("main form button[type=submit]:not([aria-disabled=true])")
            assert.strictEqual(await sending.count(), 0, route)
          }
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        }
      })
    })
  )

  it.effect("shows a transaction completely to a key that may read transactions of one relayer, and nothing else", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const id = await firstId(running, "relayers/dev-evm/transactions")
        const body = { name: "support", scopes: ["transactions:read"], relayer_ids: ["dev-evm"] }
        const limited = await call(running, "POST", "api-keys", body)
        const { page, problems } = await signIn(running, {}, false, textOf(limited.data, "key"))
        for (const query of ["?relayer=dev-evm", ""]) {
          await page.goto(`${running.baseUrl}/console/transactions/${id}${query}`)
          await page.getByText("It was executed in block").first().waitFor()
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

  it.effect("says of each scope in a sentence what it allows, in the form and on the page of a key", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const key = await call(running, "POST", "api-keys", { name: "reader", scopes: ["events:read", "audit:*", "*"] })
        const { page, problems } = await signIn(running)
        const sentences = page.locator("label .mut, .scopes .mut").filter({ hasText: /^[A-Z].*\.$/ })
        await page.goto(`${running.baseUrl}/console/new/key`)
        await settled(page)
        const scopes = page.getByRole("group", { name: "scopes" })
        assert.isAbove(await scopes.getByRole("checkbox").count(), 20)
        assert.strictEqual(await sentences.count(), await scopes.getByRole("checkbox").count())
        await page.goto(`${running.baseUrl}/console/keys/${textOf(key.data, "id")}`)
        await page.getByText("All scopes of audit.").waitFor()
        assert.strictEqual(await sentences.count(), 3)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
