// What an inspection of a chain found wrong, as sentences.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import { chainWarnings, sendsNothing, sendsNothingText, snapshotOf } from "../../../src/domain/health/ChainWarnings.ts"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import type { RelayerStatus } from "../../../src/domain/relayer/RelayerStatus.ts"

const relayer = Schema.decodeSync(Relayer)({
  id: "one",
  name: "One",
  network: "testnet",
  network_type: "stellar",
  address: "GONE",
  paused: false,
  system_disabled: false,
  signer_id: "one"
})

const provider = { url: "https://rpc.example.com/***", weight: 100, breaker: "closed", failed: false } as const
const failed = { ...provider, failed: true, code: "unreachable", error: "getNetwork: HTTP 503" } as const

const status = (more: Partial<RelayerStatus>) =>
  ({
    network_type: "stellar",
    live: true,
    paused: false,
    system_disabled: false,
    health: "unknown",
    next_check_at: DateTime.makeUnsafe(0),
    pending_transactions_count: 0,
    providers: [provider],
    ...more
  }) as RelayerStatus

const warnings = (more: Partial<RelayerStatus>) => chainWarnings(relayer, snapshotOf(status(more)))

describe("the warnings of a chain", () => {
  it("are empty if a provider answers and the account has what it needs", () => {
    assert.deepStrictEqual(warnings({ balance: 10_000_000n }), [])
  })

  it("name each failing RPC URL and its cause", () => {
    assert.deepStrictEqual(warnings({ live: false, providers: [failed] }), [
      "RPC URL https://rpc.example.com/***: getNetwork: HTTP 503."
    ])
    assert.deepStrictEqual(warnings({ live: false, providers: [] }), ["No RPC URL has answered yet."])
  })

  it("say what creates an account that does not exist, unless the chain is the wrong one", () => {
    assert.deepStrictEqual(warnings({}), [
      "Send at least 10000000 stroop to GONE on stellar:testnet: it has 0 of the 10000000 that it needs."
    ])
    const wrong = { ...failed, code: "mismatch", error: "getNetwork: serves another chain" } as const
    assert.deepStrictEqual(warnings({ providers: [wrong] }), [
      "RPC URL https://rpc.example.com/***: getNetwork: serves another chain."
    ])
  })

  it("say that a solana relayer signs nothing if users have to pay and may pay with no token", () => {
    const solana = { network_type: "solana", network: "devnet", address: "R" } as const
    const token = { mint: "M" }
    assert.isTrue(sendsNothing(solana))
    assert.isTrue(sendsNothing({ ...solana, policies: { allowed_tokens: [] } }))
    assert.isFalse(sendsNothing({ ...solana, policies: { allowed_tokens: [token] } }))
    assert.isFalse(sendsNothing({ ...solana, policies: { fee_payment_strategy: "relayer" } }))
    assert.isFalse(sendsNothing({ ...solana, network_type: "stellar" }))
    const reading = { ...snapshotOf(status({ balance: 10_000_000n })), network_type: "solana" } as const
    assert.deepStrictEqual(chainWarnings(solana, reading), [sendsNothingText])
  })

  it("ignore the balance of an earlier check", () => {
    assert.deepStrictEqual(warnings({ live: false, balance: 0n, providers: [failed] }), [
      "RPC URL https://rpc.example.com/***: getNetwork: HTTP 503."
    ])
  })
})
