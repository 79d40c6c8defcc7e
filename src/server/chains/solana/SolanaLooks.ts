// Looks: what one provider says about signatures of an account. Answers that fail are absent, which means unknown.
import { Effect, Result } from "effect"
import type { AttemptToProve, Indexed, Landing, Look, Status } from "../../../domain/transaction/solana/Look.ts"
import {
  blockhashLife,
  boundMargin,
  landingPatience,
  livesAfterRestore,
  maxStatuses
} from "../../../domain/transaction/solana/SolanaNumbers.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import * as Calls from "./SolanaCalls.ts"
import * as SolanaLists from "./SolanaLists.ts"
import * as Witnesses from "./SolanaWitnesses.ts"
import type { Witness } from "./SolanaWitnesses.ts"

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
  readonly since?: Witnesses.Place | undefined
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
  const of = new Map<string, Status | null>()
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
  const isShown = (one: Witnesses.Place) =>
    parts.every(({ part, answer }) => answer.value[part.length + shown.indexOf(one)]?.slot === one.slot)
  const fromSlot = since !== undefined && isShown(since) ? since.slot : undefined
  const indexed = witnesses.flatMap((witness): ReadonlyArray<Indexed> => {
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
  readonly lists: SolanaLists.Lists
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
  const witness = yield* Witnesses.above(node, finalized, { bound, lowest })
  if (witness === undefined) return undefined
  const before = witness.shown?.signature
  const sought = { address, slot: finalized.slot, until, before }
  const read = yield* Effect.catchIf(
    SolanaLists.read(node, sought, lists, now),
    ({ rpcCode }) => rpcCode === SolanaLists.transactionNotFound,
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

const finalOf = ({ height }: Witnesses.Finalized, attempts: ReadonlyArray<AttemptToProve>) =>
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
  return yield* known(Witnesses.before(node, lowest))
})

/**
 * For the lowest and the highest bound that are final. The lowest one is shown by an index that lags while later bounds follow,
 * so that the proofs of a busy account do not wait for each other.
 */
const witnessesOf = Effect.fnUntraced(function* (
  node: RpcNode,
  finalized: Witnesses.Finalized,
  attempts: ReadonlyArray<AttemptToProve>
) {
  const final = finalOf(finalized, attempts)
  const bounds = final.map(({ offer }) => offer.bound)
  const wanted = bounds.length === 0 ? [] : [...new Set([Math.min(...bounds), Math.max(...bounds)])]
  const found = yield* Effect.forEach(
    wanted,
    (bound) => {
      const lowest = signedSlotOf(final.filter(({ offer }) => offer.bound === bound))
      return known(Witnesses.above(node, finalized, { bound, lowest }))
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
  const list = known(SolanaLists.read(node, { address, slot, until: signedSlotOf(attempts) }, lists, now))
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
