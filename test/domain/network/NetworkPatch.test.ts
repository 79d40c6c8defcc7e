// Merge patches of a network.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  applyNetworkPatch,
  CreateNetwork,
  NetworkDefinition,
  UpdateNetwork
} from "../../../src/domain/network/Network.ts"

describe("a request to create a network", () => {
  it("accepts null for an absent field", () => {
    const decode = Schema.decodeUnknownSync(CreateNetwork)
    const nulls = { from: null, rpc_urls: null, chain_id: null, tags: null, is_testnet: null, symbol: null }
    const minimal = { name: "net", network_type: "evm" }
    assert.deepStrictEqual(decode({ ...minimal, ...nulls }), decode(minimal))
  })
})

const { from, rpc_urls, explorer_urls, average_blocktime_ms, is_testnet, tags } = UpdateNetwork.fields
const OfEveryType = Schema.Struct({ from, rpc_urls, explorer_urls, average_blocktime_ms, is_testnet, tags })

describe("a patch of a network", () => {
  it.effect.prop(
    "sets the given fields, removes those that are null, and keeps the others",
    [NetworkDefinition, OfEveryType],
    ([network, patch]) =>
      Effect.gen(function* () {
        const patched: Record<string, unknown> = { ...(yield* applyNetworkPatch(network, patch)) }
        const before: Record<string, unknown> = { ...network }
        const change: Record<string, unknown> = { ...patch }
        for (const field of new Set([...Object.keys(patched), ...Object.keys(before), ...Object.keys(change)])) {
          const expected = field in change ? (change[field] ?? undefined) : before[field]
          assert.deepStrictEqual(patched[field], expected, field)
          assert.strictEqual(field in patched, expected !== undefined, field)
        }
      })
  )

  it.effect.prop(
    "with fields of another network type is refused, and the error names each of them",
    [NetworkDefinition],
    ([network]) =>
      Effect.gen(function* () {
        const all = { symbol: "X", required_confirmations: 1, features: ["x"], horizon_url: "https://h.example" }
        const foreign = {
          evm: ["horizon_url"],
          solana: Object.keys(all),
          stellar: ["symbol", "required_confirmations", "features"]
        }
        const { error } = yield* Effect.flip(applyNetworkPatch(network, all))
        const expected = foreign[network.network_type].map(
          (field) => `${field}: is not a known field: only ${field === "horizon_url" ? "stellar" : "evm"} has it`
        )
        assert.sameMembers(error?.split("; ") ?? [], expected)
      })
  )
})
