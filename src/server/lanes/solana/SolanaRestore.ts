// What follows after a copy of the database was put back: the lane waits until bytes of the lost process cannot land any more, reads
// the list of its address, and finds the transactions that executed restored requests.
import { Effect, Result, Schema } from "effect"
import { isLifeOf } from "../../../domain/transaction/solana/Bound.ts"
import { executes, executesNone } from "../../../domain/transaction/solana/Execution.ts"
import type { Description } from "../../../domain/transaction/solana/Execution.ts"
import { feeOf } from "../../../domain/transaction/solana/Fee.ts"
import { bytesOf } from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import type { RestoredSince, Solana, SolanaRestore } from "../../../domain/transaction/solana/Solana.ts"
import * as Numbers from "../../../domain/transaction/solana/SolanaNumbers.ts"
import { decode } from "../../../domain/transaction/solana/WireDecoding.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import * as SolanaLooks from "../../chains/solana/SolanaLooks.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { newestRequest } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import type { LaneRow } from "../LaneNetwork.ts"
import type { SolanaContext, TakenBytes } from "./SolanaContext.ts"
import * as Lifetimes from "./SolanaLifetimes.ts"

interface Work {
  readonly context: SolanaContext
  readonly providers: SolanaProviders
  /** Open transactions, in the order in which they were accepted. */
  readonly rows: ReadonlyArray<LaneRow<Solana>>
  /** From where lists are read. */
  readonly since: RestoredSince
  /** Those of the signatures that the ledger has. */
  readonly known: (signatures: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>>
  readonly now: Moment
}

const needOf = ({ configured }: SolanaProviders): number => Math.min(Numbers.agreeing, configured)

const heightAt = Effect.fnUntraced(function* (node: RpcNode) {
  const [height, { lastValid, height: from }] = yield* Effect.all(
    [node.call(Calls.blockHeight("processed")), Lifetimes.reportedBy(node)],
    { concurrency: "unbounded" }
  )
  return { height, life: lastValid - from }
})

/** Undefined: too few providers answer. */
const boundNow = Effect.fnUntraced(function* (providers: SolanaProviders) {
  const opinions = yield* providers.opinions(Numbers.maxAskedProviders, heightAt)
  const found = opinions.flatMap(({ result }) =>
    Result.isSuccess(result) && isLifeOf(result.success.life) ? [result.success] : []
  )
  if (found.length < needOf(providers)) return undefined
  const life = Math.max(...found.map((one) => one.life))
  return Math.max(...found.map(({ height }) => height)) + Numbers.livesAfterRestore * life + Numbers.boundMargin
})

/**
 * Whether one of the lists reaches the signature since which they are read. A back end that is younger, or has dropped its older blocks,
 * gives a shorter list. If no list has shown it for ten minutes, no provider has it any more.
 */
const isReached = ({ context: { memory }, now, since }: Work, lists: ReadonlyArray<ReadonlySet<string>>): boolean => {
  const { hash } = since
  const { restore } = memory
  if (hash === undefined || lists.some((list) => list.has(hash))) {
    restore.lackedSince = undefined
    return true
  }
  restore.lackedSince ??= now
  return now >= restore.lackedSince + Numbers.unprovableAfter
}

/** What as many providers list as must agree, when the bound is final for each of them. Undefined: not yet, or they disagree. */
const listed = Effect.fnUntraced(function* (work: Work, { bound }: SolanaRestore) {
  const { context, providers, now, since } = work
  const { address, memory } = context
  const until = since.slot
  const opinions = yield* providers.opinions(Numbers.maxAskedProviders, (node) =>
    SolanaLooks.history(node, { address, bound, until, lists: memory.lists, now })
  )
  const complete = opinions.flatMap(({ result }) =>
    Result.isSuccess(result) &&
    result.success !== undefined &&
    (result.success.listed.isWhole === true || result.success.listed.from <= until)
      ? [result.success]
      : []
  )
  const [first] = complete
  if (first === undefined || complete.length < needOf(providers)) return undefined
  const lists = complete.map(({ listed: { signatures } }) => signatures)
  if (!isReached(work, lists)) return undefined
  return { slot: Math.min(...complete.map(({ finalized }) => finalized.slot)), lists }
})

/** Undefined: the provider does not have it, or gives bytes that cannot be read. */
const readBy = Effect.fnUntraced(function* (node: RpcNode, signature: string) {
  const found = yield* node.call(Calls.transactionOf(signature))
  if (found === null) return undefined
  const raw = bytesOf(found.transaction[0])
  const decoded = decode(raw)
  if (Result.isFailure(decoded)) return undefined
  const { writable = [], readonly = [] } = found.meta?.loadedAddresses ?? {}
  return { raw, message: decoded.success.message, loaded: [...writable, ...readonly], slot: found.slot }
})
type Fetched = NonNullable<Effect.Success<ReturnType<typeof readBy>>>

/** Undefined: no provider gives bytes that can be read. */
const fetch = Effect.fnUntraced(function* (providers: SolanaProviders, signature: string) {
  const read = (node: RpcNode) => Effect.map(readBy(node, signature), (found) => ({ node, found }))
  const asked = yield* Effect.result(providers.first(read))
  if (Result.isFailure(asked)) return undefined
  const { node, found } = asked.success
  if (found !== undefined) return found
  const other = yield* providers.second(node, read, ({ found }) => found !== undefined)
  return typeof other === "object" ? other.found : undefined
})

/** An error that names the version of the transaction, as `Transaction version (2) is not supported …`. */
const versionIn = (text: string): number | undefined => {
  const [, version] = /transaction version \((\d+)\)/iu.exec(text) ?? []
  return version === undefined ? undefined : Number(version)
}

/** Undefined: the provider says nothing about it. */
const describedBy = Effect.fnUntraced(function* (node: RpcNode, signature: string) {
  const question = Calls.descriptionOf(signature)
  const first = yield* node.ask(question)
  // Some providers take no number above the versions that they know. Their error to the usual question names the version.
  const isRefused = first._tag === "RpcError" && first.code !== Calls.versionNotSupported
  const answer = isRefused ? yield* node.ask(Calls.transactionOf(signature)) : first
  if (answer._tag === "RpcError" && answer.code === Calls.versionNotSupported) {
    const description: Description = present("version", versionIn(answer.message))
    return description
  }
  const decoded = answer._tag === "Result" ? Schema.decodeUnknownResult(question.result)(answer.value) : undefined
  if (decoded === undefined || Result.isFailure(decoded) || decoded.success === null) return undefined
  const { transaction, version } = decoded.success
  const [payer] = transaction.message.accountKeys
  const description: Description = { ...present("payer", payer), ...present("version", version) }
  return transaction.signatures[0] === signature ? description : undefined
})

/** Whether enough providers say that the relayer did not sign the transaction, and no provider says that it did. */
const isOfOthers = Effect.fnUntraced(function* ({ context, providers }: Work, signature: string) {
  const opinions = yield* providers.opinions(Numbers.maxAskedProviders, (node) => describedBy(node, signature))
  const said = opinions.flatMap(({ result }) => Result.getOrUndefined(result) ?? [])
  return said.length >= needOf(providers) && said.every((one) => executesNone(one, context.address))
})

/** The transaction has landed. Its slot stands for the height of its block, which is never above the slot. */
const takenOf = (hash: string, { raw, message, slot }: Fetched): TakenBytes => {
  const { total, computeUnitLimit, computeUnitPrice } = feeOf(message)
  const offer = {
    blockhash: message.blockhash,
    bound: slot,
    signedSlot: slot,
    computeUnitPrice,
    ...(computeUnitLimit === undefined ? {} : { computeUnitLimit })
  }
  return { raw, taken: { kind: "original", hash, offer, maxFee: total, sends: 0, isRefused: false } }
}

/**
 * One transaction of the chain executed one request: the oldest one that it could be. False: one of them cannot be read, and may be
 * one of the relayer's.
 */
const match = Effect.fnUntraced(function* (work: Work, unknown: ReadonlyArray<string>) {
  const { context, providers, rows } = work
  const { address, memory } = context
  const { found, foreign } = memory.restore
  for (const signature of unknown.slice(0, Numbers.maxCompared)) {
    const fetched = yield* fetch(providers, signature)
    if (fetched === undefined) {
      if (!(yield* isOfOthers(work, signature))) return false
      foreign.add(signature)
      continue
    }
    const row = rows.find(
      ({ transaction }) =>
        transaction.restored &&
        !found.has(transaction.number) &&
        executes(fetched.message, fetched.loaded, address, newestRequest(transaction))
    )
    if (row === undefined) foreign.add(signature)
    else found.set(row.transaction.number, takenOf(signature, fetched))
  }
  return unknown.length <= Numbers.maxCompared
})

/** A provider that is alone has to show the same in two looks. */
const isRepeated = ({ context: { memory }, providers, now }: Work): boolean => {
  if (providers.configured >= Numbers.agreeing) return true
  memory.restore.completeSince ??= now
  return now >= memory.restore.completeSince + Numbers.looksApart
}

/** Newest last: the oldest request is the one that was executed first. */
const unknownIn = Effect.fnUntraced(function* (
  { context: { memory }, known }: Work,
  lists: ReadonlyArray<ReadonlySet<string>>
) {
  const { found, foreign } = memory.restore
  const taken = new Set([...found.values()].map(({ taken: { hash } }) => hash))
  const all = [...new Set(lists.flatMap((list) => [...list].toReversed()))].filter(
    (one) => !foreign.has(one) && !taken.has(one)
  )
  const own = yield* known(all)
  return all.filter((one) => !own.has(one))
})

/** Those that the ledger has as attempts by now, or that ended otherwise. */
const forgetAdopted = ({ context: { memory }, rows }: Work): void => {
  const { found } = memory.restore
  const open = new Map(rows.map(({ transaction }) => [transaction.number, transaction]))
  for (const [number, { taken }] of found) {
    const transaction = open.get(number)
    const isOpen = transaction !== undefined && transaction.restored
    if (!isOpen || transaction.attempts.some(({ hash }) => hash === taken.hash)) found.delete(number)
  }
}

/** Whether the list of the address has to be read for restored rows. */
export const isOpen = (rows: ReadonlyArray<LaneRow<Solana>>, restore: SolanaRestore | undefined): boolean =>
  restore?.slot === undefined && rows.some(({ transaction }) => transaction.restored)

/** What the lane knows of the restore after this poll. Undefined: nothing yet. */
export const advance = Effect.fn("SolanaRestore.advance")(function* (work: Work, before: SolanaRestore | undefined) {
  const { context, providers, rows } = work
  const { memory } = context
  if (!isOpen(rows, before)) return before
  if (before === undefined) {
    const bound = yield* boundNow(providers)
    return bound === undefined ? undefined : { bound }
  }
  forgetAdopted(work)
  // What was found is committed first: then the list shows nothing that the ledger does not have.
  if (memory.restore.found.size > 0) return before
  const read = yield* listed(work, before)
  if (read === undefined) return before
  const unknown = yield* unknownIn(work, read.lists)
  if (unknown.some((signature) => read.lists.some((list) => !list.has(signature)))) return before
  const isCompared = yield* match(work, unknown)
  if (!isCompared || memory.restore.found.size > 0) return before
  return isRepeated(work) ? { ...before, slot: read.slot } : before
})
