// What an inspection of a chain found wrong, as sentences.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import { chainWarnings, noticesOf, snapshotOf } from "../../../src/domain/health/ChainWarnings.ts"
import { knownProtocol } from "../../../src/domain/chain/ChainSnapshot.ts"
import { sentenceOf } from "../../../src/domain/health/Funding.ts"
import { EvmNetwork } from "../../../src/domain/network/Network.ts"
import type { StellarPolicy } from "../../../src/domain/relayer/Policy.ts"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import type { RelayerStatus } from "../../../src/domain/relayer/Relayer.ts"

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

  it("say that min_balance may be 0 where no balance is needed, unless the policy asks for one", () => {
    const funding = {
      address: "0x1",
      network: "evm:acme",
      unit: "wei",
      balance: 0n,
      min_balance: 1n,
      missing: 1n
    } as const
    const hint = "If the network charges no fees, set min_balance: 0 in the policies of the relayer."
    assert.include(sentenceOf(funding), hint)
    assert.notInclude(sentenceOf({ ...funding, min_balance: 100n, missing: 100n }), hint)
    assert.notInclude(sentenceOf({ ...funding, balance: 5n, missing: 9n }), hint)
    assert.notInclude(sentenceOf({ ...funding, unit: "lamport" }), hint)
  })

  it("say that a relayer signs nothing if users have to pay and may pay with no token", () => {
    const solana = { network_type: "solana", network: "devnet", address: "R" } as const
    const codes = (given: Parameters<typeof noticesOf>[0]) => noticesOf(given, undefined).map(({ code }) => code)
    const user = { fee_payment_strategy: "user" } as const
    assert.deepStrictEqual(codes(solana), ["sends_nothing"])
    assert.deepStrictEqual(codes({ ...solana, policies: { allowed_tokens: [] } }), ["sends_nothing"])
    assert.deepStrictEqual(codes({ ...solana, policies: { allowed_tokens: [{ mint: "M" }] } }), [])
    assert.deepStrictEqual(codes({ ...solana, policies: { fee_payment_strategy: "relayer" } }), [])
    const stellar = { network_type: "stellar", network: "testnet", address: "G" } as const
    assert.deepStrictEqual(codes(stellar), [])
    assert.deepStrictEqual(codes({ ...stellar, policies: user }), ["sends_nothing"])
    assert.deepStrictEqual(codes({ ...stellar, policies: { ...user, allowed_tokens: [{ asset: "A" }] } }), [])
    const reading = { ...snapshotOf(status({ balance: 10_000_000n })), network_type: "solana" } as const
    assert.include(chainWarnings(solana, reading).join(), "The relayer signs nothing")
  })

  it("say that sends are refused if the policy asks for private transactions and there is no private RPC URL", () => {
    const account = { network_type: "evm", network: "acme", address: "0x1" } as const
    const network = Schema.decodeSync(EvmNetwork)({
      id: "evm:acme",
      name: "acme",
      network_type: "evm",
      source: "own",
      rpc_urls: [],
      explorer_urls: [],
      average_blocktime_ms: 1000,
      is_testnet: true,
      features: [],
      symbol: "ETH",
      chain_id: 1,
      required_confirmations: 1
    })
    const url = { url: "https://private.example.com/***", weight: 1 }
    const codes = (private_transactions: boolean, weights: ReadonlyArray<number>) =>
      noticesOf({ ...account, policies: { private_transactions } }, undefined, {
        ...network,
        ...(weights.length === 0 ? {} : { private_rpc_urls: weights.map((weight) => ({ ...url, weight })) })
      }).map(({ code }) => code)
    assert.deepStrictEqual(codes(true, []), ["no_private_rpc"])
    assert.deepStrictEqual(codes(true, [0]), ["no_private_rpc"])
    assert.deepStrictEqual(codes(true, [0, 1]), [])
    assert.deepStrictEqual(codes(false, []), [])
  })

  it("name settings of a stellar policy that the service bounds or does not use", () => {
    const warned = (policies: StellarPolicy) => noticesOf({ ...relayer, network_type: "stellar", policies }, undefined)
    for (const seconds of [14n, 301n, 600n]) {
      const [notice] = warned({ timeout_seconds: seconds })
      assert.strictEqual(notice?.code, "timeout_bounded")
      assert.include(notice?.text ?? "", `is ${seconds}; the nearest of 15 and 300 seconds is used`)
    }
    for (const seconds of [15n, 300n]) assert.deepStrictEqual(warned({ timeout_seconds: seconds }), [])
    assert.deepStrictEqual(
      warned({ swap_config: { strategies: ["order-book"] } }).map(({ code }) => code),
      ["not_used"]
    )
    const codes = (policies: StellarPolicy) => warned(policies).map(({ code }) => code)
    assert.deepStrictEqual(codes({ concurrent_transactions: true }), ["no_channels"])
    assert.deepStrictEqual(codes({ concurrent_transactions: true, channels: { count: 0 } }), ["no_channels"])
    assert.deepStrictEqual(codes({ concurrent_transactions: true, channels: { count: 1 } }), [])
    assert.deepStrictEqual(codes({ concurrent_transactions: false }), [])
  })

  it("name a clock, a ledger and a store that keep stellar relayers from signing or proving", () => {
    const codes = (age_seconds: number, kept_seconds?: number) => {
      const ledger = { age_seconds, ...(kept_seconds === undefined ? {} : { kept_seconds }) }
      return noticesOf(relayer, { network_type: "stellar", failures: [], providers: [], ledger }).map(
        ({ code }) => code
      )
    }
    assert.deepStrictEqual(codes(60, 86_400), [])
    assert.deepStrictEqual(codes(-60), [])
    assert.deepStrictEqual(codes(61), ["ledger_stalled"])
    assert.deepStrictEqual(codes(-61), ["clock_skew"])
    assert.deepStrictEqual(codes(5, 86_399), ["store_too_short"])
  })

  it("name a protocol that is newer than this version knows, by the newest provider", () => {
    const codes = (...versions: ReadonlyArray<number>) => {
      const providers = versions.map((protocol_version) => ({ ...provider, protocol_version }))
      return noticesOf(relayer, { network_type: "stellar", failures: [], providers }).map(({ code }) => code)
    }
    assert.deepStrictEqual(codes(), [])
    assert.deepStrictEqual(codes(knownProtocol, knownProtocol - 1), [])
    assert.deepStrictEqual(codes(knownProtocol, knownProtocol + 1), ["protocol_unknown"])
  })

  it("ignore the balance of an earlier check", () => {
    assert.deepStrictEqual(warnings({ live: false, balance: 0n, providers: [failed] }), [
      "RPC URL https://rpc.example.com/***: getNetwork: HTTP 503."
    ])
  })
})
