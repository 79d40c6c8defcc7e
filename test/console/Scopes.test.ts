// The console for sessions with few scopes: what each page and each form says, and what the navigation has.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "../../src/domain/access/ApiKey.ts"
import { ConsoleWindow, pages, textOf } from "../../testkit/ConsoleWindow.ts"
import type { Shown } from "../../testkit/ConsoleWindow.ts"

const scopes = [...new Set(pages.flatMap(([, , needed]) => needed))]

/** Pages with a form, and the scope without which the form can change nothing. */
const forms = [
  ["new/relayer", "relayers:write"],
  ["new/relayer?type=solana", "relayers:write"],
  ["new/relayer?type=stellar", "relayers:write"],
  ["new/network", "networks:write"],
  ["new/network?type=stellar", "networks:write"],
  ["new/signer", "signers:write"],
  ["new/signer?type=vault_transit", "signers:write"],
  ["new/webhook", "notifications:write"],
  ["new/key", "api-keys:write"],
  ["relayers/dev-evm/send", "transactions:write"],
  ["relayers/dev-solana/send", "transactions:write"],
  ["relayers/dev-stellar/send", "transactions:write"],
  ["relayers/dev-evm/policies", "relayers:write"],
  ["relayers/dev-evm/delegation", "relayers:write"],
  ["relayers/dev-evm/urls", "networks:write"],
  ["relayers/dev-evm/urls?own", "relayers:write"],
  ["networks/evm%3Adev", "networks:write"]
] as const

/** Scopes of a session that may read everything. */
const reading: ReadonlyArray<Scope> = [
  "relayers:read",
  "transactions:read",
  "notifications:read",
  "events:read",
  "claims:read",
  "networks:read",
  "signers:read",
  "api-keys:read",
  "audit:read"
]

/** Entries of the navigation that every session has. */
const always = ["Overview", "Sessions", "System"]

/** What keyboards and screen readers meet in the page before the first field, if it has fields. */
const beforeFields = ({ document }: Shown) => {
  const main = document.querySelector("main") ?? assert.fail("no page")
  const copy = main.cloneNode(true)
  const field = copy.querySelector("form :is(input, select, textarea)")
  for (let at = field; at !== null && at !== copy; at = at.parentElement) {
    while (at.nextSibling !== null) at.parentNode?.removeChild(at.nextSibling)
  }
  field?.remove()
  return textOf(copy)
}

layer(ConsoleWindow.layer, { excludeTestServices: true })("the console", (it) => {
  it.effect("names the missing scope on each page, and its navigation has only what the session may see", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      for (const scope of scopes) {
        const shown = yield* open({ scopes: [scope] })
        yield* Effect.promise(async () => {
          await shown.until("the navigation", () => shown.document.querySelector("#navigation > a"))
          const own = pages.filter(([route, , needed]) => needed[0] === scope && !route.includes("/"))
          assert.sameMembers(shown.all("#navigation > a").map(textOf), [...always, ...own.map(([, title]) => title)])
          for (const [route, , needed] of pages) {
            await shown.goto(route)
            const missing = needed.find((one) => one !== scope)
            if (missing !== undefined) await shown.shows(`This session lacks the scope ${missing}.`, "b")
            else assert.notMatch(textOf(shown.document.body), /session lacks the scope/, `${route} with ${scope}`)
          }
          assert.deepStrictEqual(shown.problems, [], scope)
        })
      }
    })
  )

  it.effect("names the missing scope before the first field of each form, and nothing of it can be sent", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const sessions = [
        [{ scopes: reading }, "can give it to the key of this session."],
        [{ isReadOnly: true }, "This session is read-only. Sign out"]
      ] as const
      for (const [session, way] of sessions) {
        const shown = yield* open(session)
        yield* Effect.promise(async () => {
          for (const [route, scope] of forms) {
            const [place = "", own] = route.split("?own")
            await shown.goto(place)
            if (own !== undefined) {
              const give = () => shown.all("button").find((button) => textOf(button).startsWith("Give"))
              await shown.click(await shown.until("the own URLs", give))
            }
            await shown.shows(`This session lacks the scope ${scope}.`, "b")
            const read = beforeFields(shown)
            assert.include(read, `This session lacks the scope ${scope}.`, route)
            assert.include(read, way, route)
            assert.isEmpty(shown.all("main form button[type=submit]:not([aria-disabled=true])"), route)
          }
          assert.deepStrictEqual(shown.problems, [])
        })
      }
    })
  )

  it.effect("says of each scope in a sentence what it allows, in the form and on the page of a key", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const key = {
        id: "00000000-0000-4000-8000-000000000001",
        name: "reader",
        scopes: ["events:read", "audit:*", "*"],
        created_at: "2026-01-02T03:04:05.678Z"
      }
      const shown = yield* open({ answer: ({ path }) => (path === `/api/v1/api-keys/${key.id}` ? key : undefined) })
      yield* Effect.promise(async () => {
        const sentences = () =>
          shown.all("label .mut, .scopes .mut").filter((element) => /^[A-Z].*\.$/.test(textOf(element)))
        await shown.goto("new/key")
        const [scopes] = await shown.until("the scopes", () => {
          const found = shown.named("fieldset, [role=group]", "scopes")
          return found.length > 0 && found
        })
        const boxes = shown.all("input[type=checkbox]", scopes)
        assert.isAbove(boxes.length, 20)
        assert.strictEqual(sentences().length, boxes.length)
        await shown.goto(`keys/${key.id}`)
        await shown.shows("All scopes of audit.", ".mut")
        assert.strictEqual(sentences().length, 3)
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )
})
