// The virtual machine as the bank of a cluster: it executes as the bank without one does, and forks leave nothing in it.
import { assert, describe, it } from "@effect/vitest"
import type { MessageConfig } from "../../src/networks/solana/rules/Message.ts"
import {
  computeBudgetProgram,
  memoProgram,
  systemProgram,
  tokenProgram
} from "../../src/networks/solana/rules/Programs.ts"
import { maxLoadedBytes } from "../../src/networks/solana/rules/SolanaNumbers.ts"
import type { BuiltInstruction } from "../../src/networks/solana/rules/Wire.ts"
import * as Bank from "../../testkit/solana/Bank.ts"
import * as Cluster from "../../testkit/solana/Cluster.ts"
import * as Machine from "../../testkit/solana/Machine.ts"
import * as Svm from "../../testkit/solana/Svm.ts"
import * as Tokens from "../../testkit/solana/Tokens.ts"
import { addressOf, signed, sol } from "../testkit/solana/World.ts"
import { u64 } from "../../testkit/solana/Messages.ts"

const [payer, other, mint, source, destination, frozen] = [1, 2, 8, 11, 12, 13].map(addressOf)

const writable = (...addresses: ReadonlyArray<string | undefined>) =>
  addresses.map((address = "") => ({ address, isWritable: true }))

const transfer = (lamports: bigint): BuiltInstruction => ({
  program: systemProgram,
  accounts: writable(payer, other),
  data: Uint8Array.from([2, 0, 0, 0, ...u64(lamports)])
})

const tokens = (amount: bigint, to = destination, decimals = 6): BuiltInstruction => ({
  program: tokenProgram,
  accounts: writable(source, mint, to, payer),
  data: Uint8Array.from([12, ...u64(amount), decimals])
})

const memo: BuiltInstruction = { program: memoProgram, accounts: [], data: Buffer.from("hello") }

const cases: Readonly<Record<string, ReadonlyArray<BuiltInstruction>>> = {
  "a transfer": [transfer(sol)],
  "a transfer below the rent minimum": [transfer(5n)],
  "a transfer of more than there is": [transfer(100n * sol)],
  "tokens and a memo": [tokens(40n), memo],
  "more tokens than there are": [tokens(101n)],
  "tokens to a frozen account": [tokens(1n, frozen)],
  "tokens with wrong decimals": [tokens(1n, destination, 9)],
  "an instruction that fails after one that succeeds": [tokens(40n), transfer(100n * sol)]
}

/** Version 1: what a message that asks for so much leads to. */
const configs: Readonly<Record<string, MessageConfig>> = {
  "enough for everything": { computeUnitLimit: 100_000, loadedBytes: maxLoadedBytes, heapBytes: 65_536 },
  "a priority fee": { priorityFee: 1_234_567n, computeUnitLimit: 100_000, loadedBytes: maxLoadedBytes },
  "no units": { priorityFee: 5n, loadedBytes: maxLoadedBytes },
  "too few units": { computeUnitLimit: 100, loadedBytes: maxLoadedBytes },
  "no loaded bytes": { computeUnitLimit: 100_000 },
  nothing: {}
}

const make = (run: Bank.Run) => {
  const cluster = Cluster.make({ run })
  cluster.fund(payer ?? "", 10n * sol)
  cluster.put({
    [mint ?? ""]: Tokens.mint({ decimals: 6 }),
    [source ?? ""]: Tokens.holding({ mint: mint ?? "", owner: payer ?? "", amount: 100n }),
    [destination ?? ""]: Tokens.holding({ mint: mint ?? "", owner: other ?? "", amount: 1n }),
    [frozen ?? ""]: Tokens.holding({ mint: mint ?? "", owner: other ?? "", amount: 1n, isFrozen: true })
  })
  return cluster
}

/** What the cluster shows after a transaction: lamports, tokens, and whether it failed. */
const after = (cluster: Cluster.Cluster, instructions: ReadonlyArray<BuiltInstruction>, config?: MessageConfig) => {
  cluster.take(signed(cluster, 1, instructions, config))
  cluster.produce()
  const [executed] = cluster.blocks.at(-1)?.transactions ?? []
  return {
    isFailed: executed === undefined ? undefined : executed.error !== null,
    lamports: [payer, other].map((address) => cluster.balanceOf(address ?? "")),
    tokens: [source, destination, frozen].map((address) => Tokens.amountOf(cluster.accountOf(address ?? "")))
  }
}

const name = Svm.installed()

describe("the virtual machine as a bank", () => {
  it.runIf(name !== undefined)("executes what the bank without one executes, with the same effect", () => {
    const run = Machine.make(name ?? "")
    for (const [what, instructions] of Object.entries(cases)) {
      assert.deepStrictEqual(after(make(run), instructions), after(make(Bank.run), instructions), what)
    }
  })

  it.runIf(name !== undefined && Svm.executesVersion1(name))("executes version 1 as the bank without one does", () => {
    const run = Machine.make(name ?? "")
    const dear: BuiltInstruction = {
      program: computeBudgetProgram,
      accounts: [],
      data: Buffer.from([3, ...u64(2n ** 40n)])
    }
    for (const [what, config] of Object.entries(configs)) {
      for (const instructions of [[transfer(sol)], [tokens(40n), memo], [dear, dear, transfer(sol)]]) {
        const found = after(make(run), instructions, config)
        const expected = after(make(Bank.run), instructions, config)
        // The machine takes no fee for what cannot be loaded. Agave does, and so does the bank.
        if (config.loadedBytes === undefined) assert.isUndefined(found.isFailed, what)
        else assert.deepStrictEqual(found, expected, what)
        const [payerHas = 0n, otherHas = 0n] = expected.lamports
        const fee = 5000n + (config.priorityFee ?? 0n)
        assert.strictEqual(payerHas + otherHas, 10n * sol - fee, `${what}: instructions for a price have no effect`)
      }
    }
  })

  it.runIf(name !== undefined && Svm.executesVersion1(name))("executes 4096 bytes of version 1", () => {
    const cluster = make(Machine.make(name ?? ""))
    const long: BuiltInstruction = { program: memoProgram, accounts: [], data: Buffer.alloc(3_800, "a") }
    const raw = signed(cluster, 1, [long], { computeUnitLimit: 1_400_000, loadedBytes: maxLoadedBytes })
    assert.isAbove(raw.length, 3_900)
    cluster.take(raw)
    cluster.produce()
    assert.deepStrictEqual(
      cluster.blocks.at(-1)?.transactions.map(({ error }) => error),
      [null]
    )
  })

  it.runIf(name !== undefined)("has the accounts of the fork that a transaction is executed on", () => {
    const cluster = make(Machine.make(name ?? ""))
    cluster.take(signed(cluster, 1, [transfer(sol)]))
    cluster.produce(2)
    assert.strictEqual(cluster.balanceOf(other ?? ""), sol)
    cluster.reorg(2)
    assert.strictEqual(cluster.balanceOf(other ?? ""), 0n)
    cluster.take(signed(cluster, 1, [transfer(2n * sol), tokens(1n)]))
    cluster.produce()
    assert.strictEqual(cluster.balanceOf(other ?? ""), 2n * sol)
  })
})
