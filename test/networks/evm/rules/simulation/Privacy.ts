// Private providers, and what others than they get to know.
import { assert } from "@effect/vitest"
import type { Attempt, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import type { Destination } from "../../../../../src/networks/core/Rules.ts"
import { destinationOf, questionsOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { NodeAnswer } from "../../../../../src/networks/evm/rules/Refusal.ts"
import { countOf, minedIn } from "../../../../../src/testkit/chain/Blocks.ts"
import { privateLife } from "./World.ts"
import type { Bytes, Chain, World } from "./World.ts"

const accepted: NodeAnswer = { _tag: "Hash" }
const error = (message: string): NodeAnswer => ({ _tag: "RpcError", code: -32000, message })

/** The nonces that private providers know of, and the next one. */
const isNext = ({ bytes, chain, now, privately }: World, { nonce }: Bytes): boolean => {
  const known = new Set([...privately].flatMap(([hash, until]) => (until > now ? (bytes.get(hash)?.nonce ?? []) : [])))
  let next = countOf(chain)
  while (known.has(next)) next++
  return nonce <= next
}

/** What private providers do with bytes, and what they answer. */
export const offerPrivately = (world: World, bytes: Bytes, lie: string): NodeAnswer => {
  const isNoop = bytes.effect === undefined
  switch (world.privateNode) {
    case "dead":
      return { _tag: "NoAnswer" }
    case "refuses":
      return error(lie)
    case "next":
      if (!isNext(world, bytes)) return error("invalid nonce")
      break
    case "swallows":
      if (!isNoop) break
      for (const hash of world.privately.keys()) {
        if (world.bytes.get(hash)?.nonce === bytes.nonce) world.privately.delete(hash)
      }
      return accepted
    case "leaks":
      world.left.add(bytes.hash)
      break
    case "takes":
      break
  }
  // No private provider mines a transfer to the sender itself.
  if (!isNoop) world.privately.set(bytes.hash, world.now + privateLife)
  return accepted
}

/** Whether bytes are in a block that somebody has shown. */
const isIncluded = ({ chain, fork }: World, hash: string): boolean =>
  [chain, ...(fork === undefined ? [] : [fork])].some((blocks: Chain) =>
    minedIn(blocks).some(({ bytes }) => bytes.hash === hash)
  )

const isPromised = ({ route }: Transaction<Evm>, { kind }: Attempt<Evm>): boolean =>
  route?.kind === "private" && kind !== "noop"

/** What a provider that is not private gets of an attempt: until it is mined or has fallen back, neither its bytes nor its hash. */
const show = (world: World, transaction: Transaction<Evm>, attempt: Attempt<Evm>, what: string): void => {
  assert.isFalse(
    isPromised(transaction, attempt) && !isIncluded(world, attempt.hash),
    `a provider that is not private got ${what} of a private transaction`
  )
}

/** Where bytes go. */
export const sendTo = (world: World, transaction: Transaction<Evm>, attempt: Attempt<Evm>): Destination => {
  const destination = destinationOf(transaction, attempt)
  if (destination !== "private") show(world, transaction, attempt, "the bytes")
  return destination
}

/** The hashes that a poll asks for. */
export const ask = (world: World, transaction: Transaction<Evm>, count: number): ReturnType<typeof questionsOf> => {
  const questions = questionsOf(transaction, count)
  const asked = new Set([...questions.receipts, ...(questions.pooled === undefined ? [] : [questions.pooled])])
  for (const attempt of transaction.attempts) {
    if (asked.has(attempt.hash)) show(world, transaction, attempt, "the hash")
  }
  return questions
}

/** Whether private providers may still include it. */
export const isKept = ({ now, privately }: World, hash: string): boolean => (privately.get(hash) ?? 0) > now

/** What private providers put into the next block: the newest bytes at each nonce from the count on. */
export const includedPrivately = (world: World): ReadonlyArray<Bytes> => {
  const found: Array<Bytes> = []
  const { bytes, chain, privately } = world
  if (world.privateNode === "dead" || world.privateNode === "refuses") return found
  for (let nonce = countOf(chain); ; nonce++) {
    const newest = [...privately.keys()].flatMap((hash) => {
      const one = bytes.get(hash)
      return one?.nonce === nonce && isKept(world, hash) ? [one] : []
    })
    const last = newest.at(-1)
    if (last === undefined) return found
    found.push(last)
  }
}
