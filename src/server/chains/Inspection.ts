// What the inspections of all network types share: providers that are on the right chain, and the `failures` of a snapshot.
import { Effect, Result } from "effect"
import type { ChainSnapshot, CheckFailure } from "../../domain/chain/ChainSnapshot.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import type { Network } from "../../domain/network/Network.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import * as Providers from "./Providers.ts"
import type { RpcFailure } from "./RpcFailure.ts"
import type { RpcDialect, RpcNode } from "./RpcNode.ts"
import type { RpcNodes } from "./RpcNodes.ts"

export interface Target {
  readonly relayer: Relayer
  /** The network of the relayer, of the same type. */
  readonly network: Network
  /** The custom URLs of the relayer, or else those of the network. Not masked. */
  readonly urls: ReadonlyArray<RpcConfig>
}

/** Inspects an account on its chain. Each network type has one. */
export type Inspect = (nodes: RpcNodes["Service"], target: Target) => Effect.Effect<ChainSnapshot>

/**
 * The time limit of a call over all tries and providers, in milliseconds. An inspection takes at most two of it and one try of
 * a provider whose breaker is open: 19 seconds, less than the time limit of the health job.
 */
const budgetMs = 7000

interface Chain {
  readonly nodes: RpcNodes["Service"]
  readonly dialect: RpcDialect
  readonly urls: ReadonlyArray<RpcConfig>
  readonly prove: (node: RpcNode) => Effect.Effect<void, RpcFailure>
}

/** The failures if no provider serves the relayer's chain. */
const unusable = ({ code }: RpcFailure): ReadonlyArray<CheckFailure> => [
  { type: code === "mismatch" ? "ChainIdMismatch" : "RpcValidationFailed", code }
]

/** What `read` finds with the providers that are on the chain, and the state of all. */
export const run = Effect.fnUntraced(function* <A extends { readonly failures: ReadonlyArray<CheckFailure> }>(
  { nodes, dialect, urls, prove }: Chain,
  read: (providers: Providers.Providers) => Effect.Effect<A>
) {
  const all = yield* Providers.make({ nodeOf: (url) => nodes.of(dialect, url), prove, budgetMs }, urls)
  const proven = yield* Effect.result(all.proven)
  const found = Result.isSuccess(proven) ? yield* read(proven.success) : { failures: unusable(proven.failure) }
  return { ...found, providers: yield* all.readings }
})

export const wrongType = Effect.die(new Error("the network is of another type than the relayer"))

type Answer<A> = Result.Result<A, RpcFailure>

/** Empty if the call succeeded. */
export const failures = <A>(type: CheckFailure["type"], answer: Answer<A>): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? [] : [{ type, code: answer.failure.code }]

export const tooLow = (balance: bigint, minimum: bigint): ReadonlyArray<CheckFailure> =>
  balance >= minimum ? [] : [{ type: "BalanceCheckFailed", code: "too_low" }]

export const balanceFailures = (answer: Answer<bigint>, minimum: bigint): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? tooLow(answer.success, minimum) : failures("BalanceCheckFailed", answer)
