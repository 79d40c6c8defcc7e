// Inspections of each type of chain, with servers that answer like its nodes.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { CheckFailure, ProviderReading } from "../../../src/domain/chain/ChainSnapshot.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as SolanaRpc from "../../../testkit/SolanaRpc.ts"
import * as StellarRpc from "../../../testkit/StellarRpc.ts"
import { evm, make, solana, stellar, urls } from "./fixtures.ts"

const healthy = (url: string): ProviderReading => ({
  url: `${new URL(url).origin}/***`,
  weight: 100,
  breaker: "closed",
  failed: false,
  latency_ms: 0
})

const only = (type: CheckFailure["type"], code: CheckFailure["code"]) => [{ type, code }]

describe("an inspection of an evm chain", () => {
  it.effect("reads nonce and balance", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make({ nonce: 300n, balance: 2n ** 128n - 1n })
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...evm(), urls: urls(server.url) })
      assert.deepStrictEqual(reading, {
        network_type: "evm",
        nonce: 300n,
        balance: 2n ** 128n - 1n,
        failures: [],
        providers: [healthy(server.url)]
      })
      assert.deepStrictEqual([server.count(), server.batches()], [3, 1])
      const asked = server.seen.find(({ method }) => method === "eth_getBalance")
      assert.deepStrictEqual(asked?.params, [`0x${"ab".repeat(20)}`, "latest"])
    })
  )

  it.effect("makes no further call if the chain id is wrong", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make({ chainId: 1n })
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...evm(), urls: urls(server.url) })
      assert.deepStrictEqual(reading.failures, only("ChainIdMismatch", "mismatch"))
      assert.notProperty(reading, "balance")
      assert.deepInclude(reading.providers[0], { failed: true, code: "mismatch", breaker: "closed" })
      assert.strictEqual(server.count(), 1)
    })
  )

  it.effect("ignores the numbers of a provider of another chain", () =>
    Effect.gen(function* () {
      const wrong = yield* EvmRpc.make({ chainId: 1n, nonce: 1n, balance: 1n })
      const right = yield* EvmRpc.make()
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...evm(), urls: urls(wrong.url, right.url) })
      assert.deepInclude(reading, { nonce: 7n, balance: 10n ** 18n, failures: [] })
      assert.deepStrictEqual(
        reading.providers.map(({ failed, code }) => [failed, code]),
        [
          [true, "mismatch"],
          [false, undefined]
        ]
      )
    })
  )

  it.effect("requires 1 wei, or the minimum of the policy", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make({ balance: 0n })
      const { chains } = yield* make()
      const inspect = (min_balance?: string) =>
        Effect.map(
          chains.inspect({ ...evm(min_balance ? { policies: { min_balance } } : {}), urls: urls(server.url) }),
          ({ failures }) => failures
        )
      assert.deepStrictEqual(yield* inspect(), only("BalanceCheckFailed", "too_low"))
      assert.deepStrictEqual(yield* inspect("0"), [])
      server.account.balance = 1n
      assert.deepStrictEqual(yield* inspect(), [])
      server.account.balance = 10n ** 20n
      assert.deepStrictEqual(yield* inspect("100000000000000000000"), [])
      assert.deepStrictEqual(yield* inspect("100000000000000000001"), only("BalanceCheckFailed", "too_low"))
    })
  )

  it.effect("reads a balance beyond 128 bits, such as the one that each account of a Tempo chain has", () =>
    Effect.gen(function* () {
      const tempo = 0x9612084f0316e0ebd5182f398e5195a51b5ca47667d4c9b26c9b26c9b26c9b2n
      const server = yield* EvmRpc.make({ balance: tempo })
      const { chains } = yield* make()
      const { balance, failures } = yield* chains.inspect({ ...evm(), urls: urls(server.url) })
      assert.deepStrictEqual({ balance, failures }, { balance: tempo, failures: [] })
    })
  )

  const impossible = ["-0x1", "0x", "12", 12, null, {}, `0x${"f".repeat(65)}`]
  it.effect.each(impossible)("refuses a balance of %j", (balance) =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.results.set("eth_getBalance", () => balance)
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...evm(), urls: urls(server.url) })
      assert.deepStrictEqual(reading.failures, only("BalanceCheckFailed", "invalid_answer"))
      assert.notProperty(reading, "balance")
      assert.deepInclude(reading, { nonce: 7n })
      assert.deepInclude(reading.providers[0], { failed: true, code: "invalid_answer" })
    })
  )

  it.effect("reports the failure of one call and the result of the other", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ error: -32601 }, { method: "eth_getTransactionCount" })
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...evm(), urls: urls(server.url) })
      assert.deepStrictEqual(reading.failures, only("NonceSyncFailed", "refused"))
      assert.deepInclude(reading, { balance: 10n ** 18n })
      assert.notProperty(reading, "nonce")
    })
  )
})

describe("an inspection of a solana cluster", () => {
  it.effect("reads a balance with all its digits", () =>
    Effect.gen(function* () {
      const server = yield* SolanaRpc.make({ balance: 2n ** 64n - 1n })
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...solana(), urls: urls(server.url) })
      const { providers, ...found } = reading
      assert.deepStrictEqual(found, { network_type: "solana", balance: 2n ** 64n - 1n, failures: [] })
      assert.deepStrictEqual(providers, [healthy(server.url)])
    })
  )

  it.effect("requires 10,000,000 lamports, or the minimum of the policy", () =>
    Effect.gen(function* () {
      const server = yield* SolanaRpc.make({ balance: 9_999_999n })
      const { chains } = yield* make()
      const inspect = (policies: object) => chains.inspect({ ...solana({ policies }), urls: urls(server.url) })
      assert.deepStrictEqual((yield* inspect({})).failures, only("BalanceCheckFailed", "too_low"))
      assert.deepStrictEqual((yield* inspect({ min_balance: 9_999_999 })).failures, [])
      server.account.balance = 10_000_000n
      assert.deepStrictEqual((yield* inspect({})).failures, [])
    })
  )

  it.effect("requires a valid latest blockhash", () =>
    Effect.gen(function* () {
      const server = yield* SolanaRpc.make()
      const { chains } = yield* make()
      const inspect = Effect.map(chains.inspect({ ...solana(), urls: urls(server.url) }), ({ failures }) => failures)
      server.results.set("getLatestBlockhash", () => ({ value: { blockhash: "0OIl" } }))
      assert.deepStrictEqual(yield* inspect, only("RpcValidationFailed", "invalid_answer"))
      // -32005: the node lags behind.
      server.fail({ error: -32005 }, { method: "getLatestBlockhash" })
      assert.deepStrictEqual(yield* inspect, only("RpcValidationFailed", "unreachable"))
    })
  )
})

describe("an inspection of a stellar network", () => {
  it.effect("reads sequence number, balance and the age of the newest ledger", () =>
    Effect.gen(function* () {
      const ledger = { newest: 200, oldest: 101, closeTime: () => 7 }
      const server = yield* StellarRpc.make({ balance: 2n ** 63n - 1n, ledger })
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...stellar(), urls: urls(server.url) })
      assert.deepStrictEqual(reading, {
        network_type: "stellar",
        sequence_number: 12_345_678_901_234_567n,
        balance: 2n ** 63n - 1n,
        ledger: { age_seconds: -7, base_reserve: 5_000_000n },
        failures: [],
        providers: [{ ...healthy(server.url), protocol_version: 23 }]
      })
    })
  )

  it.effect("reads how far the ledgers of a public network reach back", () =>
    Effect.gen(function* () {
      const ledger = { newest: 200, oldest: 101, closeTime: () => 0 }
      const server = yield* StellarRpc.make({ ledger })
      const { chains } = yield* make()
      const { network, ...target } = stellar()
      const reading = yield* chains.inspect({
        ...target,
        network: { ...network, average_blocktime_ms: 5000, is_testnet: false },
        urls: urls(server.url)
      })
      assert.deepInclude(reading, { ledger: { age_seconds: 0, base_reserve: 5_000_000n, kept_seconds: 500 } })
    })
  )

  it.effect("requires 1,000,000 stroops, or the minimum of the policy", () =>
    Effect.gen(function* () {
      const server = yield* StellarRpc.make({ balance: 999_999n })
      const { chains } = yield* make()
      const inspect = (policies: object) => chains.inspect({ ...stellar({ policies }), urls: urls(server.url) })
      assert.deepStrictEqual((yield* inspect({})).failures, only("BalanceCheckFailed", "too_low"))
      assert.deepStrictEqual((yield* inspect({ min_balance: 5 })).failures, [])
      server.account.balance = 1_000_000n
      assert.deepStrictEqual((yield* inspect({})).failures, [])
    })
  )

  it.effect("reports that the account does not exist", () =>
    Effect.gen(function* () {
      const server = yield* StellarRpc.make({ address: undefined })
      const { chains } = yield* make()
      const inspect = Effect.map(chains.inspect({ ...stellar(), urls: urls(server.url) }), ({ failures }) => failures)
      assert.deepStrictEqual(yield* inspect, only("SequenceSyncFailed", "no_account"))
      server.results.set("getLedgerEntries", () => ({ entries: null, latestLedger: 1 }))
      assert.deepStrictEqual(yield* inspect, only("SequenceSyncFailed", "no_account"))
    })
  )

  it.effect("finds the wrong chain if the passphrase differs", () =>
    Effect.gen(function* () {
      const server = yield* StellarRpc.make({ passphrase: "Public Global Stellar Network ; September 2015" })
      const { chains } = yield* make()
      const reading = yield* chains.inspect({ ...stellar(), urls: urls(server.url) })
      assert.deepStrictEqual(reading.failures, only("ChainIdMismatch", "mismatch"))
    })
  )

  it.effect("refuses the entry of another account, and entries that are not accounts", () =>
    Effect.gen(function* () {
      const server = yield* StellarRpc.make({ address: "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7" })
      const { chains } = yield* make()
      const inspect = Effect.map(chains.inspect({ ...stellar(), urls: urls(server.url) }), ({ failures }) => failures)
      assert.deepStrictEqual(yield* inspect, only("SequenceSyncFailed", "invalid_answer"))
      for (const xdr of ["", "AAAA", "no base64", StellarRpc.entry(StellarRpc.address, -1n, 1n)]) {
        server.results.set("getLedgerEntries", () => ({ entries: [{ xdr }] }))
        assert.deepStrictEqual(yield* inspect, only("SequenceSyncFailed", "invalid_answer"), xdr)
      }
    })
  )
})
