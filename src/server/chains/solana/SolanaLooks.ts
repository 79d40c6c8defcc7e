// Looks: what one provider says about signatures of an account. Answers that fail are absent, which means unknown.
import { Effect, Result } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Look, Status } from "../../../domain/transaction/solana/Look.ts"
import { maxStatuses } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import * as Calls from "./SolanaCalls.ts"
import * as SolanaLists from "./SolanaLists.ts"

const finalizedOf = (node: RpcNode) =>
  Effect.map(node.call(Calls.epochInfo), ({ absoluteSlot, blockHeight }) => ({
    slot: absoluteSlot,
    height: blockHeight
  }))

const chunked = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

/** Answers in several parts count from the lowest of their slots. */
const statusesOf = Effect.fnUntraced(function* (node: RpcNode, hashes: ReadonlyArray<string>) {
  const of = new Map<string, Status | null>()
  const parts = yield* Effect.forEach(
    chunked(hashes, maxStatuses),
    (part) => Effect.map(node.call(Calls.statuses(part)), (answer) => ({ part, answer })),
    { concurrency: "unbounded" }
  )
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
  return { slot: Math.min(...parts.map(({ answer }) => answer.context.slot)), of }
})

/** An answer if there is one. */
const known = <A>(self: Effect.Effect<A, RpcFailure>) => Effect.map(Effect.result(self), Result.getOrUndefined)

/** What a poll asks: the finalized height, and the statuses of all bytes in flight. Fails if the first question fails. */
export const poll = Effect.fnUntraced(function* (node: RpcNode, hashes: ReadonlyArray<string>) {
  const finalized = yield* finalizedOf(node)
  const statuses = hashes.length === 0 ? undefined : yield* known(statusesOf(node, hashes))
  const look: Look = { finalized, ...present("statuses", statuses) }
  return look
})

interface Listing {
  readonly address: string
  /** What earlier looks have read of the list of the address. */
  readonly lists: SolanaLists.Lists
  readonly now: Moment
}

/** What a restore asks: the finalized moment, and the list of the address down to a slot. */
export const history = Effect.fnUntraced(function* (
  node: RpcNode,
  { address, until, lists, now }: Pick<Listing, "address" | "lists" | "now"> & { readonly until: number }
) {
  const finalized = yield* finalizedOf(node)
  return { finalized, listed: yield* SolanaLists.read(node, { address, slot: finalized.slot, until }, lists, now) }
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
  readonly hashes: ReadonlyArray<string>
  readonly blockhashes: ReadonlyArray<string>
  /** The lowest slot in which one of the signatures can be. */
  readonly signedSlot: number
}

/** All that a proof needs, in the order that makes it one: the finalized slot binds the later answers. */
export const proof = Effect.fnUntraced(function* (
  node: RpcNode,
  { address, hashes, blockhashes, signedSlot, lists, now }: Sought
) {
  const finalized = yield* finalizedOf(node)
  const { slot } = finalized
  const [statuses, listed, validity, firstAvailable] = yield* Effect.all(
    [
      known(statusesOf(node, hashes)),
      known(SolanaLists.read(node, { address, slot, until: signedSlot }, lists, now)),
      known(validityOf(node, blockhashes, slot)),
      known(node.call(Calls.firstAvailableBlock))
    ],
    { concurrency: "unbounded" }
  )
  const look: Look = {
    finalized,
    ...present("statuses", statuses),
    ...present("listed", listed),
    ...present("blockhashes", validity),
    ...present("firstAvailable", firstAvailable)
  }
  return look
})
