// Delegations and many calls of a relayer's own account on a real node, from the API to their end. Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Anvil from "../../../testkit/Anvil.ts"
import { creationOf, executorCode, faultyExecutors } from "../../../testkit/Executors.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { api, relayerAt } from "./fixtures.ts"
import type { Given, Node } from "./fixtures.ts"

/** Reverts whatever is called. */
const reverting = "0x60006000fd"

interface Shown {
  readonly id: string
  readonly status: string
  readonly nonce?: number
  readonly value: string
  readonly code?: string
  readonly delegate?: string
  readonly calls?: ReadonlyArray<unknown>
}

const deploy = Effect.fnUntraced(function* (node: Node, code: string) {
  const hash = yield* node.call("eth_sendTransaction", [{ from: Anvil.funded, data: creationOf(code) }])
  const receipt = yield* until(
    "deployed",
    Effect.map(node.call("eth_getTransactionReceipt", [hash]), (found) => found ?? undefined)
  )
  return (receipt as { readonly contractAddress: string }).contractAddress.toLowerCase()
})

/** A relayer on a node of its own, and what tests ask about it. */
const prepared = Effect.fnUntraced(function* (given: Given = {}) {
  const { call } = yield* TestApi.TestApi
  const node = yield* Anvil.start({ blockTime: 1 })
  const account = yield* relayerAt(node, given)
  const path = `/api/v1/relayers/${account.relayerId}`
  const show = (id: string) => Effect.map(call(`${path}/transactions/${id}`), ({ json }) => json.data as Shown)
  const becomes = (id: string, status: string) =>
    until(
      `${id} ${status}`,
      Effect.map(show(id), (found) => (found.status === status ? found : undefined))
    )
  const send = (body: object) => call(`${path}/transactions`, { body: { speed: "fast", ...body } })
  const sent = Effect.fnUntraced(function* (body: object) {
    const { status, text, json } = yield* send(body)
    assert.strictEqual(status, 200, text)
    return (json.data as Shown).id
  })
  const delegate = (address: string, more: object = {}) => call(`${path}/delegation`, { body: { address, ...more } })
  const changed = ({
    status,
    text,
    json
  }: {
    readonly status: number
    readonly text: string
    readonly json: { readonly data?: unknown }
  }) => {
    assert.strictEqual(status, 200, text)
    return (json.data as { readonly transaction_id: string }).transaction_id
  }
  const code = node.call("eth_getCode", [account.address, "latest"])
  const balance = (address: string) =>
    Effect.map(node.call("eth_getBalance", [address, "latest"]), (wei) => BigInt(String(wei)))
  const delegated = Effect.fnUntraced(function* () {
    const executor = yield* deploy(node, executorCode)
    const id = changed(yield* delegate(executor))
    yield* becomes(id, "confirmed")
    return executor
  })
  return { account, balance, becomes, call, changed, code, delegate, delegated, node, path, send, sent, show }
})

const to = (digits: string) => `0x${digits.repeat(20)}`

layer(api, { excludeTestServices: true, concurrent: true })("an account of a relayer", (it) => {
  it.effect("delegates to an executor, makes many calls at once, and ends the delegation", () =>
    Effect.gen(function* () {
      const { balance, becomes, call, changed, code, delegate, node, path, send, sent } = yield* prepared()
      const refused = yield* send({
        calls: [
          { to: to("a1"), value: "1" },
          { to: to("a2"), value: "2" }
        ]
      })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.text, "not_delegated")

      const executor = yield* deploy(node, executorCode)
      const delegating = changed(yield* delegate(executor))
      // It is queued behind the delegation.
      const first = yield* sent({
        calls: [
          { to: to("a1"), value: "1" },
          { to: to("a2"), value: "2" }
        ]
      })
      assert.deepInclude(yield* becomes(delegating, "confirmed"), { nonce: 0, delegate: executor })
      assert.strictEqual(yield* code, `0xef0100${executor.slice(2)}`)
      const batch = yield* becomes(first, "confirmed")
      assert.deepInclude(batch, { nonce: 2, value: "0x3" })
      assert.lengthOf(batch.calls ?? [], 2)
      assert.deepStrictEqual([yield* balance(to("a1")), yield* balance(to("a2"))], [1n, 2n])

      const shown = (yield* call(`${path}/delegation`)).json.data
      assert.deepInclude(shown, { address: executor, is_final: true, nonce: 0, takes_signatures: true })

      const ending = changed(yield* call(`${path}/delegation`, { method: "DELETE" }))
      assert.deepInclude(yield* becomes(ending, "confirmed"), { nonce: 3 })
      assert.strictEqual(yield* code, "0x")
      assert.strictEqual((yield* send({ calls: [{ to: to("a1") }, { to: to("a2") }] })).status, 409)
      // The second nonce of each delegation is used.
      assert.deepInclude(yield* becomes(yield* sent({ to: to("a3"), value: "7" }), "confirmed"), { nonce: 5 })
    })
  )

  it.effect("ends a delegation to code that takes no calls any more", () =>
    Effect.gen(function* () {
      const { becomes, call, changed, code, delegated, node, path } = yield* prepared()
      yield* node.call("anvil_setCode", [yield* delegated(), reverting])
      const ending = changed(yield* call(`${path}/delegation`, { method: "DELETE" }))
      yield* becomes(ending, "confirmed")
      assert.strictEqual(yield* code, "0x")
    })
  )

  it.effect("makes none of many calls if one of them reverts", () =>
    Effect.gen(function* () {
      const { balance, becomes, delegated, node, sent } = yield* prepared()
      yield* delegated()
      const failing = yield* deploy(node, reverting)
      const calls = [
        { to: to("b1"), value: "5" },
        { to: failing, data: "0x01020304" }
      ]
      const estimated = yield* becomes(yield* sent({ calls }), "failed")
      assert.isUndefined(estimated.nonce, "its estimate fails, so that no nonce is used")
      const reverted = yield* becomes(yield* sent({ calls, gas_limit: 200_000 }), "failed")
      assert.strictEqual(reverted.nonce, 2)
      assert.strictEqual(yield* balance(to("b1")), 0n)
    })
  )

  it.effect("has one transaction in flight while it delegates", () =>
    Effect.gen(function* () {
      const { balance, becomes, call, delegated, path, sent } = yield* prepared()
      yield* delegated()
      const ids = yield* Effect.forEach([1, 2, 3], (value) => sent({ to: to("c1"), value: String(value) }))
      const done = yield* Effect.forEach(ids, (id) => becomes(id, "confirmed"))
      assert.deepStrictEqual(
        done.map(({ nonce }) => nonce),
        [2, 3, 4]
      )
      assert.strictEqual(yield* balance(to("c1")), 6n)
      assert.deepInclude((yield* call(`${path}/nonce`)).json.data, { window: 1, next_nonce: 5 })
    })
  )

  it.effect("fails what is queued as many calls when somebody else ends the delegation, without a nonce", () =>
    Effect.gen(function* () {
      const { account, becomes, delegated, node, sent } = yield* prepared()
      yield* delegated()
      // Until then, the lane reads the code of the account again.
      const not_before = DateTime.formatIso(DateTime.add(yield* DateTime.now, { seconds: 3 }))
      const id = yield* sent({ not_before, calls: [{ to: to("d1") }, { to: to("d2") }] })
      yield* node.call("anvil_setCode", [account.address, "0x"])
      const lost = yield* becomes(id, "failed")
      assert.deepStrictEqual([lost.code, lost.nonce], ["not_delegated", undefined])
    })
  )

  it.effect("does not delegate to contracts that fail the checks", () =>
    Effect.gen(function* () {
      const { account, code, delegate, node } = yield* prepared()
      const expected = [
        [yield* deploy(node, faultyExecutors.open), "lets anybody execute"],
        [yield* deploy(node, faultyExecutors.withoutReceive), "takes no transfers"],
        [yield* deploy(node, faultyExecutors.uninitialized), "initialize(address)"],
        [yield* deploy(node, reverting), "supportsExecutionMode"],
        [to("e1"), "has no code"],
        [account.address, "own address"]
      ] as const
      for (const [address, words] of expected) {
        const { status, text } = yield* delegate(address)
        assert.deepStrictEqual([status, text.includes(words)], [400, true], text)
      }
      assert.strictEqual(yield* code, "0x")
    })
  )

  it.effect("warns of signatures that contracts refuse, when it delegates and when it signs", () =>
    Effect.gen(function* () {
      const { becomes, call, delegate, node, path } = yield* prepared()
      const executor = yield* deploy(node, faultyExecutors.withoutSignatures)
      const { json } = yield* delegate(executor)
      const { transaction_id, warnings } = json.data as {
        readonly transaction_id: string
        readonly warnings: ReadonlyArray<string>
      }
      assert.match(warnings.join(" "), /ERC-1271/)
      yield* becomes(transaction_id, "confirmed")
      const signed = yield* call(`${path}/sign`, { body: { message: "hello" } })
      assert.include(signed.text, "accepts no signatures of its key")
    })
  )
})

layer(api, { excludeTestServices: true, concurrent: true })("the contract that an account delegates to", (it) => {
  it.effect(
    "is compared by health checks: a change holds many calls, is reported, and ends with another delegation",
    () =>
      Effect.gen(function* () {
        const { becomes, call, delegate, delegated, node, path, sent, show } = yield* prepared()
        const executor = yield* delegated()
        const check = call(`${path}/check`, { method: "POST" })
        const shown = Effect.map(
          call(`${path}/delegation`),
          ({ json }) => json.data as Readonly<Record<string, unknown>>
        )
        yield* until(
          "checked",
          Effect.flatMap(check, () =>
            Effect.map(shown, (found) => (found["checked_at"] === undefined ? undefined : true))
          )
        )
        assert.isUndefined((yield* shown)["changed"])
        yield* node.call("anvil_setCode", [executor, faultyExecutors.open])
        const sql = yield* SqlClient.SqlClient
        // An hour passes.
        yield* sql`
        UPDATE lanes SET watched = jsonb_set(watched::jsonb, '{at}', '0')::json WHERE watched IS NOT NULL AND address = ${(yield* shownAddress(
          call,
          path
        )).toLowerCase()}`
        yield* check
        assert.deepInclude(yield* shown, { changed: `the code of ${executor}` })
        const id = yield* sent({
          calls: [
            { to: to("f1"), value: "1" },
            { to: to("f2"), value: "2" }
          ]
        })
        yield* until(
          "held",
          Effect.map(show(id), ({ code }) => (code === "delegate_changed" ? true : undefined))
        )
        const explained = yield* call(`${path}/explain`)
        assert.include(explained.text, "delegate_changed")
        assert.include(explained.text, `delegates to ${executor}`)
        const attention = yield* call("/api/v1/attention")
        assert.include(attention.text, `the code of ${executor}`)
        // The feed shows an event after all older transactions of the cluster have ended, also those of other tests.
        yield* until(
          "published",
          Effect.map(call("/api/v1/events?type=relayer.delegate_changed"), ({ json }) =>
            (json.data as ReadonlyArray<unknown>).length > 0 ? true : undefined
          )
        )
        const other = yield* deploy(node, executorCode)
        yield* delegate(other)
        assert.strictEqual((yield* becomes(id, "confirmed")).value, "0x3")
      })
  )

  it.effect("is not compared while a block that was replaced shows the account without the delegation", () =>
    Effect.gen(function* () {
      const { becomes, call, changed, code, delegate, node, path, sent } = yield* prepared({
        network: { required_confirmations: 5 }
      })
      const executor = yield* deploy(node, executorCode)
      const height = Effect.map(node.call("eth_blockNumber", []), Number)
      const before = yield* height
      const id = changed(yield* delegate(executor))
      const calls = yield* sent({
        calls: [
          { to: to("81"), value: "1" },
          { to: to("82"), value: "2" }
        ]
      })
      yield* becomes(id, "mined")
      yield* node.call("evm_setIntervalMining", [0])
      yield* node.call("anvil_reorg", [(yield* height) - before, []])
      assert.strictEqual(yield* code, "0x")
      yield* call(`${path}/check`, { method: "POST" })
      const shown = (yield* call(`${path}/delegation`)).json.data
      assert.notProperty(shown, "changed")
      yield* node.call("evm_setIntervalMining", [1])
      yield* becomes(calls, "confirmed")
      assert.strictEqual(yield* code, `0xef0100${executor.slice(2)}`)
    })
  )

  it.effect("is compared with each health check after a change, so that what has passed holds nothing", () =>
    Effect.gen(function* () {
      const { becomes, call, delegated, node, path, sent } = yield* prepared()
      const executor = yield* delegated()
      const code = yield* node.call("eth_getCode", [executor, "latest"])
      yield* node.call("anvil_setCode", [executor, faultyExecutors.open])
      const check = call(`${path}/check`, { method: "POST" })
      const changed = Effect.map(
        Effect.andThen(check, call(`${path}/delegation`)),
        ({ json }) => (json.data as { readonly changed?: string }).changed
      )
      yield* until("a change", changed)
      yield* node.call("anvil_setCode", [executor, code])
      yield* until(
        "no change",
        Effect.map(changed, (found) => (found === undefined ? true : undefined))
      )
      const calls = [
        { to: to("83"), value: "1" },
        { to: to("84"), value: "2" }
      ]
      yield* becomes(yield* sent({ calls }), "confirmed")
    })
  )
})

const shownAddress = (call: TestApi.TestApi["Service"]["call"], path: string) =>
  Effect.map(call(path), ({ json }) => (json.data as { readonly address: string }).address)
