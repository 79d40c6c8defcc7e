// The virtual machine as the bank of a cluster: it executes as the bank without one does, and forks leave nothing in it.
import { assert, describe, it } from "@effect/vitest"
import type { BuiltInstruction } from "../../src/domain/transaction/solana/WireEncoding.ts"
import { memoProgram, systemProgram, tokenProgram } from "../../src/domain/transaction/solana/Programs.ts"
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
const after = (cluster: Cluster.Cluster, instructions: ReadonlyArray<BuiltInstruction>) => {
  cluster.take(signed(cluster, 1, instructions))
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
