// Reads what decides about authorizations of a lane: whether nodes would apply them now, and what they have left at a block.
import { Effect } from "effect"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { Finding, Inquiry } from "../../../server/lanes/LaneNetwork.ts"
import { present } from "../../core/Presentation.ts"
import { newestRequest, requestOf } from "../../core/Transaction.ts"
import { codeAt, codeOf, countAt } from "../chain/EvmCalls.ts"
import { isDelegated, standingOf } from "../rules/Authorizations.ts"
import type { AuthorityState, SignedAuthorization } from "../rules/Authorizations.ts"
import type { Evm, Question } from "../rules/Evm.ts"
import { providersOf } from "./EvmContext.ts"
import type { EvmContext, EvmRelayer } from "./EvmContext.ts"

/** Those of the addresses, in lower case, that belong to relayers of evm networks. */
export type RelayersAmong = (addresses: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>>

const atOnce = { concurrency: "unbounded" } as const

const read = Effect.fnUntraced(function* (node: RpcNode, { authority }: SignedAuthorization) {
  return yield* Effect.all(
    {
      count: node.call(countAt(authority, "latest")),
      code: node.call(codeOf(authority)),
      pendingCount: Effect.orElseSucceed(node.call(countAt(authority, "pending")), () => undefined)
    },
    atOnce
  )
})

/** What one provider says ends nothing if there is another one: without its word the count is not known. */
const proven = Effect.fnUntraced(function* (
  context: EvmContext,
  relayer: EvmRelayer,
  node: RpcNode,
  entry: SignedAuthorization,
  state: AuthorityState
): Effect.fn.Return<AuthorityState> {
  if (standingOf(entry, state) !== "used") return state
  const providers = yield* providersOf(context, relayer)
  const second = yield* providers.second(node, (other) => other.call(countAt(entry.authority, "latest")))
  const isProven = second === "not_configured" || (second !== undefined && second > entry.nonce)
  if (isProven) return state
  const { count: _, ...others } = state
  return others
})

export const findAuthorities = Effect.fnUntraced(function* (
  context: EvmContext,
  { row: { transaction, relayer }, seen }: Inquiry<Evm>,
  relayersAmong: RelayersAmong
): Effect.fn.Return<Finding<Evm>> {
  const { authorization_list: list = [] } = newestRequest(transaction)
  const providers = yield* providersOf(context, relayer)
  const own = yield* relayersAmong(list.map(({ authority }) => authority))
  const asked = providers.first((node) =>
    Effect.map(
      Effect.forEach(list, (entry) => read(node, entry), atOnce),
      (states) => ({ node, states })
    )
  )
  const found = yield* Effect.orElseSucceed(asked, () => undefined)
  const authorities = yield* Effect.forEach(
    list,
    Effect.fnUntraced(function* (entry, index): Effect.fn.Return<AuthorityState> {
      const isRelayer = own.has(entry.authority)
      const answer = found?.states[index]
      if (found === undefined || answer === undefined) return { isRelayer }
      const { code, count, pendingCount } = answer
      const state = { isRelayer, code, count, ...present("pendingCount", pendingCount) }
      return yield* proven(context, relayer, found.node, entry, state)
    }),
    atOnce
  )
  return { seen: { ...seen, authorities } }
})

/** Null for each if no provider has the state of that block. */
export const findDelegations = Effect.fnUntraced(function* (
  context: EvmContext,
  { row: { transaction, relayer }, seen }: Inquiry<Evm>,
  { height, ordinal }: Extract<Question, { readonly _tag: "Delegations" }>
): Effect.fn.Return<Finding<Evm>> {
  const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
  const { authorization_list: list = [] } =
    attempt === undefined ? newestRequest(transaction) : requestOf(transaction, attempt)
  const providers = yield* providersOf(context, relayer)
  const delegated = yield* Effect.forEach(
    list,
    (entry) =>
      providers
        .first((node) => node.call(codeAt(entry.authority, height)))
        .pipe(
          Effect.map((code): boolean | null => isDelegated(entry, code)),
          Effect.orElseSucceed(() => null)
        ),
    atOnce
  )
  return { seen: { ...seen, delegated } }
})
