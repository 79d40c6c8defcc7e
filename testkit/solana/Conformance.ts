// One script of raw calls for a validator and for the cluster in memory, whose answers are compared one by one. What depends on the time or
// on the chain is replaced by what it is, so that answers of two chains can be the same.
import { getProgramDerivedAddress, getAddressEncoder, address as addressOf } from "@solana/addresses"
import { Effect } from "effect"
import type { MessageConfig } from "../../src/networks/solana/rules/Message.ts"
import { computeBudgetProgram, memoProgram, systemProgram } from "../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../src/networks/solana/rules/Wire.ts"
import { decodeBase58, encodeBase58 } from "../../src/networks/solana/rules/Wire.ts"
import type { BuildOptions, BuiltInstruction } from "../../src/networks/solana/rules/Wire.ts"
import { tableProgram } from "./Accounts.ts"
import * as Cluster from "./Cluster.ts"
import * as Keys from "./Keys.ts"
import type { Key } from "./Keys.ts"
import { u32, u64 } from "./Messages.ts"
import * as Node from "./Node.ts"

/** The answer of a node to a call: `result`, or `error`. */
type Answer = Readonly<Record<string, unknown>>

export interface Target {
  readonly ask: (method: string, params: ReadonlyArray<unknown>) => Effect.Effect<Answer>
  /** Ends when the chain has more blocks. */
  readonly grow: (blocks: number) => Effect.Effect<void>
}

/** The cluster in memory as Agave 4.1.2 runs one: with the same limit of bytes. */
export const standIn = (): Target => {
  const cluster = Cluster.make()
  cluster.time = 1_795_824_000
  cluster.produce(2 * Cluster.finality)
  const node = Node.make(cluster, "")
  node.maxBytes = 1232
  return {
    // As it travels: exact integers become numbers.
    ask: (method, params) => Effect.sync(() => JSON.parse(JSON.stringify(node.answer(method, params)))),
    grow: (blocks) => Effect.sync(() => cluster.produce(blocks))
  }
}

/** Blocks after which a block is final on each chain, and some more. */
const finality = 36

/** Blocks for which a blockhash is valid. */
const life = 150

const lamports = 1_000_000n

/** What each account of the script gets. */
const funds = 10_000_000_000

const budgetOf = (...data: ReadonlyArray<number>): BuiltInstruction => ({
  program: computeBudgetProgram,
  accounts: [],
  data: Uint8Array.from(data)
})

const memoOf = (bytes: number): BuiltInstruction => ({
  program: memoProgram,
  accounts: [],
  data: new Uint8Array(bytes).fill(97)
})

export const transferOf = (from: string, to: string, amount = lamports): BuiltInstruction => ({
  program: systemProgram,
  accounts: [
    { address: from, isWritable: true, isSigner: true },
    { address: to, isWritable: true }
  ],
  data: Uint8Array.from([2, 0, 0, 0, ...u64(amount)])
})

/** A transaction of one signer as base64, and its message. */
export const signed = (key: Key, options: Omit<BuildOptions, "payer">) => {
  const message = Wire.messageBytes(Wire.buildMessage({ payer: key.address, ...options }))
  const bytes = Wire.transactionBytes([key.sign(message)], message)
  return { raw: base64Of(bytes), message: base64Of(message) }
}

/** The instructions that make a lookup table at a slot and fill it, and its address. */
export const tableOf = async (owner: string, slot: number, addresses: ReadonlyArray<string>) => {
  const [table, bump] = await getProgramDerivedAddress({
    programAddress: addressOf(tableProgram),
    seeds: [getAddressEncoder().encode(addressOf(owner)), Uint8Array.from(u64(slot))]
  })
  const instruction = (...data: ReadonlyArray<number>): BuiltInstruction => ({
    program: tableProgram,
    accounts: [
      { address: table, isWritable: true },
      { address: owner, isWritable: true, isSigner: true },
      { address: owner, isWritable: true, isSigner: true },
      { address: systemProgram, isWritable: false }
    ],
    data: Uint8Array.from(data)
  })
  const entries = addresses.flatMap((one) => [...(decodeBase58(one) ?? [])])
  return {
    table,
    instructions: [
      instruction(...u32(0), ...u64(slot), bump),
      instruction(...u32(2), ...u64(addresses.length), ...entries)
    ]
  }
}

/** Numbers that depend on the time or on the chain, or that programs count. */
const varying: ReadonlySet<string> = new Set([
  "absoluteSlot",
  "blockHeight",
  "blockTime",
  "computeUnitsConsumed",
  "contextSlot",
  "costUnits",
  "epoch",
  "feature-set",
  "lastValidBlockHeight",
  "loadedAccountsDataSize",
  "parentSlot",
  "prioritizationFee",
  "slot",
  "slotIndex",
  "slotsInEpoch",
  "transactionCount",
  "transactionIndex",
  "unitsConsumed"
])

const wordsOf = (text: string): string => {
  if (text.endsWith("1111111") || text === memoProgram) return text
  if (decodeBase58(text, 64) !== undefined) return "(signature)"
  return decodeBase58(text) === undefined
    ? text.replaceAll(/[1-9A-HJ-NP-Za-km-z]{80,88}/gu, "(signature)")
    : "(32 bytes)"
}

const isEncoded = (list: ReadonlyArray<unknown>): boolean => list.length === 2 && list[1] === "base64"

/** Lists of many or unknown lengths are what their elements are. */
const listOf = (name: string, list: ReadonlyArray<unknown>): unknown => {
  if (isEncoded(list)) return [list[0] === "" ? "" : "(bytes)", "base64"]
  if (name === "logs" || name === "logMessages") return "(texts)"
  if (list.length > 0 && list.every((one) => typeof one === "number")) return "(numbers)"
  const shapes = new Map(list.map((one) => shapeOf(name, one)).map((one) => [JSON.stringify(one), one]))
  return [...shapes.values()]
}

/** An answer without what differs from chain to chain. */
const shapeOf = (name: string, value: unknown): unknown => {
  if (typeof value === "string") return wordsOf(value)
  if (typeof value === "number") return varying.has(name) ? "(number)" : value
  if (Array.isArray(value)) return listOf(name, value)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [key, shapeOf(key, one)] as const)
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** By what was asked. */
export type Answers = Readonly<Record<string, unknown>>

const processed = { commitment: "processed" }
const base64 = { encoding: "base64" }
const commitments = ["processed", "confirmed", "finalized"] as const

/** A slot that no chain of a test reaches. */
const farSlot = 1_000_000_000

export const run = Effect.fnUntraced(function* (target: Target) {
  const answers: Record<string, unknown> = {}
  const { ask, grow } = target

  const resultOf = <A>(method: string, ...params: ReadonlyArray<unknown>) =>
    Effect.flatMap(ask(method, params), (answer) =>
      "result" in answer
        ? Effect.succeed(answer["result"] as A)
        : Effect.die(new Error(`${method}: ${JSON.stringify(answer)}`))
    )
  /** Whether the results are integers: which ones depends on the time. */
  const areIntegers = (name: string, ...calls: ReadonlyArray<readonly [method: string, ...params: Array<unknown>]>) =>
    Effect.map(
      Effect.forEach(calls, (call) => resultOf<unknown>(...call)),
      (results) => {
        answers[name] = results.every(Number.isInteger) ? "integers" : results
      }
    )
  const note = (name: string, method: string, ...params: ReadonlyArray<unknown>) =>
    Effect.map(ask(method, params), ({ error, result }) => {
      answers[name] = shapeOf("", error === undefined ? { result } : { error })
    })

  const newKey = () => Keys.ofSeed(crypto.getRandomValues(new Uint8Array(32)))
  const [payer, poor, nobody] = [newKey(), newKey(), newKey()]
  const blockhash = (commitment = "processed") =>
    Effect.map(
      resultOf<{ readonly value: { readonly blockhash: string } }>("getLatestBlockhash", { commitment }),
      ({ value }) => value.blockhash
    )
  interface Made extends Partial<Omit<BuildOptions, "payer" | "instructions">> {
    readonly key?: Key
  }
  const make = (instructions: ReadonlyArray<BuiltInstruction>, { key = payer, ...options }: Made = {}) =>
    Effect.map(options.blockhash === undefined ? blockhash() : Effect.succeed(options.blockhash), (young) =>
      signed(key, { instructions, ...options, blockhash: young })
    )
  const unchecked = { ...base64, skipPreflight: true }
  const send = (instructions: ReadonlyArray<BuiltInstruction>, options?: Made) =>
    Effect.flatMap(make(instructions, options), ({ raw }) => resultOf<string>("sendTransaction", raw, unchecked))
  const fund = ({ address }: Key, amount: number) => resultOf("requestAirdrop", address, amount)

  yield* fund(payer, funds)
  // Less than a transfer and its rent.
  yield* fund(poor, 895_000)
  yield* grow(finality)

  yield* note("getHealth", "getHealth")
  yield* note("getVersion", "getVersion")
  yield* note("getGenesisHash", "getGenesisHash")
  yield* areIntegers("getFirstAvailableBlock", ["getFirstAvailableBlock"])
  yield* note("an unknown method", "getNothing")
  for (const commitment of commitments) {
    const options = { commitment }
    yield* note(`getEpochInfo, ${commitment}`, "getEpochInfo", options)
    yield* note(`getLatestBlockhash, ${commitment}`, "getLatestBlockhash", options)
    yield* note(`getBalance, ${commitment}`, "getBalance", payer.address, options)
    yield* areIntegers(`getBlockHeight and getSlot, ${commitment}`, ["getBlockHeight", options], ["getSlot", options])
  }
  yield* note("getEpochInfo without a commitment", "getEpochInfo")
  yield* note("getBalance of nobody", "getBalance", nobody.address)
  yield* note("getBalance at a slot to come", "getBalance", nobody.address, { minContextSlot: farSlot })
  yield* note("getMinimumBalanceForRentExemption, 0", "getMinimumBalanceForRentExemption", 0)
  yield* note("getMinimumBalanceForRentExemption, 165", "getMinimumBalanceForRentExemption", 165)
  yield* note("getAccountInfo", "getAccountInfo", payer.address, base64)
  yield* note("getAccountInfo of nobody", "getAccountInfo", nobody.address, base64)
  yield* note("getMultipleAccounts", "getMultipleAccounts", [payer.address, nobody.address], base64)
  const of = (count: number) => Array.from({ length: count }, () => nobody.address)
  yield* note("getMultipleAccounts, 101", "getMultipleAccounts", of(101), base64)
  yield* note("getTokenAccountBalance of an account without tokens", "getTokenAccountBalance", payer.address)
  yield* note("getTokenAccountBalance of nobody", "getTokenAccountBalance", nobody.address)
  yield* note("getRecentPrioritizationFees", "getRecentPrioritizationFees")
  yield* note("getRecentPrioritizationFees, 129", "getRecentPrioritizationFees", of(129))
  const young = yield* blockhash()
  yield* note("isBlockhashValid of a young one", "isBlockhashValid", young, processed)
  yield* note("isBlockhashValid of an unknown one", "isBlockhashValid", nobody.address, processed)
  const unknown = encodeBase58(new Uint8Array(64).fill(7))
  const list = (name: string, options?: object, address = nobody.address) =>
    note(
      `getSignaturesForAddress ${name}`,
      "getSignaturesForAddress",
      address,
      ...(options === undefined ? [] : [options])
    )
  yield* list("of nobody")
  yield* list("with the limit 0", { limit: 0 })
  yield* list("with the limit 1001", { limit: 1001 })
  yield* list("at processed", processed)
  yield* list("before an unknown one", { before: unknown })
  yield* note("getSignatureStatuses of an unknown one", "getSignatureStatuses", [unknown])
  const searching = { searchTransactionHistory: true }
  yield* note("getSignatureStatuses of an unknown one, in history", "getSignatureStatuses", [unknown], searching)
  const many = Array.from({ length: 257 }, () => unknown)
  yield* note("getSignatureStatuses, 257", "getSignatureStatuses", many)
  yield* note("getTransaction of an unknown one", "getTransaction", unknown, base64)
  yield* note("getTransaction at processed", "getTransaction", unknown, processed)
  yield* note("getBlock of a slot to come", "getBlock", farSlot, { maxSupportedTransactionVersion: 1 })
  yield* note("getBlocksWithLimit from a slot to come", "getBlocksWithLimit", farSlot, 1)
  yield* note("getBlocks from a slot to come", "getBlocks", farSlot, farSlot + 1)

  const pay = transferOf(payer.address, nobody.address)
  const price = budgetOf(3, ...u64(1_000_000))
  const named = (name: string, instructions: ReadonlyArray<BuiltInstruction>, options?: Made) =>
    Effect.flatMap(make(instructions, options), ({ message }) =>
      note(`getFeeForMessage ${name}`, "getFeeForMessage", message, processed)
    )
  const config: MessageConfig = { priorityFee: 7n, computeUnitLimit: 10_000, loadedBytes: 1_000_000 }
  yield* named("of a transfer", [pay])
  yield* named("with a price", [price, pay])
  yield* named("with a price, of two transfers", [price, pay, pay])
  yield* named("with a price, of a memo", [price, memoOf(1)])
  yield* named("with a price and a limit", [price, budgetOf(2, ...u32(7001)), pay])
  yield* named("of version 1", [pay], { config })
  yield* named("with an unknown blockhash", [pay], { blockhash: nobody.address })

  const simulated = (name: string, instructions: ReadonlyArray<BuiltInstruction>, options: object = {}, made?: Made) =>
    Effect.flatMap(make(instructions, made), ({ raw }) =>
      note(`simulateTransaction ${name}`, "simulateTransaction", raw, { ...base64, ...processed, ...options })
    )
  const accounts = (...addresses: ReadonlyArray<string>) => ({ accounts: { ...base64, addresses } })
  const anew = { replaceRecentBlockhash: true }
  const unknownProgram: BuiltInstruction = { program: nobody.address, accounts: [], data: Uint8Array.of(1) }
  yield* simulated("of a transfer", [pay], accounts(payer.address, nobody.address))
  yield* simulated("of a transfer with a new blockhash", [pay], anew, { blockhash: nobody.address })
  yield* simulated("of a transfer of version 1", [pay], anew, { config })
  yield* simulated("of version 1 without a configuration", [pay], anew, { config: {} })
  yield* simulated("of a transfer of more than there is", [transferOf(payer.address, nobody.address, 10n ** 12n)], {
    ...anew,
    ...accounts(payer.address, nobody.address)
  })
  yield* simulated("of a transfer of less than rent", [transferOf(payer.address, nobody.address, 1n)], anew)
  yield* simulated("of an unknown program", [unknownProgram], anew)
  yield* simulated("of an unknown blockhash", [pay], {}, { blockhash: nobody.address })
  yield* simulated("of a payer without an account", [memoOf(1)], anew, { key: nobody })
  yield* simulated("of a payer who keeps less than rent", [memoOf(1)], anew, { key: poor })
  yield* simulated("that verifies with a new blockhash", [pay], { ...anew, sigVerify: true })
  yield* simulated("with more accounts than the message has", [pay], accounts(...of(4)))

  const refused = Effect.fnUntraced(function* (
    name: string,
    instructions: ReadonlyArray<BuiltInstruction>,
    options?: Made
  ) {
    const { raw } = yield* make(instructions, options)
    yield* note(`sendTransaction ${name}`, "sendTransaction", raw, unchecked)
    yield* note(`simulateTransaction ${name}`, "simulateTransaction", raw, { ...base64, ...processed, ...anew })
  })
  const times = (count: number, instruction: BuiltInstruction) => Array.from({ length: count }, () => instruction)
  yield* refused("of 65 instructions", times(65, memoOf(1)))
  yield* refused("with a limit twice", [budgetOf(2, ...u32(1)), budgetOf(2, ...u32(2))])
  yield* refused("with a limit of one byte", [budgetOf(2, 1)])
  yield* refused("with RequestUnits", [budgetOf(0, ...u32(1), ...u32(1))])
  yield* refused("of 256 accounts of an instruction", [
    { ...memoOf(1), accounts: Array.from({ length: 256 }, () => ({ address: payer.address, isWritable: true })) }
  ])
  // A legacy transaction of a memo has 175 bytes besides the memo, if its length has two.
  const overhead = 1 + 64 + 3 + 1 + 64 + 32 + 1 + 1 + 1 + 2
  yield* refused("of 1233 bytes", [memoOf(1233 - overhead)])
  yield* refused("of 1300 bytes", [memoOf(1300 - overhead)])
  yield* refused("with a table that is none", [pay], { tables: new Map([[payer.address, [nobody.address]]]) })

  const preflighted = Effect.fnUntraced(function* (
    name: string,
    instructions: ReadonlyArray<BuiltInstruction>,
    options?: Made
  ) {
    const { raw } = yield* make(instructions, options)
    yield* note(`sendTransaction with a preflight, ${name}`, "sendTransaction", raw, {
      ...base64,
      preflightCommitment: "processed"
    })
  })
  yield* preflighted("of an unknown blockhash", [pay], { blockhash: nobody.address })
  yield* preflighted("of more than there is", [transferOf(payer.address, nobody.address, 10n ** 12n)])
  yield* preflighted("of a payer without an account", [memoOf(1)], { key: nobody })
  yield* preflighted("with a wrong signature", [pay], { key: { ...payer, sign: nobody.sign } })
  yield* preflighted("of version 1", [pay], { config })

  const unsignable = yield* make([pay], { key: { ...payer, sign: nobody.sign } })
  yield* note("sendTransaction with a wrong signature", "sendTransaction", unsignable.raw, unchecked)
  const dead = yield* make([pay], { blockhash: nobody.address })
  yield* note("sendTransaction of an unknown blockhash", "sendTransaction", dead.raw, unchecked)
  yield* note("requestAirdrop of more than there is", "requestAirdrop", nobody.address, 600_000_000 * 10 ** 9)
  yield* note("simulateTransaction that verifies a wrong signature", "simulateTransaction", unsignable.raw, {
    ...base64,
    ...processed,
    sigVerify: true
  })

  // What lands, and what of it is shown.
  const landing = {
    "a transfer": yield* send([pay]),
    "a transfer of version 0": yield* send([{ ...pay, data: Uint8Array.from([2, 0, 0, 0, ...u64(lamports + 1n)]) }], {
      tables: new Map()
    }),
    "a transfer of version 1": yield* send([pay], { config }),
    "a transfer of more than there is": yield* send([transferOf(payer.address, nobody.address, 10n ** 12n)]),
    "an unknown program": yield* send([unknownProgram]),
    "version 1 without a configuration": yield* send([pay], { config: {} })
  }
  const { raw: again } = yield* make([memoOf(3)])
  yield* resultOf("sendTransaction", again, unchecked)
  yield* grow(3)
  yield* note("sendTransaction of the same bytes again, with a preflight", "sendTransaction", again, {
    ...base64,
    preflightCommitment: "processed"
  })
  yield* note("sendTransaction of the same bytes again", "sendTransaction", again, unchecked)
  yield* grow(finality)
  for (const [name, signature] of Object.entries(landing)) {
    yield* note(`getSignatureStatuses of ${name}`, "getSignatureStatuses", [signature])
    yield* note(`getTransaction of ${name}`, "getTransaction", signature, {
      ...base64,
      maxSupportedTransactionVersion: 1
    })
  }
  const { "a transfer": legacy, "a transfer of version 0": version0, "a transfer of version 1": version1 } = landing
  const older = { ...base64, maxSupportedTransactionVersion: 0 }
  yield* note("getTransaction of a transfer, for no version", "getTransaction", legacy, base64)
  yield* note("getTransaction of version 0, for no version", "getTransaction", version0, base64)
  yield* note("getTransaction of version 1, for no version", "getTransaction", version1, base64)
  yield* note("getTransaction of version 1, for version 0", "getTransaction", version1, older)
  yield* list("with its transactions", { limit: 10 }, payer.address)
  yield* list("before one of its transactions", { limit: 1, before: legacy }, payer.address)
  const { value: statuses } = yield* resultOf<{ readonly value: ReadonlyArray<{ readonly slot: number }> }>(
    "getSignatureStatuses",
    [legacy]
  )
  const slot = statuses[0]?.slot ?? 0
  const asked = { transactionDetails: "signatures", rewards: false, maxSupportedTransactionVersion: 1 }
  yield* note("getBlock", "getBlock", slot, { ...asked })
  yield* note("getBlocksWithLimit", "getBlocksWithLimit", slot, 2)
  yield* note("getBlocks", "getBlocks", slot, slot)
  yield* note("getSignatureStatuses of what cannot land", "getSignatureStatuses", [
    encodeBase58(Uint8Array.from(Buffer.from(unsignable.raw, "base64").subarray(1, 65)))
  ])

  // A lookup table: simulations take it at once, leaders when it is final.
  const loaded = newKey().address
  const recent = yield* resultOf<number>("getSlot", { commitment: "confirmed" })
  const { instructions, table } = yield* Effect.promise(() => tableOf(payer.address, recent, [loaded]))
  yield* send(instructions)
  yield* grow(2)
  const using = { tables: new Map([[table, [loaded]]]) }
  const paid = transferOf(payer.address, loaded)
  yield* simulated("with a young lookup table", [paid], anew, using)
  yield* refused("with an entry that a lookup table does not have", [paid], {
    tables: new Map([[table, [...of(3), loaded]]])
  })
  const early = yield* send([paid], using)
  yield* grow(8)
  yield* note("getSignatureStatuses of a young lookup table", "getSignatureStatuses", [early])
  yield* grow(finality)
  const later = yield* send([{ ...paid, data: Uint8Array.from([2, 0, 0, 0, ...u64(lamports + 1n)]) }], using)
  yield* grow(finality)
  yield* note("getSignatureStatuses of a lookup table", "getSignatureStatuses", [later])
  yield* note("getTransaction with a lookup table", "getTransaction", later, older)
  yield* list("that a table loads", { limit: 1 }, loaded)

  // The life of a blockhash, which began with the first call that named it.
  const aging = yield* blockhash("finalized")
  yield* grow(life - finality - 10)
  yield* note("isBlockhashValid of one that lives", "isBlockhashValid", aging, processed)
  yield* grow(12 + finality)
  yield* note("isBlockhashValid of one that is dead", "isBlockhashValid", aging, processed)
  yield* named("with a dead blockhash", [pay], { blockhash: aging })
  return answers
})
