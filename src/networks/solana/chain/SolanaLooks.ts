// Looks: what one provider says about signatures of an account. Answers that fail are absent, which means unknown.
import { Effect, Result } from "effect"
import { answeredFailure, RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { present } from "../../core/Presentation.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import {
  blockhashLife,
  boundMargin,
  emptyBlocks,
  landingPatience,
  listKept,
  listPage,
  listSettled,
  livesAfterRestore,
  maxStatuses
} from "../rules/SolanaNumbers.ts"
import type { AttemptToProve, IndexedRange, Landing, Look, SignatureStatus } from "../rules/SolanaSeen.ts"
import * as Calls from "./SolanaCalls.ts"

// The list of an address at one provider, newest first. One look reads a limited number of pages. The next look continues
// below the entries that earlier looks have read, because entries below a finalized slot do not change.

/** The part of the list that was read: complete from the slot `from` to its newest slot. */
interface ReadPart {
  readonly from: number
  /** Slots by signature, newest first. */
  readonly entries: ReadonlyMap<string, number>
  /** The end of the list was reached: the node has no older entry. A list has entries, because someone funded the account. */
  readonly isWhole?: true
  /** The first page has no entry. */
  readonly isEmpty?: true
}

/** What looks at one provider have read, without the newest slots, where an index that lags may still add entries. */
interface KeptList {
  readonly read: ReadPart
  readonly at: Moment
}

/** By URL. */
export type KeptLists = Map<string, KeptList>

export const forgetOldLists = (lists: KeptLists, now: Moment): void => {
  for (const [url, { at }] of lists) if (now >= at + listKept) lists.delete(url)
}

const settledOf = ({ entries, ...rest }: ReadPart, slot: number): ReadPart => ({
  ...rest,
  entries: new Map([...entries].filter(([, at]) => at <= slot - listSettled))
})

export interface SoughtList {
  readonly address: string
  /** The finalized slot. The list must reach it at its upper end. */
  readonly slot: number
  /** The list is read down to a slot below this one, or to its end. */
  readonly until: number
  /**
   * A finalized transaction of anybody, below which the list begins: a back end answers only if its index has that transaction. Absent:
   * the list begins at its top.
   */
  readonly before?: string | undefined
}

/** The error of a node that does not know the entry below which a page begins. Before Agave 4.0, the page is empty. */
const transactionNotFound = -32_020

const unknownBefore = new RpcFailure({
  ...answeredFailure("refused", "a page of the list does not continue the page above it").of("getSignaturesForAddress"),
  rpcCode: transactionNotFound
})

/** Reads from the top down to the entries that an earlier look has read, and then continues below them. */
const pages = Effect.fnUntraced(function* (
  node: RpcNode,
  { address, slot, until, before: top }: SoughtList,
  earlier: ReadPart | undefined
) {
  const entries = new Map<string, number>()
  let known = earlier?.entries.size === 0 ? undefined : earlier
  /** The page begins below `before`, and with `next`, which the page above has as well. */
  let [before, next]: ReadonlyArray<string | undefined> = [top]
  let lowest = slot + 1
  const add = (signature: string, at: number) => {
    entries.set(signature, at)
    lowest = Math.min(lowest, at)
  }
  const ended = (rest: Pick<ReadPart, "isWhole" | "isEmpty"> = {}, failure?: RpcFailure) => ({
    // The rest of the lowest slot may be on the next page.
    read: { from: rest.isWhole === true ? lowest : lowest + 1, entries, ...rest } satisfies ReadPart,
    isContinued: known === undefined,
    failure
  })
  for (let page = 0; page < listPage.pages; page++) {
    const answer = yield* Effect.result(node.call(Calls.signaturesFor(address, slot, before)))
    if (Result.isFailure(answer)) return ended({}, answer.failure)
    const found = answer.success
    if (next !== undefined && found[0]?.signature !== next) return ended({}, unknownBefore)
    const met = found.some(({ signature }) => known?.entries.has(signature)) ? known : undefined
    for (const entry of found) add(entry.signature, entry.slot)
    for (const [signature, at] of met?.entries ?? []) add(signature, at)
    if (met !== undefined) known = undefined
    const isEnd = found.length < listPage.entries || met?.isWhole === true
    if (isEnd) return ended(entries.size > 0 ? { isWhole: true } : { isEmpty: true })
    if (lowest < until) return ended()
    ;[before, next] = [...entries.keys()].slice(-2)
  }
  return ended()
})

/** Signatures of the address. `lists`: what earlier looks have read. This look adds its entries. */
export const readList = Effect.fnUntraced(function* (node: RpcNode, wanted: SoughtList, lists: KeptLists, now: Moment) {
  const { read: found, isContinued, failure } = yield* pages(node, wanted, lists.get(node.url)?.read)
  // The node has forgotten the entries that earlier looks have read, or another back end answers: the list is read anew.
  if (failure?.rpcCode === transactionNotFound) lists.delete(node.url)
  // If a look fails above the entries of an earlier look, those entries are kept.
  else if (failure === undefined || isContinued) {
    lists.set(node.url, { read: settledOf(found, wanted.slot), at: now })
  }
  if (failure !== undefined) return yield* failure
  const { entries, ...rest } = found
  return { listed: { ...rest, signatures: new Set(entries.keys()) }, entries }
})

// Transactions of finalized blocks that show how far the index of a node has come. Nodes write the statuses and lists of a block
// some time after they name its slot, so a signature that they do not find proves nothing by itself.

/** A transaction of a finalized block. */
interface BlockTransaction {
  readonly signature: string
  readonly slot: number
}

/** What an index misses nothing up to: `toHeight`. */
export type Witness =
  /** If the same answer has this transaction in this slot. */
  | { readonly shown: BlockTransaction; readonly toHeight: number }
  /** In any case, from a slot on: the blocks themselves were read, and are empty. */
  | { readonly shown?: undefined; readonly fromSlot: number; readonly toHeight: number }

export interface FinalizedBlock {
  readonly slot: number
  readonly height: number
}

export interface SoughtWitness {
  /** The last height that counts. */
  readonly bound: number
  /** The lowest slot that counts. */
  readonly lowest: number
}

/**
 * The last transaction of the first finalized block above the bound. If that block has none, the blocks below it are read until
 * one has a transaction: those that are read and are empty need no index. Undefined: the node does not show the blocks.
 */
const witnessAbove = Effect.fn("SolanaLooks.above")(function* (
  node: RpcNode,
  { slot, height }: FinalizedBlock,
  { bound, lowest }: SoughtWitness
): Effect.fn.Return<Witness | undefined, RpcFailure> {
  // Each block is one height and at least one slot above the block before it, so every block from this slot on is above the bound.
  const start = Math.max(slot - (height - bound - boundMargin), 0)
  const [first] = yield* node.call(Calls.blocksFrom(start, 1))
  if (first === undefined || first > slot) return undefined
  const newest = yield* node.call(Calls.signaturesIn(first))
  if (newest === null || newest.blockHeight === null || newest.blockHeight <= bound) return undefined
  const toHeight = newest.blockHeight - 1
  const of = (signature: string, slot: number): Witness => ({ shown: { signature, slot }, toHeight })
  const signature = newest.signatures.at(-1)
  if (signature !== undefined) return of(signature, first)
  for (let end = first - 1; end >= lowest; end -= emptyBlocks) {
    const slots = (yield* node.call(Calls.blocksBetween(Math.max(end - emptyBlocks + 1, lowest), end))).toReversed()
    const blocks = yield* Effect.forEach(slots, (one) => node.call(Calls.signaturesIn(one)), {
      concurrency: "unbounded"
    })
    for (const [index, block] of blocks.entries()) {
      if (block === null) return undefined
      const last = block.signatures.at(-1)
      if (last !== undefined) return of(last, slots[index] ?? 0)
    }
  }
  return { fromSlot: lowest, toHeight }
})

/** The last transaction of the newest block up to a slot. Undefined: the node does not show it, or the blocks are empty. */
const witnessBefore = Effect.fn("SolanaLooks.before")(function* (
  node: RpcNode,
  slot: number
): Effect.fn.Return<BlockTransaction | undefined, RpcFailure> {
  const slots = yield* node.call(Calls.blocksBetween(Math.max(slot - emptyBlocks + 1, 0), slot))
  for (const one of slots.toReversed()) {
    const signature = (yield* node.call(Calls.signaturesIn(one)))?.signatures.at(-1)
    if (signature !== undefined) return { signature, slot: one }
  }
  return undefined
})

const finalizedOf = (node: RpcNode) =>
  Effect.map(node.call(Calls.epochInfo), ({ absoluteSlot, blockHeight }) => ({
    slot: absoluteSlot,
    height: blockHeight
  }))

/** At least one part, also without any item. */
const chunked = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.max(Math.ceil(items.length / size), 1) }, (_, index) =>
    items.slice(index * size, (index + 1) * size)
  )

interface Shown {
  readonly witnesses: ReadonlyArray<Witness>
  /** A transaction from before the signatures. An answer without it comes from a back end that may not have kept their blocks. */
  readonly since?: BlockTransaction | undefined
}

/**
 * Answers in several parts count from the lowest of their slots. Each part asks for the witnesses as well, because each may meet
 * another back end. One answer that has a transaction from before the signatures, and one from above their bound, comes from one back
 * end that has kept the blocks between them, and whose index has them.
 */
const statusesOf = Effect.fnUntraced(function* (
  node: RpcNode,
  hashes: ReadonlyArray<string>,
  { witnesses, since }: Shown = { witnesses: [] }
) {
  const of = new Map<string, SignatureStatus | null>()
  const shown = [...witnesses.flatMap((witness) => witness.shown ?? []), ...(since === undefined ? [] : [since])]
  const parts = yield* Effect.forEach(
    chunked(hashes, maxStatuses - shown.length),
    (part) =>
      Effect.map(node.call(Calls.statuses([...part, ...shown.map(({ signature }) => signature)])), (answer) => ({
        part,
        answer
      })),
    { concurrency: "unbounded" }
  )
  const isShown = (one: BlockTransaction) =>
    parts.every(({ part, answer }) => answer.value[part.length + shown.indexOf(one)]?.slot === one.slot)
  const fromSlot = since !== undefined && isShown(since) ? since.slot : undefined
  const indexed = witnesses.flatMap((witness): ReadonlyArray<IndexedRange> => {
    if (witness.shown === undefined) return [{ fromSlot: witness.fromSlot, toHeight: witness.toHeight }]
    return fromSlot !== undefined && isShown(witness.shown) ? [{ fromSlot, toHeight: witness.toHeight }] : []
  })
  for (const { part, answer } of parts) {
    for (const [index, hash] of part.entries()) {
      const found = answer.value[index]
      // A list that is too short says nothing about the rest.
      if (found === undefined) continue
      const isSuccess = found?.err === null
      of.set(
        hash,
        found === null
          ? null
          : {
              slot: found.slot,
              level: found.confirmationStatus,
              isSuccess,
              ...(isSuccess ? {} : { error: JSON.stringify(found.err) })
            }
      )
    }
  }
  return {
    slot: Math.min(...parts.map(({ answer }) => answer.context.slot)),
    of,
    ...(indexed.length === 0 ? {} : { indexed })
  }
})

/** An answer if there is one. */
const known = <A>(self: Effect.Effect<A, RpcFailure>) => Effect.map(Effect.result(self), Result.getOrUndefined)

/** What the node says of its finalized transactions, by signature. `landed`: what is known already. */
const landingsOf = Effect.fnUntraced(function* (
  node: RpcNode,
  statuses: Look["statuses"],
  landed: ReadonlyMap<string, Landing>
) {
  const asked = [...(statuses?.of ?? [])].filter(([hash, status]) => status?.level === "finalized" && !landed.has(hash))
  const ask = Effect.forEach(asked, ([hash]) => known(node.call(Calls.landingOf(hash))), { concurrency: "unbounded" })
  // A verdict does not wait for a node that gives none of them.
  const answers = yield* Effect.timeoutOrElse(ask, { duration: landingPatience, orElse: () => Effect.succeed([]) })
  return new Map(
    asked.flatMap(([hash], index): ReadonlyArray<readonly [string, Landing]> => {
      const { blockTime, meta } = answers[index] ?? {}
      const at = blockTime === undefined || blockTime === null ? undefined : blockTime * 1000
      return meta === undefined || meta === null ? [] : [[hash, { paid: meta.fee, ...present("at", at) }]]
    })
  )
})

/**
 * What a poll asks: the finalized height, the statuses of all bytes in flight, and what those of them have paid that are final. Fails
 * if the first question fails.
 */
export const poll = Effect.fnUntraced(function* (
  node: RpcNode,
  hashes: ReadonlyArray<string>,
  landed: ReadonlyMap<string, Landing>
) {
  const finalized = yield* finalizedOf(node)
  const statuses = hashes.length === 0 ? undefined : yield* known(statusesOf(node, hashes))
  const look: Look = { finalized, ...present("statuses", statuses) }
  return { look, landings: yield* landingsOf(node, statuses, landed) }
})

interface Listing {
  readonly address: string
  /** What earlier looks have read of the list of the address. */
  readonly lists: KeptLists
  readonly now: Moment
}

interface SoughtHistory extends Pick<Listing, "address" | "lists" | "now"> {
  readonly until: number
  /** The last height that counts. */
  readonly bound: number
}

/** Slots in which bytes of a lost process could land at most, as heights are never above slots. */
const restoredSlots = livesAfterRestore * blockhashLife.maximum

/**
 * What a restore asks: the finalized moment, a transaction of a block above the bound, and then the list of the address from there down
 * to a slot. A back end that does not have that transaction in its index gives no list.
 */
export const history = Effect.fnUntraced(function* (
  node: RpcNode,
  { address, bound, until, lists, now }: SoughtHistory
) {
  const finalized = yield* finalizedOf(node)
  if (finalized.height < bound + boundMargin) return undefined
  const lowest = Math.max(until, finalized.slot - (finalized.height - bound) - restoredSlots, 0)
  const witness = yield* witnessAbove(node, finalized, { bound, lowest })
  if (witness === undefined) return undefined
  const before = witness.shown?.signature
  const sought = { address, slot: finalized.slot, until, before }
  const read = yield* Effect.catchIf(
    readList(node, sought, lists, now),
    ({ rpcCode }) => rpcCode === transactionNotFound,
    () => Effect.undefined
  )
  return read && { finalized, listed: read.listed }
})

const validityOf = Effect.fnUntraced(function* (node: RpcNode, blockhashes: ReadonlyArray<string>, slot: number) {
  const answers = yield* Effect.forEach(
    blockhashes,
    (blockhash) =>
      Effect.map(node.call(Calls.isBlockhashValid(blockhash, "processed", slot)), (answer) => ({ blockhash, answer })),
    { concurrency: "unbounded" }
  )
  return {
    slot: Math.min(...answers.map(({ answer }) => answer.context.slot)),
    valid: new Map(answers.map(({ blockhash, answer }) => [blockhash, answer.value]))
  }
})

export interface Sought extends Listing {
  readonly attempts: ReadonlyArray<AttemptToProve>
}

const signedSlotOf = (attempts: ReadonlyArray<AttemptToProve>): number =>
  Math.min(...attempts.map(({ offer }) => offer.signedSlot))

const finalOf = ({ height }: FinalizedBlock, attempts: ReadonlyArray<AttemptToProve>) =>
  attempts.filter(({ offer }) => offer.bound + boundMargin <= height)

/**
 * A transaction from before the lowest signature of which the node has the blocks: of the list of the address, if it has such a one,
 * else of a block.
 */
const sinceOf = Effect.fnUntraced(function* (
  node: RpcNode,
  attempts: ReadonlyArray<AttemptToProve>,
  firstAvailable: number,
  entries: ReadonlyMap<string, number>
) {
  const kept = attempts.filter(({ offer }) => offer.signedSlot >= firstAvailable)
  if (kept.length === 0) return undefined
  const lowest = signedSlotOf(kept)
  for (const [signature, slot] of entries) {
    if (slot <= lowest && slot >= firstAvailable) return { signature, slot }
  }
  return yield* known(witnessBefore(node, lowest))
})

/**
 * For the lowest and the highest bound that are final. The lowest one is shown by an index that lags while later bounds follow,
 * so that the proofs of a busy account do not wait for each other.
 */
const witnessesOf = Effect.fnUntraced(function* (
  node: RpcNode,
  finalized: FinalizedBlock,
  attempts: ReadonlyArray<AttemptToProve>
) {
  const final = finalOf(finalized, attempts)
  const bounds = final.map(({ offer }) => offer.bound)
  const wanted = bounds.length === 0 ? [] : [...new Set([Math.min(...bounds), Math.max(...bounds)])]
  const found = yield* Effect.forEach(
    wanted,
    (bound) => {
      const lowest = signedSlotOf(final.filter(({ offer }) => offer.bound === bound))
      return known(witnessAbove(node, finalized, { bound, lowest }))
    },
    { concurrency: "unbounded" }
  )
  return found.filter((witness) => witness !== undefined)
})

/** All that a proof needs, in the order that makes it one: the finalized slot binds the later answers. */
export const proof = Effect.fnUntraced(function* (node: RpcNode, { address, attempts, lists, now }: Sought) {
  const firstAvailable = known(node.call(Calls.firstAvailableBlock))
  const [finalized, before] = yield* Effect.all([finalizedOf(node), firstAvailable], { concurrency: "unbounded" })
  const { slot } = finalized
  const hashes = attempts.map(({ hash }) => hash)
  const blockhashes = [...new Set(attempts.map(({ offer }) => offer.blockhash))]
  const list = known(readList(node, { address, slot, until: signedSlotOf(attempts) }, lists, now))
  const [witnesses, [read, after], validity] = yield* Effect.all(
    [
      witnessesOf(node, finalized, attempts),
      Effect.all([list, firstAvailable]),
      known(validityOf(node, blockhashes, slot))
    ],
    { concurrency: "unbounded" }
  )
  const since = yield* sinceOf(node, finalOf(finalized, attempts), after ?? before ?? 0, read?.entries ?? new Map())
  const statuses = yield* known(statusesOf(node, hashes, { witnesses, since }))
  const look: Look = {
    finalized,
    ...present("statuses", statuses),
    ...present("listed", read?.listed),
    ...present("blockhashes", validity),
    ...present("firstAvailable", after && Math.max(after, before ?? 0)),
    ...(before === undefined || after === undefined ? {} : { keptFrom: Math.min(before, after) })
  }
  return look
})
