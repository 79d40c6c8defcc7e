// Chain snapshots keep every digit as JSON.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import * as ExactJson from "../../../src/domain/request/ExactJson.ts"

const encode = Schema.encodeSync(ChainSnapshot)
const decode = Schema.decodeUnknownSync(ChainSnapshot)

const found = {
  failures: [{ type: "BalanceCheckFailed", code: "too_low" }],
  providers: [{ url: "https://rpc.example.com/***", weight: 100, breaker: "half_open", failed: true, code: "refused" }]
} as const

describe("a chain snapshot", () => {
  const readings: ReadonlyArray<ChainSnapshot> = [
    { network_type: "evm", balance: 2n ** 128n - 1n, nonce: 2n ** 64n - 1n, ...found },
    { network_type: "solana", balance: 2n ** 53n + 1n, ...found },
    { network_type: "stellar", balance: 0n, sequence_number: 2n ** 63n - 1n, ...found },
    { network_type: "stellar", failures: [], providers: [] }
  ]
  it.each(readings)("of $network_type is unchanged by encoding and decoding", (reading) => {
    assert.deepStrictEqual(decode(ExactJson.parse(JSON.stringify(encode(reading)))), reading)
  })

  it("has only the fields of its network type", () => {
    assert.notProperty(decode({ network_type: "solana", nonce: 1, failures: [], providers: [] }), "nonce")
    assert.throws(() => decode({ network_type: "evm", balance: 2n ** 256n, failures: [], providers: [] }))
  })
})
