// What a call with authorizations (EIP-7702) needs. A node that ignores them estimates a call of an account without code: it is found out, and its
// estimate counts for nothing.
import { Effect, Result } from "effect"
import type { Opinion, Providers } from "../../../server/chains/Providers.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { codeOf, entryGas } from "../rules/Authorizations.ts"
import type { SignedAuthorization } from "../rules/Authorizations.ts"
import type { Estimate } from "../rules/Evm.ts"
import { nodeEstimate } from "./EvmCalls.ts"
import type { CallFields, NodeEstimate } from "./EvmCalls.ts"

/** A call with authorizations. */
export interface ListedCall extends CallFields {
  readonly authorization_list: ReadonlyArray<SignedAuthorization>
}

/** Undefined: the node does not take them into account. */
type Listed = NodeEstimate | undefined

/** Nobody has its key, and it has no code on any chain: an address that holders send tokens to in order to destroy them. */
export const emptyAccount = "0x000000000000000000000000000000000000dead"

/** The instruction INVALID (EIP-141): each call of it fails. */
const invalidCode = "0xfe"

const atOnce = { concurrency: "unbounded" } as const

/** In one batch: the same call of nothing costs as much without an entry only where entries are ignored. No constant tells, because forks change it. */
const withList = Effect.fnUntraced(function* (node: RpcNode, call: ListedCall): Effect.fn.Return<Listed, RpcFailure> {
  const nothing: CallFields = { from: call.from, to: emptyAccount, value: 0n }
  const listed = { ...nothing, authorization_list: call.authorization_list.slice(0, 1) }
  const [asked, one, none] = yield* Effect.all(
    [nodeEstimate(node, call), nodeEstimate(node, listed), nodeEstimate(node, nothing)],
    atOnce
  )
  if (one._tag !== "Gas" || none._tag !== "Gas" || one.gas === none.gas) return undefined
  return asked._tag === "Refused" ? undefined : asked
})

/** In one batch: a call of invalid code succeeds only where overrides are ignored. */
const withOverrides = Effect.fnUntraced(function* (
  node: RpcNode,
  { authorization_list: list, ...call }: ListedCall
): Effect.fn.Return<Listed, RpcFailure> {
  const codes = Object.fromEntries(list.map((entry) => [entry.authority, { code: codeOf(entry) }]))
  const nothing: CallFields = { from: call.from, to: emptyAccount, value: 0n }
  const [asked, invalid] = yield* Effect.all(
    [nodeEstimate(node, call, codes), nodeEstimate(node, nothing, { [emptyAccount]: { code: invalidCode } })],
    atOnce
  )
  if (invalid._tag !== "Reverts" || asked._tag === "Refused") return undefined
  return asked._tag === "Gas" ? { ...asked, gas: asked.gas + entryGas * BigInt(list.length) } : asked
})

/** What one node says, by whichever means it has. */
export const listedEstimateOf = Effect.fnUntraced(function* (
  node: RpcNode,
  call: ListedCall
): Effect.fn.Return<NodeEstimate, RpcFailure> {
  return (yield* withList(node, call)) ?? (yield* withOverrides(node, call)) ?? { _tag: "Unavailable" }
})

/** What providers say until it is enough: an estimate, or two reverts. */
interface Heard {
  readonly found: ReadonlyArray<NodeEstimate>
  /** Whether one of them did not answer. */
  readonly isPartial: boolean
}

const askAll = Effect.fnUntraced(function* (
  providers: Providers,
  ask: (node: RpcNode) => Effect.Effect<Listed, RpcFailure>
): Effect.fn.Return<Heard, RpcFailure> {
  const { answer, node } = yield* providers.first((node) => Effect.map(ask(node), (answer) => ({ answer, node })))
  const found = answer === undefined ? [] : [answer]
  const isEnough = (next: Listed): boolean => {
    if (next !== undefined) found.push(next)
    return found.length > 1 || (next !== undefined && next._tag !== "Reverts")
  }
  if (answer !== undefined && answer._tag !== "Reverts") return { found, isPartial: false }
  const others: ReadonlyArray<Opinion<Listed>> = yield* providers.others(node, ask, isEnough)
  return { found, isPartial: others.some(({ result }) => Result.isFailure(result)) }
})

/** A revert counts as agreed if a second provider that takes authorizations into account says so, or if there is none. */
const decided = ([first, second]: ReadonlyArray<NodeEstimate>): Estimate | undefined => {
  if (first?._tag !== "Reverts") return first
  const opinion = second === undefined ? "not_configured" : second._tag === "Reverts" ? "agrees" : "differs"
  return { _tag: "Reverts", second: opinion, ...(first.reason === undefined ? {} : { reason: first.reason }) }
}

/** Providers that ignore or refuse lists are passed over; if all do, the delegations are put in place by overrides. */
export const listedEstimate = Effect.fn("EvmEstimates.listed")(function* (
  providers: Providers,
  call: ListedCall
): Effect.fn.Return<Estimate, RpcFailure> {
  const byList = yield* askAll(providers, (node) => withList(node, call))
  const estimate = decided(byList.found)
  if (estimate !== undefined) return estimate
  const byOverrides = yield* askAll(providers, (node) => withOverrides(node, call))
  const isPartial = byList.isPartial || byOverrides.isPartial
  return decided(byOverrides.found) ?? { _tag: isPartial ? "Unknown" : "Unavailable" }
})
