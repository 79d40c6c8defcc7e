// Delegations and many calls by the API, on a network without a chain: who may change a delegation, and which calls are refused. One test waits for
// providers that do not answer, by the clock of the machine.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { Account } from "../../../src/server/ledger/LedgerEntries.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept } from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { tables } from "../../../testkit/EvmRows.ts"

import { dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

const path = "/api/v1/relayers/sender/delegation"

const delegate = `0x${"de".repeat(20)}`

const other = `0x${"0c".repeat(20)}`

const accountOf = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ seq: number; address: string }>`
    SELECT seq::float8 AS seq, address FROM relayers WHERE id = 'sender'`
  const account: Account = {
    relayerId: RelayerId.make("sender"),
    relayerNumber: row?.seq ?? 0,
    chain: "evm:31337",
    address: (row?.address ?? "").toLowerCase(),
    window: 64
  }
  return account
})

/** Accepts a delegation without its checks, which need a chain. */
const delegating = Effect.gen(function* () {
  const account = yield* accountOf
  const [id] = yield* accept(account, 1, {
    request: { to: account.address, value: 0n, delegate },
    facts: { delegation: { delegate, takesSignatures: true } },
    exclusive: "delegation"
  })
  return { account, id: id ?? assert.fail("no row") }
})

const twoCalls = [
  { to: receiver, value: "1" },
  { to: other, value: "2", data: "0xa9059cbb" }
]

const api = () => Layer.provideMerge(tables(), TestApi.layer())

layerEach(api())("what an account delegates to", (it) => {
  it.live("is changed only by keys for all relayers, without limits, that may change relayers", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const refused = [
        yield* makeKey(["transactions:*"]),
        yield* makeKey(["relayers:*"], { relayer_ids: ["sender", "other"] }),
        yield* makeKey(["relayers:*"], { transaction_limits: { max_value: "1" } })
      ]
      for (const key of refused) {
        assert.strictEqual((yield* call(path, { body: { address: delegate }, key })).status, 403)
        assert.strictEqual((yield* call(path, { method: "DELETE", key })).status, 403)
      }
      // The chain does not answer.
      const asked = yield* call(path, { body: { address: delegate }, key: yield* makeKey(["relayers:*"]) })
      assert.strictEqual(asked.status, 502, asked.text)
    })
  )

  it.effect("is nothing at first, and is read by keys that read relayers", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { json, status } = yield* call(path, { key: yield* makeKey(["relayers:read"]) })
      assert.deepStrictEqual([status, json.data], [200, { is_final: true }])
      assert.strictEqual((yield* call("/api/v1/relayers/sol/delegation")).status, 501)
      assert.strictEqual((yield* call("/api/v1/relayers/sol/delegation", { body: { address: delegate } })).status, 501)
    })
  )

  it.effect("is changed by one transaction at a time, which names it", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = yield* delegating
      assert.deepInclude((yield* call(path)).json.data, { open_transaction_id: id, is_final: false })
      const second = yield* call(path, { method: "DELETE" })
      assert.deepStrictEqual([second.status, second.text.includes("another change")], [409, true], second.text)
      assert.deepInclude((yield* call(`${transactions}/${id}`)).json.data, { delegate })
      const replaced = yield* call(`${transactions}/${id}`, { method: "PUT", body: { to: receiver, value: "1" } })
      assert.strictEqual(replaced.status, 409, replaced.text)
      assert.strictEqual((yield* call(`${transactions}/${id}`, { method: "DELETE" })).status, 200)
      assert.deepStrictEqual((yield* call(path)).json.data, { is_final: true })
    })
  )

  it.effect("is recorded in the audit log as an action of the relayer, and so is its end", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { account, id } = yield* delegating
      const records = Effect.map(call("/api/v1/audit?resource=relayer&resource_id=sender"), ({ json }) =>
        (
          json.data as ReadonlyArray<{ readonly action: string; readonly key_id: string; readonly after: unknown }>
        ).filter(({ action }) => action.endsWith("delegated"))
      )
      const after = { id: "sender", chain: account.chain, address: account.address, delegate, transaction_id: id }
      assert.deepStrictEqual(
        (yield* records).map((record) => [record.action, record.after]),
        [["relayer.delegated", after]]
      )
      yield* call(`${transactions}/${id}`, { method: "DELETE" })
      const ended = yield* call(path, { method: "DELETE" })
      assert.strictEqual(ended.status, 200, ended.text)
      const [newest, ...others] = yield* records
      assert.lengthOf(others, 1)
      assert.deepInclude(newest, { action: "relayer.undelegated", key_id: "administrator" })
      assert.deepInclude(newest?.after, { delegate: `0x${"0".repeat(40)}` })
    })
  )

  it.effect("needs an address with code and a right checksum", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      for (const address of ["0x12", 5, null, `0x${"00".repeat(20)}`, "0x70997970C51812dc3A010C7d01b50e0d17dc79c8"]) {
        const { status, text } = yield* call(path, { body: { address } })
        assert.deepStrictEqual([status, text.includes("address")], [400, true], text)
      }
    })
  )

  it.effect("is cleared and decided about only by keys that may change it", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = yield* delegating
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE transactions SET restored = true, code = 'restored_unproven', version = version + 1 WHERE id = ${id}`
      const resync = (key?: string) =>
        call("/api/v1/relayers/sender/nonce/resync", {
          body: { answer: "give_up", transaction_id: id },
          ...(key === undefined ? {} : { key })
        })
      const refused = yield* resync(yield* makeKey(["transactions:*"]))
      assert.strictEqual(refused.status, 403, refused.text)
      assert.strictEqual(
        (yield* (yield* Ledger).get((yield* accountOf).relayerNumber, id)).transaction.state,
        "pending"
      )
      const all = yield* call("/api/v1/relayers/sender/nonce/resync", {
        body: { answer: "give_up" },
        key: yield* makeKey(["transactions:*"])
      })
      assert.strictEqual(all.status, 403, all.text)
      const decided = yield* resync()
      assert.strictEqual(decided.status, 200, decided.text)
    })
  )
})

layerEach(api())("many calls", (it) => {
  it.effect("are refused while the account delegates to nothing, and accepted behind a delegation", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const before = yield* send({ calls: twoCalls })
      assert.deepStrictEqual([before.status, before.text.includes("not_delegated")], [409, true], before.text)
      yield* delegating
      const sent = yield* send({ calls: twoCalls, external_id: "batch" })
      assert.strictEqual(sent.status, 200, sent.text)
      const shown = sent.json.data as Readonly<Record<string, unknown>>
      assert.deepStrictEqual(
        [shown["value"], shown["calls"], shown["to"], shown["data"]],
        [
          "0x3",
          [
            { to: receiver, value: "1" },
            { to: other, value: "2", data: "0xa9059cbb" }
          ],
          undefined,
          undefined
        ]
      )
      const repeated = yield* send({ calls: twoCalls, external_id: "batch" })
      assert.strictEqual(dataOf(repeated).id, dataOf(sent).id)
      // A replacement keeps its kind.
      const at = `${transactions}/${dataOf(sent).id}`
      const single = yield* call(at, { method: "PUT", body: { to: receiver, value: "1" } })
      assert.deepStrictEqual([single.status, single.text.includes("calls: is required")], [400, true], single.text)
      const calls = [...twoCalls, { to: receiver, value: "7" }]
      const many = yield* call(at, { method: "PUT", body: { calls } })
      assert.deepStrictEqual([many.status, dataOf(many).value], [200, "0xa"], many.text)
    })
  )

  it.effect("with an invalid field are refused by its name, and change nothing", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { account } = yield* delegating
      const one = { to: receiver }
      const cases: ReadonlyArray<readonly [object, string]> = [
        [{ calls: [] }, "calls"],
        [{ calls: [one] }, "calls"],
        [{ calls: Array.from({ length: 51 }, () => one) }, "calls"],
        [{ calls: "0x" }, "calls"],
        [{ calls: [one, {}] }, "calls.1.to"],
        [{ calls: [one, { to: "0x1" }] }, "calls.1.to"],
        [{ calls: [one, { to: receiver, value: "-1" }] }, "calls.1.value"],
        [{ calls: [one, { to: receiver, data: "0x1" }] }, "calls.1.data"],
        [{ calls: [one, { to: receiver, more: 1 }] }, "calls.1.more"],
        [{ calls: [one, { to: `0x${"00".repeat(20)}` }] }, "calls.1.to"],
        [{ calls: [one, { to: account.address }] }, "calls.1.to"],
        [{ calls: [one, { to: "0x70997970C51812dc3A010C7d01b50e0d17dc79c8" }] }, "calls.1.to"],
        [{ calls: [one, one], to: receiver }, "to"],
        [{ calls: [one, one], data: "0x" }, "data"],
        [{ calls: [one, one], value: "1" }, "value"],
        [{ calls: [one, one], gas_limit: 21_000 }, "gas_limit"]
      ]
      for (const [body, field] of cases) {
        const { status, text } = yield* send(body)
        assert.deepStrictEqual([status, text.includes(field)], [400, true], `${JSON.stringify(body)} ${text}`)
      }
    })
  )

  it.effect("are compared call by call with the policy and with the limits of the API key", () =>
    Effect.gen(function* () {
      yield* prepare({ whitelist_receivers: [receiver] })
      yield* delegating
      const listed = yield* send({ calls: twoCalls })
      assert.deepStrictEqual([listed.status, listed.text.includes("calls.1.to")], [400, true], listed.text)
      const own = [
        { to: receiver, value: "3" },
        { to: receiver, value: "4" }
      ]
      assert.strictEqual((yield* send({ calls: own })).status, 200)
      const limited = (transaction_limits: object) =>
        Effect.flatMap(makeKey(["transactions:*"], { transaction_limits }), (key) => send({ calls: own }, { key }))
      const sum = yield* limited({ max_value: "6" })
      assert.deepStrictEqual([sum.status, sum.text.includes("at most 6 in all")], [403, true], sum.text)
      assert.strictEqual((yield* limited({ max_value: "7" })).status, 200)
      const elsewhere = yield* limited({ receivers: [other] })
      assert.deepStrictEqual([elsewhere.status, elsewhere.text.includes("calls.0.to")], [403, true], elsewhere.text)
      const selected = yield* limited({ selectors: [`${other}:0x`] })
      assert.deepStrictEqual([selected.status, selected.text.includes("calls.0.data")], [403, true], selected.text)
    })
  )
})
