// The console: what the account of a relayer delegates to, how it is set and ended, and who pays for top-ups.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { payersOf, targetsOf } from "../../web/src/data/TopUps.ts"
import { ConsoleWindow, Whole, objectOf, textOf } from "../../testkit/ConsoleWindow.ts"
import type { Shown } from "../../testkit/ConsoleWindow.ts"

const executor = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const transactionId = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
const relayerPath = "/api/v1/relayers/dev-evm"
const path = `${relayerPath}/delegation`

const recordedDelegation = {
  address: executor.toLowerCase(),
  is_final: true,
  nonce: 7,
  code_hash: `0x${"5c".repeat(32)}`,
  takes_signatures: false,
  checked_at: "2026-01-02T03:04:05.678Z"
}

const accepted = { transaction_id: transactionId, address: executor.toLowerCase(), warnings: ["One in flight."] }

const button = (shown: Shown, name: string, within?: Parameters<Shown["named"]>[2]) =>
  shown.until(name, () => shown.named("button", name, within)[0])

const question = (shown: Shown) => shown.until("a question", () => shown.document.querySelector("dialog[open]"))

const enter = async (shown: Shown, field: string, value: string) =>
  shown.enter(await shown.until(field, () => shown.document.querySelector(`[id="field-${field}"]`)), value)

const saidOf = (shown: Shown) => textOf(shown.region("Delegation")).replaceAll("Copy", "")

/** Ends the delegation, and sees that nothing is sent before the question, which says `sentence`, is answered. */
const end = async (shown: Shown, sentence: string) => {
  await shown.click(await button(shown, "End the delegation…"))
  const dialog = await question(shown)
  assert.include(textOf(dialog), sentence)
  assert.isEmpty(shown.asked)
  await shown.click(await button(shown, "End it", dialog))
  await shown.until("the request", () => shown.asked[0])
  assert.deepStrictEqual(
    shown.asked.map(({ method, path }) => [method, path]),
    [["DELETE", path]]
  )
  assert.deepStrictEqual(shown.problems, [])
}

layer(ConsoleWindow.layer, { excludeTestServices: true })("the delegation of a relayer", (it) => {
  it.effect("is set after a second look at account, network and contract, and links its transaction", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      let delegation: object = { is_final: true }
      const shown = yield* open({
        answer: (asked) => {
          if (asked.path !== path) return undefined
          if (asked.method !== "POST") return delegation
          delegation = { is_final: false, open_transaction_id: transactionId }
          return accepted
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/delegation")
        await shown.shows("The service has recorded no delegation", ".tag")
        const review = await button(shown, "Check and delegate…")
        await shown.click(review)
        await shown.shows("This field is required.", ".problem bdi")
        await enter(shown, "address", "0xab")
        await shown.click(review)
        await shown.shows(/address/, ".problem bdi")
        assert.isNull(shown.document.querySelector("dialog"))
        await enter(shown, "address", executor)
        await enter(shown, "accept_proxy", "true")
        await shown.click(review)
        const dialog = await question(shown)
        const said = textOf(dialog).replaceAll("Copy", "")
        const address = String(Reflect.get(objectOf(recorded(relayerPath)), "address"))
        for (const part of ["evm:dev Test network", address, executor, "A proxy is accepted", "takes two nonces"])
          assert.include(said, part)
        assert.isEmpty(shown.asked)
        await shown.click(await button(shown, "Delegate", dialog))
        const link = await shown.until("the link", () => shown.named("a", "Show the transaction")[0])
        assert.strictEqual(link.getAttribute("href"), `/console/transactions/${transactionId}?relayer=dev-evm`)
        await shown.shows("One in flight.", "bdi")
        await shown.shows("A change is open", ".tag")
        assert.isEmpty(shown.named("button", "Check and delegate…"), "one change at a time")
        assert.deepStrictEqual(
          shown.asked.map(({ method, path, body }) => [method, path, body]),
          [["POST", path, { address: executor, accept_proxy: true }]]
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("shows what its checks have found, and ends after a question", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({
        answer: ({ method, path: asked }) => {
          if (asked !== path) return undefined
          return method === "DELETE"
            ? { transaction_id: transactionId, warnings: [] }
            : { ...recordedDelegation, changed: "its code", changed_since: "2026-01-02T03:04:05.678Z" }
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/delegation")
        await shown.shows("The contract has changed", ".tag.bad")
        const said = saidOf(shown)
        for (const part of [
          `Contract${executor.toLowerCase()}`,
          "Changedits code since",
          "Signatures of the key count for the accountno",
          "Nonce of the last change7"
        ])
          assert.include(said, part)
        await end(shown, "queued then fail without a nonce")
      })
    })
  )

  it.effect("can be ended if the service has recorded none, because somebody else may have set it", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({
        answer: ({ method, path: asked }) => {
          if (asked !== path) return undefined
          return method === "DELETE" ? { transaction_id: transactionId, warnings: [] } : { is_final: true }
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/delegation")
        await shown.shows("The service has recorded no delegation", ".tag")
        await shown.shows(/^If somebody else let the account delegate/, "p.mut")
        await end(shown, "If nobody did, the transaction changes nothing, and costs its fee.")
      })
    })
  )

  it.effect("is asked for once, also if the first response is lost", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      let isLost = true
      const shown = yield* open({
        answer: ({ method, path: asked }) => {
          if (asked !== path) return undefined
          if (method !== "POST") return { is_final: true }
          return isLost ? new Whole({ success: false, data: null, error: "no response in time" }, 504) : accepted
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/delegation")
        const delegateTo = async (address: string, tries: number) => {
          await enter(shown, "address", address)
          await shown.click(await button(shown, "Check and delegate…"))
          const dialog = await question(shown)
          for (let count = 0; count < tries; count += 1) {
            isLost = count + 1 < tries
            await shown.click(await button(shown, "Delegate", dialog))
            if (isLost) await shown.shows(/no response in time/, "dialog *")
          }
          await shown.until("the end of the question", () => shown.document.querySelector("dialog") === null)
        }
        await delegateTo(executor, 2)
        await delegateTo(executor, 1)
        const keys = shown.asked.map(({ key }) => key)
        assert.lengthOf(keys, 3)
        assert.isNotNull(keys[0])
        assert.strictEqual(keys[0], keys[1])
        assert.notStrictEqual(keys[1], keys[2], "another change has another key")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("says at its field why the service refuses a contract", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const error = "address: is a proxy; accept_proxy allows it"
      const shown = yield* open({
        answer: ({ method, path: asked }) => {
          if (asked !== path) return undefined
          return method === "POST"
            ? new Whole({ success: false, data: null, message: "Invalid", error }, 400)
            : { is_final: true }
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/delegation")
        await enter(shown, "address", executor)
        await shown.click(await button(shown, "Check and delegate…"))
        await shown.click(await button(shown, "Delegate", await question(shown)))
        await shown.shows("is a proxy; accept_proxy allows it", ".field.wrong .problem bdi")
        assert.isNull(shown.document.querySelector("dialog"))
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("has no action for a session whose key has limits, may use some relayers, or lacks the scope", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const session = {
        id: "6b0f2c1d9a3e4f5867ab01cd23ef4567",
        key_id: "tests",
        key_name: "tests",
        read_only: false,
        scopes: ["*"],
        created_at: "2026-01-02T03:04:05.678Z",
        expires_at: "2036-01-02T03:04:05.678Z",
        idle_ends_at: "2036-01-02T03:04:05.678Z"
      }
      for (const [own, reason] of [
        [{ has_transaction_limits: true }, "A change needs a key for all relayers, without limits"],
        [{ relayer_ids: ["dev-evm"] }, "A change needs a key for all relayers, without limits"],
        [{ scopes: ["relayers:read"] }, "This session lacks the scope relayers:write."]
      ] as const) {
        const shown = yield* open({
          answer: (asked) => {
            if (asked.path === "/session") return { ...session, ...own }
            return asked.path === path ? recordedDelegation : undefined
          }
        })
        yield* Effect.promise(async () => {
          await shown.goto("relayers/dev-evm/delegation")
          await shown.shows("In effect", ".tag.ok")
          assert.include(saidOf(shown), reason)
          assert.isEmpty(shown.all("main section form, main section .btn"), reason)
          assert.deepStrictEqual(shown.problems, [])
        })
      }
    })
  )

  it.effect("is a tab of relayers of evm alone, and nothing can be changed while the relayer is paused", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const shown = yield* open({
        answer: (asked) => {
          if (asked.path === relayerPath) return { ...objectOf(recorded(relayerPath)), paused: true }
          return asked.path === path ? recordedDelegation : undefined
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-stellar")
        assert.isEmpty(shown.named("nav a", "Delegation"))
        await shown.goto("relayers/dev-evm/delegation")
        await shown.shows(/^The relayer is paused: the service changes no delegation/, "p.mut")
        assert.isEmpty(shown.all("main section form, main section .btn.d"))
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )
})

layer(ConsoleWindow.layer, { excludeTestServices: true })("the payer of top-ups", (it) => {
  it.effect("is chosen from the relayers that can pay, in the policy and in the form of a new relayer", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const relayer = objectOf(recorded(relayerPath))
      const topUp = { from: "dev-evm", below: "1", to: "2", max_per_day: "3" }
      const all = [
        relayer,
        { ...relayer, id: "treasury", address: `0x${"11".repeat(20)}` },
        { ...relayer, id: "topped-up", address: `0x${"22".repeat(20)}`, policies: { top_up: topUp } },
        { ...relayer, id: "elsewhere", address: `0x${"33".repeat(20)}`, network: "sepolia" }
      ]
      const paged = { success: true, data: all, pagination: { current_page: 1, per_page: 1000, total_items: 4 } }
      const shown = yield* open({
        answer: ({ method, path }) => {
          if (path === "/api/v1/relayers" && method === "GET") return new Whole(paged)
          return method === "PATCH" ? relayer : undefined
        }
      })
      const optionsOf = (field: string) => shown.all(`[id="field-${field}"] option`).map((option) => textOf(option))
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/policies")
        await shown.until("the choice", () => shown.document.querySelector("select[id='field-top_up.from']"))
        assert.deepStrictEqual(optionsOf("top_up.from"), ["none", "treasury"])
        await enter(shown, "top_up.from", "treasury")
        for (const [field, value] of [
          ["below", "0.05"],
          ["to", "0.2"],
          ["max_per_day", "1"]
        ] as const)
          await enter(shown, `top_up.${field}`, value)
        await shown.click(await button(shown, "Save"))
        const { body } = await shown.until("the request", () => shown.asked[0])
        assert.deepStrictEqual(body, {
          policies: {
            top_up: {
              from: "treasury",
              below: String(5n * 10n ** 16n),
              to: String(2n * 10n ** 17n),
              max_per_day: String(10n ** 18n)
            }
          }
        })
        await shown.goto("new/relayer")
        await enter(shown, "network", "dev")
        await shown.until("the payers", () => optionsOf("policies.top_up.from").length > 1)
        assert.deepStrictEqual(optionsOf("policies.top_up.from"), ["none", "dev-evm", "treasury"])
        await shown.goto("relayers/dev-evm")
        const term = await shown.shows("Tops up", "dt")
        assert.strictEqual(textOf(term.nextElementSibling), "topped-up")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("is entered as text if the relayers cannot be read, or are more than a page", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const relayer = objectOf(recorded(relayerPath))
      const pages = [
        new Whole({ success: false, data: null, error: "Too many requests" }, 429),
        new Whole({ success: true, data: [relayer] }, 200, { link: '</api/v1/relayers?cursor=abc>; rel="next"' })
      ]
      for (const page of pages) {
        const shown = yield* open({ answer: ({ path }) => (path === "/api/v1/relayers" ? page : undefined) })
        yield* Effect.promise(async () => {
          await shown.goto("relayers/dev-evm/policies")
          await shown.until("the field", () => shown.document.querySelector("input[id='field-top_up.from']"))
          assert.isNotNull(shown.document.querySelector("#field-min_balance"))
          await shown.goto("new/relayer")
          await shown.until("the field", () => shown.document.querySelector("input[id='field-policies.top_up.from']"))
          assert.deepStrictEqual(shown.problems, [])
        })
      }
    })
  )

  it("has another account on the same chain, and neither it nor another relayer of its account gets top-ups", () => {
    const of = (id: string, address: string, from?: string) => ({
      id,
      address,
      network: "dev",
      network_type: "evm",
      policies: from === undefined ? {} : { top_up: { from } }
    })
    const relayers = [of("a", "0x1"), of("b", "0x2"), of("c", "0x2", "x"), of("d", "0x3"), of("e", "0x1")]
    assert.deepStrictEqual(payersOf({ network_type: "evm", network: "dev", id: "a", address: "0x1" }, relayers), ["d"])
    assert.deepStrictEqual(payersOf({ network_type: "evm", network: undefined }, relayers), [])
    assert.deepStrictEqual(targetsOf("x", relayers), ["c"])
  })
})
