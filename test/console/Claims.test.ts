// The console: what keeps a thing from being done twice or by others: claims of names, cancels of what is unsigned, what was mined, and
// lists of allowed calls. The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ConsoleWindow, Whole, fieldOf, objectOf, textOf, transactionIds } from "../../testkit/ConsoleWindow.ts"
import type { Shown } from "../../testkit/ConsoleWindow.ts"

const refused = (status: number, error: string) =>
  new Whole({ success: false, data: null, message: error, error }, status)

const factsOf = (shown: Shown, name: string) =>
  shown.all("dt", shown.region(name)).map((term) => `${textOf(term)}: ${textOf(term.nextElementSibling)}`)

const press = async (shown: Shown, name: string) =>
  shown.click(shown.named("main form button[type=submit]", name)[0] ?? assert.fail(name))

const transactionPath = `/api/v1/relayers/dev-evm/transactions/${transactionIds.evm}`

const transactionRoute = `transactions/${transactionIds.evm}?relayer=dev-evm`

layer(ConsoleWindow.layer, { excludeTestServices: true })("the console", (it) => {
  it.effect("shows who holds a name, until when, whether the claim is final, and that nobody holds it", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const claimed_at = "2026-01-02T03:04:05.678Z"
      const claims: Readonly<Record<string, object>> = {
        "x402%3Aown": { by: "5b8aa5a2", final: false, ends_at: "2036-01-02T03:04:05.678Z" },
        others: { final: false, ends_at: "2036-01-02T03:04:05.678Z" },
        done: { by: "5b8aa5a2", final: true, ends_at: "2036-02-01T03:04:05.678Z" }
      }
      const shown = yield* open({
        answer: ({ path }) => {
          const [, name] = /^\/api\/v1\/claims\/(.+)$/.exec(path) ?? []
          if (name === undefined) return undefined
          const claim = claims[name]
          return claim === undefined
            ? refused(404, "Claim not found")
            : { name: decodeURIComponent(name), claimed_at, ...claim }
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("claims")
        await shown.shows(/^Enter the name of a claim\./, ".empty p")
        const [field = assert.fail("no field")] = shown.named("main input", "Name")
        await shown.enter(field, " x402:own ")
        await press(shown, "Show")
        await shown.until("the address of the claim", () => shown.route() === "claims/x402%3Aown")
        await shown.until("the claim", () => factsOf(shown, "Claim").length === 5)
        const own = factsOf(shown, "Claim")
        assert.strictEqual(own[1], "State: Lease")
        assert.match(own[2] ?? "", /^Holder: 5b8aa5a2/)
        assert.match(own[4] ?? "", /^Lease ends: .* in \d/)
        assert.isEmpty(shown.named("main a", "Audit record"), "a lease is not recorded")
        await shown.goto("claims/others")
        await shown.shows("claimed with another API key, which alone sees its holder", "dd")
        await shown.goto("claims/done")
        await shown.shows("Final", "dd .tag")
        assert.match(factsOf(shown, "Claim")[4] ?? "", /^Kept until: /)
        const [record] = shown.named("main a", "Audit record")
        assert.strictEqual(record?.getAttribute("href"), "/console/audit?action=claim.finalized&resource_id=done")
        assert.isEmpty(shown.all("main .do button, main .act button"), "nobody but its holder can end a claim")

        await shown.goto("claims/free")
        await shown.shows("Nobody holds free: it was never claimed, was released, or its lease has ended.", "p")
        assert.isEmpty(shown.all(".failed"))
        await shown.goto("claims/..%20x")
        await shown.shows(/^name: .*1 to 128 letters/, ".failed bdi")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("cancels only what is unsigned, if asked for it, and says so if it was signed meanwhile", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const transaction = objectOf(recorded(transactionPath))
      let status = "pending"
      const signedMeanwhile = "was signed, or may have been"
      const shown = yield* open({
        answer: ({ method, path }) => {
          if (path !== transactionPath) return undefined
          return method === "DELETE" ? refused(409, signedMeanwhile) : { ...transaction, status, attempts: [] }
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto(transactionRoute)
        await shown.click(await shown.until("the button", () => shown.named("button", "Cancel if unsigned…")[0]))
        const dialog = await shown.until("a question", () => shown.document.querySelector("dialog[open]"))
        await shown.click(shown.named("button", "Cancel transaction", dialog)[0] ?? assert.fail("no button"))
        await shown.shows(signedMeanwhile, "dialog .failed bdi")
        assert.deepStrictEqual(
          shown.asked.map(({ method, path, query }) => [method, path, query.toString()]),
          [["DELETE", transactionPath, "only_pending=true"]]
        )
        status = "submitted"
        await shown.goto("transactions")
        await shown.goto(transactionRoute)
        await shown.shows("Submitted", "h1 .tag")
        assert.isEmpty(shown.named("button", "Cancel if unsigned…"))
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("offers to give up, and not to send again, what is in a block with an unknown effect", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const transaction = objectOf(recorded(transactionPath))
      const shownAs = { code: "nonce_taken_unproven" }
      const shown = yield* open({
        answer: ({ path }) => (path === transactionPath ? { ...transaction, status: "mined", ...shownAs } : undefined)
      })
      const given = () => shown.until("the answer", () => shown.named("button", "Give up")[0])
      yield* Effect.promise(async () => {
        await shown.goto(transactionRoute)
        await given()
        assert.lengthOf(shown.named("button", "Send again"), 1)
        shownAs.code = "effect_unproven"
        await shown.goto("relayers")
        await shown.goto(transactionRoute)
        await given()
        await shown.until("no second answer", () => shown.named("button", "Send again").length === 0)
      })
    })
  )

  it.effect("says whether the call of a transaction was mined, or a no-op with its nonce", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const transaction = objectOf(recorded(transactionPath))
      for (const [mined_as, words] of [
        ["call", "Mined: the call"],
        ["noop", "Mined: a no-op, and not the call"]
      ] as const) {
        const shown = yield* open({
          answer: ({ path }) => (path === transactionPath ? { ...transaction, mined_as } : undefined)
        })
        yield* Effect.promise(async () => {
          await shown.goto(transactionRoute)
          await shown.until(words, () => factsOf(shown, "Details").includes(words))
          assert.deepStrictEqual(shown.problems, [])
        })
      }
    })
  )

  it.effect(
    "sends the allowed calls that are entered for a key, and those that are added to a policy, one per line",
    () =>
      Effect.gen(function* () {
        const { open, recorded } = yield* ConsoleWindow
        const token = `0x${"5a".repeat(20)}`
        const calls = [`${token}:0xe3ee160e`, `${token}:0xcf092995`]
        const relayer = objectOf(recorded("/api/v1/relayers/dev-evm"))
        const id = "00000000-0000-4000-8000-000000000001"
        const shown = yield* open({
          answer: ({ method, path }) => {
            if (method === "PATCH") return relayer
            if (method !== "POST" || path !== "/api/v1/api-keys") return undefined
            return { id, name: "facilitator", scopes: ["*"], created_at: "2026-01-02T03:04:05.678Z", key: "er_secret" }
          }
        })
        yield* Effect.promise(async () => {
          const fill = async (name: string, value: string) =>
            shown.enter(await shown.until(name, () => shown.document.querySelector(`[id="field-${name}"]`)), value)
          await shown.goto("new/key")
          await fill("name", "facilitator")
          const [box = assert.fail("no scope")] = shown.all("label:has(code) input")
          await shown.click(box)
          await fill("transaction_limits.selectors", `${calls[0]}\n${calls[1]}\n`)
          await press(shown, "Create")
          await shown.until("the new key", () => shown.asked.length === 1)
          assert.deepStrictEqual(fieldOf(fieldOf(shown.asked[0]?.body, "transaction_limits"), "selectors"), calls)

          await shown.goto("relayers/dev-evm/policies")
          await fill("whitelist_selectors", calls.join("\n"))
          await press(shown, "Save")
          await shown.until("the patch", () => shown.asked.length === 2)
          assert.deepStrictEqual(fieldOf(fieldOf(shown.asked[1]?.body, "policies"), "whitelist_selectors"), calls)
          assert.deepStrictEqual(shown.problems, [])
        })
      })
  )
})
