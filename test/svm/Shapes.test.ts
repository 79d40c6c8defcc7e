// Random own instructions on the virtual machine, a third of them with one change: what passes the rules costs the relayer at most
// what the rules count, and leaves it the power over its token accounts. `SVM_SHAPES` sets how many.
import { assert, describe, it } from "@effect/vitest"
import * as SolanaAccounts from "../../src/networks/solana/chain/SolanaAccounts.ts"
import { derivations } from "../../src/networks/solana/chain/SolanaAccounts.ts"
import { brokenRule, nativeToken, spendingOf } from "../../src/networks/solana/rules/Guard.ts"
import type { Guarded } from "../../src/networks/solana/rules/Guard.ts"
import * as Programs from "../../src/networks/solana/rules/Programs.ts"
import { feeOf } from "../../src/networks/solana/rules/Programs.ts"
import * as Wire from "../../src/networks/solana/rules/Wire.ts"
import { decodeBase58 } from "../../src/networks/solana/rules/Wire.ts"
import type { BuiltInstruction } from "../../src/networks/solana/rules/Wire.ts"
import type { Account, Accounts } from "../../testkit/solana/Accounts.ts"
import * as Bank from "../../testkit/solana/Bank.ts"
import * as Machine from "../../testkit/solana/Machine.ts"
import * as Svm from "../../testkit/solana/Svm.ts"
import * as Tokens from "../../testkit/solana/Tokens.ts"
import { random } from "../networks/solana/rules/explorer/Random.ts"
import { u32, u64 } from "../../testkit/solana/Messages.ts"
import { addressOf, sol } from "../testkit/solana/World.ts"

const requests = Number(process.env["SVM_SHAPES"] ?? 1000)

const { systemProgram, tokenProgram, associatedTokenProgram, memoProgram } = Programs
const [relayer = "", other = "", mint = "", treasury = ""] = [1, 2, 8, 9].map(addressOf)

const seed = [...Buffer.from("v")]
const seedAccount = derivations.withSeed(relayer, Uint8Array.from(seed), systemProgram)
const keyBytes = (address: string): ReadonlyArray<number> => [...(decodeBase58(address) ?? [])]
const tokensOf = (wallet: string, of = mint) => derivations.associated(wallet, of, tokenProgram)

/** Tokens of the relayer and of others, wrapped lamports, and an account whose delegate is nobody. */
const start: Accounts = new Map<string, Account>([
  [relayer, { lamports: 100n * sol, owner: systemProgram, data: new Uint8Array(0) }],
  [other, { lamports: sol, owner: systemProgram, data: new Uint8Array(0) }],
  [seedAccount, { lamports: 3n * sol, owner: systemProgram, data: new Uint8Array(0) }],
  [mint, Tokens.mint({ decimals: 0 })],
  [nativeToken, Tokens.mint({ decimals: 9 })],
  [tokensOf(relayer), Tokens.holding({ mint, owner: relayer, amount: 1000n })],
  [tokensOf(other), Tokens.holding({ mint, owner: other, amount: 1000n })],
  [treasury, Tokens.holding({ mint, owner: other, amount: 500n })],
  ...[relayer, other].map(
    (owner) =>
      [
        tokensOf(owner, nativeToken),
        Tokens.holding({ mint: nativeToken, owner, amount: 5n * sol, isNative: true })
      ] as const
  )
])

const { chance, int, pick } = random(11)

interface Given {
  readonly program: string
  readonly accounts: ReadonlyArray<string>
  readonly data: ReadonlyArray<number>
}

const amount = () => int(3_000_000)

const shapes: ReadonlyArray<() => Given> = [
  () => ({ program: systemProgram, accounts: [relayer, other], data: [...u32(2), ...u64(1_000_000 + amount())] }),
  () => ({
    program: systemProgram,
    accounts: [seedAccount, relayer, other],
    data: [...u32(11), ...u64(amount()), ...u64(seed.length), ...seed, ...keyBytes(systemProgram)]
  }),
  () => {
    const name = [...Buffer.from(`s${int(1000)}`)]
    const created = derivations.withSeed(relayer, Uint8Array.from(name), systemProgram)
    return {
      program: systemProgram,
      accounts: [relayer, created],
      data: [
        ...u32(3),
        ...keyBytes(relayer),
        ...u64(name.length),
        ...name,
        ...u64(1_000_000 + amount()),
        ...u64(0),
        ...keyBytes(systemProgram)
      ]
    }
  },
  () => ({
    program: tokenProgram,
    accounts: [tokensOf(relayer), tokensOf(other), relayer],
    data: [3, ...u64(int(1200))]
  }),
  () => ({
    program: tokenProgram,
    accounts: [tokensOf(relayer), mint, pick([tokensOf(other), treasury]), relayer],
    data: [12, ...u64(int(1200)), 0]
  }),
  () => ({
    program: tokenProgram,
    accounts: [tokensOf(relayer, nativeToken), nativeToken, tokensOf(other, nativeToken), relayer],
    data: [12, ...u64(amount()), 9]
  }),
  () => ({
    program: tokenProgram,
    accounts: [tokensOf(relayer, nativeToken), tokensOf(other, nativeToken), relayer],
    data: [3, ...u64(amount())]
  }),
  () => ({ program: tokenProgram, accounts: [tokensOf(relayer, nativeToken), relayer, relayer], data: [9] }),
  () => {
    const wallet = addressOf(30 + int(5))
    return {
      program: associatedTokenProgram,
      accounts: [relayer, tokensOf(wallet), wallet, mint, systemProgram, tokenProgram],
      data: [1]
    }
  },
  () => ({ program: memoProgram, accounts: [relayer], data: [...Buffer.from("hello")] })
]

/** Token instructions whose first byte is not one of the shapes: authorities, approvals, burns, batches. */
const otherKinds = [4, 6, 8, 13, 15, 17, 38, 45, 255]

const changes: ReadonlyArray<(given: Given) => Given> = [
  (given) => ({ ...given, data: given.data.map((byte, index) => (index === 0 ? pick(otherKinds) : byte)) }),
  (given) => {
    const at = int(given.data.length)
    return { ...given, data: given.data.map((byte, index) => (index === at ? int(256) : byte)) }
  },
  (given) => ({ ...given, data: [...given.data, int(256)] }),
  (given) => ({ ...given, data: given.data.slice(0, -1) }),
  (given) => {
    const at = int(given.accounts.length)
    const account = pick([relayer, other, mint, treasury, tokensOf(other), tokensOf(relayer)])
    return { ...given, accounts: given.accounts.map((one, index) => (index === at ? account : one)) }
  },
  (given) => ({ ...given, accounts: [...given.accounts, pick([relayer, other, tokensOf(other)])] }),
  (given) => ({
    ...given,
    program: pick([systemProgram, tokenProgram, associatedTokenProgram, Programs.token2022Program])
  })
]

/** Writable wherever the runtime allows it, and signed by the relayer: the most that a message can give an instruction. */
const built = ({ program, accounts, data }: Given): BuiltInstruction => ({
  program,
  accounts: accounts.map((address) => ({ address, isWritable: address !== systemProgram && address !== tokenProgram })),
  data: Uint8Array.from(data)
})

const guardedOf = (given: Given): Guarded => {
  const message = Wire.buildMessage({ payer: relayer, instructions: [built(given)], blockhash: mint })
  const messageBytes = Wire.messageBytes(message)
  const states = message.keys.map((key) => {
    const account = start.get(key)
    return [key, SolanaAccounts.stateOf(account && Bank.shown(account))] as const
  })
  return {
    transaction: { message, messageBytes, signatures: [undefined], size: messageBytes.length + 65 },
    form: "instructions",
    terms: { relayer, maxFee: 1_000_000n, authority: "own_instructions", authorityPrograms: [], feeMints: [] },
    derivations,
    read: { tables: new Map(), accounts: new Map(states) }
  }
}

/** What the relayer owns in lamports: its account, wrapped ones, and an account that only it can move. */
const valueOf = (accounts: Accounts): bigint =>
  Bank.lamportsOf(accounts, relayer) +
  Tokens.amountOf(accounts.get(tokensOf(relayer, nativeToken))) +
  Bank.lamportsOf(accounts, seedAccount)

/** Token accounts of the relayer, with whom they obey. */
const authoritiesOf = (accounts: Accounts) =>
  [...accounts].flatMap(([address, account]) => {
    const info = Bank.shown(account)
    const state = SolanaAccounts.stateOf(info)
    return state._tag === "Token" && state.owner === relayer
      ? [[address, SolanaAccounts.authoritiesOf(info)] as const]
      : []
  })

const othersOf = (accounts: Accounts): ReadonlyArray<bigint> =>
  [tokensOf(other), treasury, tokensOf(other, nativeToken)].map((address) => Tokens.amountOf(accounts.get(address)))

const name = Svm.installed()

describe("own instructions on the virtual machine", () => {
  it.runIf(name !== undefined)("cost at most what the rules count, and change no authority", () => {
    const run = Machine.make(name ?? "")
    const count = { passed: 0, executed: 0, changed: 0 }
    for (let number = 0; number < requests; number++) {
      const sound = pick(shapes)()
      const isChanged = chance(1 / 3)
      const given = isChanged ? pick(changes)(sound) : sound
      const guarded = guardedOf(given)
      if (brokenRule(guarded) !== undefined) continue
      const spending = spendingOf(guarded)
      if ("code" in spending) assert.fail(spending.message)
      count.passed++
      if (isChanged) count.changed++
      const { accounts, error } = run(start, guarded.transaction)
      if (error === null) count.executed++
      const text = `request ${number}: ${JSON.stringify(given)}`
      const fee = feeOf(guarded.transaction.message).total
      const lost = Bank.lamportsOf(start, relayer) - Bank.lamportsOf(accounts, relayer)
      assert.isTrue(lost <= fee + spending.out, text)
      assert.isTrue(valueOf(start) - valueOf(accounts) <= fee + spending.spent, text)
      const after = new Map(authoritiesOf(accounts))
      for (const [address, authorities] of authoritiesOf(start)) {
        if (accounts.has(address)) assert.deepStrictEqual(after.get(address), authorities, text)
      }
      for (const [index, held] of othersOf(accounts).entries())
        assert.isTrue(held >= (othersOf(start)[index] ?? 0n), text)
      const account = accounts.get(relayer)
      assert.deepStrictEqual([account?.owner, account?.data.length], [systemProgram, 0], text)
    }
    const figures = JSON.stringify(count)
    assert.isAbove(count.passed, requests / 3, figures)
    assert.isAbove(count.executed, requests / 4, figures)
    assert.isAbove(count.changed, requests / 50, figures)
  })
})
