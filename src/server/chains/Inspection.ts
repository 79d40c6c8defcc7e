// What the inspections of all network types share: providers that are on the right chain, and the `failures` of a snapshot.
import { Duration, Effect, Result } from "effect"
import type { ChainSnapshot, CheckFailure, ProviderReading } from "../../domain/chain/ChainSnapshot.ts"
import type { ProviderFacts, RpcConfig } from "../../domain/chain/Rpc.ts"
import type { Network } from "../../domain/network/Network.ts"
import type { RelayerAccount } from "../../domain/relayer/Relayer.ts"
import * as Facts from "./Facts.ts"
import * as Providers from "./Providers.ts"
import type { RpcFailure } from "./RpcFailure.ts"
import type { RpcDialect, RpcNode } from "./RpcNode.ts"
import type { RpcNodes } from "./RpcNodes.ts"

export interface Target {
  /** Also one that is about to be created. */
  readonly relayer: RelayerAccount
  /** The network of the relayer, of the same type. */
  readonly network: Network
  /** The custom URLs of the relayer, or else those of the network. Not masked. */
  readonly urls: ReadonlyArray<RpcConfig>
  /** The time limit of a call over all tries and providers. Absent: that of a health check. */
  readonly budgetMs?: number
}

/** The providers of a network, without an account. */
export type NetworkTarget = Omit<Target, "relayer">

/** The state of a provider, and what it can do if it is on the chain. */
export type ProbedProvider = ProviderReading & ProviderFacts

/** What each network type has. */
export interface Kind {
  /** Inspects an account on its chain. */
  inspect(nodes: RpcNodes["Service"], target: Target): Effect.Effect<ChainSnapshot>
  /** Asks all providers whether they are on the chain of the network, and what they can do. */
  probe(nodes: RpcNodes["Service"], target: NetworkTarget): Effect.Effect<ReadonlyArray<ProbedProvider>>
}

/**
 * The time limit of a call over all tries and providers, in milliseconds. An inspection takes at most two of it and one try of
 * a provider whose breaker is open: 19 seconds, less than the time limit of the health job.
 */
const checkBudgetMs = 7000

/** The longest time for which a create waits for providers. It answers within 2 seconds. */
export const previewPatience = Duration.millis(1800)

/** The time limit of a call of a create. Two of them are shorter than its whole time: those that answer are used. */
export const previewBudgetMs = 800

interface Chain {
  readonly nodes: RpcNodes["Service"]
  readonly dialect: RpcDialect
  readonly urls: ReadonlyArray<RpcConfig>
  readonly prove: (node: RpcNode) => Effect.Effect<void, RpcFailure>
  readonly budgetMs: number | undefined
}

const providersOf = ({ nodes, dialect, urls, prove, budgetMs = checkBudgetMs }: Chain) =>
  Providers.make({ nodeOf: (url) => nodes.of(dialect, url), prove, budgetMs }, urls)

/** The failures if no provider serves the relayer's chain. */
const unusable = ({ code }: RpcFailure): ReadonlyArray<CheckFailure> => [
  { type: code === "mismatch" ? "ChainIdMismatch" : "RpcValidationFailed", code }
]

/** What `read` finds with the providers that are on the chain, and the state of all. */
export const run = Effect.fnUntraced(function* <A extends { readonly failures: ReadonlyArray<CheckFailure> }>(
  chain: Chain,
  read: (providers: Providers.Providers) => Effect.Effect<A>
) {
  const all = yield* providersOf(chain)
  const proven = yield* Effect.result(all.proven)
  const found = Result.isSuccess(proven) ? yield* read(proven.success) : { failures: unusable(proven.failure) }
  return { ...found, providers: yield* all.readings }
})

/** The state of all providers, after all that may be called were asked for their proof, and those on the chain for what they can do. */
export const probe = Effect.fnUntraced(function* (chain: Chain, questions: Facts.Questions) {
  const all = yield* providersOf(chain)
  yield* Effect.ignore(all.proven)
  const opinions = yield* all.opinions(chain.urls.length, (node) =>
    Facts.ask(node, questions, chain.budgetMs ?? checkBudgetMs)
  )
  const facts = new Map(
    opinions.flatMap(({ result, url }) => (Result.isSuccess(result) ? [[url, result.success]] : []))
  )
  const readings = yield* all.readings
  return readings.map((reading, index): ProbedProvider => ({ ...reading, ...facts.get(chain.urls[index]?.url ?? "") }))
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
