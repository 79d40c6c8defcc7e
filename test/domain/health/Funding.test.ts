// What to send to the account of a relayer, and where.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import { explain } from "../../../src/domain/health/HealthExplanation.ts"
import type { WaitingTransaction } from "../../../src/domain/health/HealthExplanation.ts"
import type { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import { fundingOf } from "../../../src/domain/health/Funding.ts"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"

const relayer = (network_type: "evm" | "solana" | "stellar", policies?: object) =>
  Schema.decodeSync(Relayer)({
    id: "one",
    name: "One",
    network: "one",
    network_type,
    address: "address-of-one",
    paused: false,
    system_disabled: false,
    signer_id: "one",
    ...(policies === undefined ? {} : { policies })
  })

const missing = (of: Relayer, reading: ChainSnapshot | undefined) => fundingOf(of, reading)?.missing

const evm = (balance: bigint): ChainSnapshot => ({ network_type: "evm", balance, failures: [], providers: [] })
const noAccount: ChainSnapshot = {
  network_type: "stellar",
  failures: [{ type: "SequenceSyncFailed", code: "no_account" }],
  providers: []
}

describe("the funding of a relayer", () => {
  it("is what its balance lacks of its policy, or of the default of its network type", () => {
    assert.strictEqual(missing(relayer("evm", { min_balance: "100" }), evm(40n)), 60n)
    assert.isUndefined(missing(relayer("evm", { min_balance: "100" }), evm(100n)))
    assert.strictEqual(missing(relayer("evm"), evm(0n)), 1n)
    const solana: ChainSnapshot = { network_type: "solana", balance: 1n, failures: [], providers: [] }
    assert.strictEqual(missing(relayer("solana"), solana), 9_999_999n)
  })

  it("is unknown before a balance was read, and on a wrong chain", () => {
    assert.isUndefined(fundingOf(relayer("evm"), undefined))
    const unread: ChainSnapshot = { network_type: "evm", failures: [], providers: [] }
    assert.isUndefined(fundingOf(relayer("evm"), unread))
    const wrong = { ...evm(0n), failures: [{ type: "ChainIdMismatch", code: "mismatch" }] } as const
    assert.isUndefined(fundingOf(relayer("evm"), wrong))
  })

  it("creates a stellar account with two reserves, as its network has voted", () => {
    const ledger = { age_seconds: 1, base_reserve: 100_000_000n }
    assert.strictEqual(missing(relayer("stellar"), { ...noAccount, network_type: "stellar", ledger }), 200_000_000n)
  })

  it("creates a stellar account that does not exist", () => {
    assert.strictEqual(missing(relayer("stellar"), noAccount), 10_000_000n)
    assert.strictEqual(missing(relayer("stellar", { min_balance: "50000000" }), noAccount), 50_000_000n)
  })
})

describe("the explanation of a relayer whose checks succeed", () => {
  const said = (waiting: bigint, balance = 100n, front?: WaitingTransaction) =>
    explain({
      front,
      relayer: relayer("evm"),
      health: { status: "healthy", alerted_degraded: false, alerted_low: false },
      reading: evm(balance),
      next_at: DateTime.makeUnsafe(0),
      since: undefined,
      waiting
    })

  it("has a code of its own while a transaction waits for funds", () => {
    const { code, funding, next, reason, state } = said(60n)
    assert.deepStrictEqual([state, code, funding?.missing], ["waiting", "waiting_for_funds", 60n])
    assert.strictEqual(reason, "A transaction waits for funds. The last check found everything else well.")
    assert.match(next, /^Send at least 60 wei to address-of-one on evm:one: a transaction waits for it\. /)
    assert.deepStrictEqual([said(0n).state, said(0n).code], ["healthy", "all_well"])
  })

  it("names the first transaction that waits, what for, and since when", () => {
    const id = TransactionId.make("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b")
    const since = DateTime.makeUnsafe(1_000)
    const words = { reason: "The base fee is too high.", next: "It is checked again with each block." }
    const capped = said(0n, 100n, { id, code: "gas_price_above_cap", since, count: 1, words })
    assert.deepInclude(capped, {
      state: "waiting",
      code: "transaction_waits",
      reason: `Transaction ${id} waits. The base fee is too high.`,
      next: "It is checked again with each block.",
      front: { transaction_id: id, code: "gas_price_above_cap", since, count: 1 },
      since
    })
    const funds = said(60n, 100n, { id, code: "insufficient_funds", since, count: 1, words })
    assert.strictEqual(funds.code, "waiting_for_funds")
    assert.strictEqual(funds.reason, `Transaction ${id} waits for funds. The last check found everything else well.`)
  })

  it("says how many transactions wait in all", () => {
    const id = TransactionId.make("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b")
    const words = { reason: "The base fee is too high.", next: "It is checked again with each block." }
    const of = (code: "gas_price_above_cap" | "insufficient_funds") =>
      said(60n, 100n, { id, code, since: DateTime.makeUnsafe(0), count: 3, words })
    assert.include(of("gas_price_above_cap").reason, "too high. In all, 3 transactions of the relayer wait.")
    assert.include(
      of("insufficient_funds").reason,
      "waits for funds. In all, 3 transactions of the relayer wait. The last"
    )
    assert.strictEqual(of("insufficient_funds").front?.count, 3)
  })

  it("says first what is wrong with a relayer that the service has disabled", () => {
    const reason = { type: "BalanceCheckFailed", details: "the balance is below min_balance" } as const
    const health = {
      status: "disabled",
      reason,
      failures: 2,
      answered: true,
      alerted_degraded: false,
      alerted_low: false
    } as const
    const at = DateTime.makeUnsafe(0)
    const given = { relayer: relayer("evm"), health, reading: evm(100n), next_at: at, since: at, waiting: 60n }
    assert.deepInclude(explain(given), { state: "disabled", code: "BalanceCheckFailed" })
  })
})
