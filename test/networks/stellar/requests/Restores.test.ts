// Archived entries. Calls restore what they need themselves; a longer life of entries waits, or a transaction of the service restores them
// first. Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { Operation } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { transaction } from "../../../../testkit/stellar/Building.ts"
import { counterContract, counterKey, restoreCost } from "../../../../testkit/stellar/Contracts.ts"
import { keyOf } from "../../../../testkit/stellar/Entries.ts"
import { dataOf, relayerAt } from "../../../../testkit/stellar/Relayers.ts"
import type { Shown } from "../../../../testkit/stellar/Relayers.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const call = {
  operations: [{ type: "invoke_contract", contract_address: counterContract, function_name: "increment", args: [] }]
}

/** A relayer on a ledger where the counter, which is 7, is archived. */
const archived = Effect.fnUntraced(function* (given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt(given)
  const { address, get, network, path } = relayer
  /** A longer life of the counter's data. */
  const extend = {
    transaction_xdr: transaction(address, [Operation.extendFootprintTtl({ extendTo: 1000 })], {
      sequence: 1n,
      resourceFee: 1000n,
      footprint: [counterKey]
    }).toXDR()
  }
  network.put(keyOf.counter, { kind: "counter", value: 7, isArchived: true })
  const api = yield* TestApi.TestApi
  const counter = () => {
    const entry = network.reads.get(keyOf.counter)
    return entry?.kind === "counter" ? entry : undefined
  }
  const waits = (id: string, code: string) =>
    until(
      code,
      Effect.map(get(id), (shown) => (shown.code === code ? shown : undefined))
    )
  const restores = Effect.map(api.call(`${path}?origin=restore`), ({ json }) => json.data as ReadonlyArray<Shown>)
  return { ...relayer, counter, extend, waits, restores, api: api.call }
})

layer(api, { excludeTestServices: true })("a call of archived entries", (it) => {
  it.effect("restores them itself within its fee, without another transaction", () =>
    Effect.gen(function* () {
      const { becomes, counter, restores, send } = yield* archived()
      const { id } = dataOf(yield* send(call))
      const { fee_paid } = yield* becomes(id, "confirmed")
      assert.deepInclude(counter(), { value: 8, isArchived: false })
      assert.isAbove(Number(fee_paid), Number(restoreCost))
      assert.deepStrictEqual(yield* restores, [])
    })
  )
})

layer(api, { excludeTestServices: true, concurrent: true })("a longer life of archived entries", (it) => {
  it.effect("waits, and is confirmed after a replacement that lets the relayer pay for the restore (trace 22)", () =>
    Effect.gen(function* () {
      const { account, api, becomes, counter, extend, id: network, path, restores, send, waits } = yield* archived()
      const before = account()?.sequence ?? 0n
      const { id } = dataOf(yield* send(extend))
      yield* waits(id, "needs_restore")
      assert.deepStrictEqual(yield* restores, [])
      const body = { network, ...extend, restore_footprint: true }
      const replaced = yield* api(`${path}/${id}`, { method: "PUT", body })
      assert.strictEqual(replaced.status, 200, replaced.text)
      const confirmed = yield* becomes(id, "confirmed")
      assert.deepInclude(counter(), { value: 7, isArchived: false })
      const [restore, ...more] = yield* restores
      assert.isEmpty(more)
      assert.deepInclude(restore, { status: "confirmed", sequence_number: String(before + 1n) })
      assert.strictEqual(confirmed.sequence_number, String(before + 2n))
      const listed = yield* api(path)
      assert.deepStrictEqual(
        (listed.json.data as ReadonlyArray<Shown>).map((one) => one.id),
        [id]
      )
    })
  )

  it.effect("shares one restore with others, and restores that are no longer needed are not signed", () =>
    Effect.gen(function* () {
      const { becomes, counter, extend, restores, send } = yield* archived()
      const ids: Array<string> = []
      for (let sent = 0; sent < 3; sent++) ids.push(dataOf(yield* send({ ...extend, restore_footprint: true })).id)
      for (const id of ids) yield* becomes(id, "confirmed")
      assert.deepInclude(counter(), { value: 7, isArchived: false })
      const statuses = (yield* restores).map(({ status }) => status)
      assert.lengthOf(
        statuses.filter((status) => status === "confirmed"),
        1
      )
      assert.isTrue(statuses.every((status) => status === "confirmed" || status === "canceled"))
    })
  )

  it.effect("waits while both fees together are above its cap, and nothing is restored", () =>
    Effect.gen(function* () {
      // Both need 57,500 stroops each for their resources, and 100 for a place in the ledger.
      const { account, becomes, extend, restores, api, id: network, path, send, waits } = yield* archived()
      const balance = account()?.balance
      const { id } = dataOf(yield* send({ ...extend, restore_footprint: true, max_fee: 115_199 }))
      yield* waits(id, "fee_above_cap")
      assert.deepStrictEqual(yield* restores, [])
      assert.strictEqual(account()?.balance, balance)
      const body = { network, ...extend, restore_footprint: true, max_fee: 115_200 }
      assert.strictEqual((yield* api(`${path}/${id}`, { method: "PUT", body })).status, 200)
      yield* becomes(id, "confirmed")
    })
  )

  it.effect("is not restored for an API key with a limit of fees, which could spend more than its limit", () =>
    Effect.gen(function* () {
      const { extend, restores, send, waits } = yield* archived()
      const key = yield* makeKey(["transactions:write", "transactions:read"], {
        transaction_limits: { stellar: { max_fee_per_day: "1000000" } }
      })
      const { id } = dataOf(yield* send({ ...extend, restore_footprint: true }, { key }))
      const { status_reason } = yield* waits(id, "needs_restore")
      assert.include(status_reason ?? "", "archived")
      assert.deepStrictEqual(yield* restores, [])
    })
  )
})
