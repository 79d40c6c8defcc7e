// The limits of API keys for each network type: what the service stores, shows, records, and gives to derived keys.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "../../../src/server/access/ApiKeys.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, make } from "./requests.ts"

const solana = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
const stellar = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"

/** Beyond 2^53. */
const large = "18446744073709551615"

const limits = {
  max_value: "1000",
  solana: { max_value: large, max_fee_per_day: "9007199254740993", receivers: [solana] },
  stellar: { max_fee_per_day: large, receivers: [stellar] }
}

const limitsIn = (data: unknown) => (data as { readonly transaction_limits?: unknown }).transaction_limits

const scopes = ["api-keys:*", "audit:read", "transactions:*"]

layerEach(TestApi.layer())("an API key with limits for several network types", (it) => {
  it.effect("shows them with every digit when it is created, read, listed and rotated, and in the audit log", () =>
    Effect.gen(function* () {
      const { id, ...created } = yield* make({ scopes, transaction_limits: limits })
      assert.deepStrictEqual(limitsIn(created), limits)
      assert.deepStrictEqual(limitsIn((yield* call(`/api/v1/api-keys/${id}`)).json.data), limits)
      const listed = yield* call("/api/v1/api-keys")
      assert.deepStrictEqual((listed.json.data as ReadonlyArray<unknown>).map(limitsIn), [limits])
      const rotated = yield* call(`/api/v1/api-keys/${id}/rotate`, { method: "POST" })
      assert.deepStrictEqual(limitsIn(rotated.json.data), limits)
      const sql = yield* SqlClient.SqlClient
      const records = yield* sql<{ action: string; after: unknown }>`SELECT action, after FROM audit ORDER BY id`
      assert.deepStrictEqual(
        records.map(({ action, after }) => [action, limitsIn(after)]),
        [
          ["key.created", limits],
          ["key.rotated", limits]
        ]
      )
    })
  )

  it.effect("gives a key that it creates at most its own, for each type", () =>
    Effect.gen(function* () {
      const parent = yield* make({ scopes, transaction_limits: { max_value: "1000", solana: limits.solana } })
      const child = (transaction_limits: object | undefined) =>
        call("/api/v1/api-keys", {
          key: parent.key,
          body: { name: "child", scopes: ["transactions:*"], ...(transaction_limits && { transaction_limits }) }
        })
      const inherited = yield* child(undefined)
      assert.deepStrictEqual(limitsIn(inherited.json.data), { max_value: "1000", solana: limits.solana })
      const fewer = { solana: { ...limits.solana, max_value: "1" } }
      assert.deepStrictEqual(limitsIn((yield* child(fewer)).json.data), fewer)
      for (const [given, field] of [
        [{ max_value: "1001" }, "transaction_limits:"],
        [{ solana: { ...limits.solana, receivers: [solana.replace("W", "w")] } }, "transaction_limits.solana:"],
        [{ solana: {} }, "transaction_limits.solana:"],
        [{ stellar: limits.stellar }, "transaction_limits.stellar:"]
      ] as const) {
        const refused = yield* child(given)
        assert.strictEqual(refused.status, 400, refused.text)
        assert.isTrue(refused.json.error?.startsWith(field), refused.json.error)
      }
    })
  )

  it.effect("keeps the fee limit of each type for itself and for the keys that descend from it", () =>
    Effect.gen(function* () {
      const parent = yield* make({ scopes, transaction_limits: { max_fee_per_day: "5", ...limits } })
      const child = yield* make(
        { scopes: ["transactions:*"], transaction_limits: { stellar: { ...limits.stellar, max_fee_per_day: "7" } } },
        { key: parent.key }
      )
      const keys = yield* ApiKeys
      const maxima = Effect.fnUntraced(function* (id: string, type: string) {
        const found = yield* keys.feeLimits(id, type)
        return new Map(found.map(({ keyId, maximum }) => [keyId, maximum]))
      })
      assert.deepStrictEqual(yield* maxima(parent.id, "evm"), new Map([[parent.id, 5n]]))
      assert.deepStrictEqual(yield* maxima(parent.id, "solana"), new Map([[parent.id, 9_007_199_254_740_993n]]))
      assert.deepStrictEqual(yield* maxima(child.id, "evm"), new Map([[parent.id, 5n]]))
      assert.deepStrictEqual(
        yield* maxima(child.id, "stellar"),
        new Map([
          [child.id, 7n],
          [parent.id, BigInt(large)]
        ])
      )
    })
  )

  it.effect("is refused with 400 if an amount or an address is not one of the network", () =>
    Effect.gen(function* () {
      for (const [transaction_limits, field] of [
        [{ solana: { max_value: "0x10" } }, "transaction_limits.solana.max_value"],
        [{ stellar: { max_fee_per_day: "18446744073709551616" } }, "transaction_limits.stellar.max_fee_per_day"],
        [{ solana: { receivers: [stellar.toLowerCase()] } }, "transaction_limits.solana.receivers.0"],
        [{ stellar: { receivers: [solana] } }, "transaction_limits.stellar.receivers.0"],
        [{ solana: { maximum: "1" } }, "transaction_limits.solana.maximum"]
      ] as const) {
        const refused = yield* call("/api/v1/api-keys", { body: { name: "wrong", scopes, transaction_limits } })
        assert.strictEqual(refused.status, 400, refused.text)
        assert.include(refused.json.error ?? "", field)
      }
    })
  )
})
