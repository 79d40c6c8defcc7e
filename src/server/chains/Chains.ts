// Inspects chains: whether the providers of a network are on the right one, what they can do, and the account of a relayer there.
import { Clock, Context, Duration, Effect, Layer, Result } from "effect"
import { knownProtocol, protocolOf, protocolWarning } from "../../domain/chain/ChainSnapshot.ts"
import type { ChainSnapshot, CheckFailure, ProviderReading } from "../../domain/chain/ChainSnapshot.ts"
import type { ProviderFacts, RpcConfig } from "../../domain/chain/Rpc.ts"
import type { Network, NetworkId, NetworkType } from "../../domain/network/Network.ts"
import type { RelayerAccount } from "../../domain/relayer/Relayer.ts"
import { BadRequest, NotImplemented } from "../../domain/request/Request.ts"
import { present } from "../../networks/core/Presentation.ts"
import type { Lane, Watched } from "../../networks/core/Transaction.ts"
import type { BalanceAt } from "../../networks/core/TopUpDecision.ts"
import { makeProviders } from "./Providers.ts"
import type { Providers } from "./Providers.ts"
import type { RpcAnswer, RpcCall } from "./RpcBatch.ts"
import type { RpcFailure } from "./RpcFailure.ts"
import type { RpcDialect, RpcNode } from "./RpcNode.ts"
import { RpcNodes } from "./RpcNodes.ts"

// Asks one provider what it can do: how many calls it takes in a batch, which questions it answers, and which software it runs.

/** Calls that are asked at the same time, besides the questions: enough to find out that a provider takes no or only small batches. */
const tried = 10

/** The questions of a network type. Absent: it has no such thing. */
export interface ProviderQuestions {
  /** A call that costs a provider nothing. */
  readonly cheap: RpcCall
  readonly version: RpcCall
  readonly versionIn: (result: unknown) => string | undefined
  readonly finalized?: RpcCall
  readonly feeHistory: RpcCall
  readonly archive?: RpcCall
  /** Absent: a provider that answers the question is an archive. */
  readonly isArchive?: (result: unknown) => boolean
}

const clientName = /^[\w.+-]{1,32}(?:\/[\w.+-]{1,32})?/u

/** A part of a URL that is shorter is no secret. */
const shortestSecret = 6

/** The name and the version of a client. A text that repeats a part of the URL, which may be a key, is not shown. */
const shownVersion = (text: string | undefined, url: string): string | undefined => {
  const [found] = clientName.exec(text ?? "") ?? []
  const secrets = url.split(/[/?&=#@:]+/u).filter((part) => part.length >= shortestSecret)
  return found === undefined || secrets.some((secret) => found.includes(secret)) ? undefined : found
}

const isThere = (result: unknown) => result !== null && result !== undefined

/** Never fails: what was not answered within `patienceMs` is absent. */
export const askFacts = Effect.fnUntraced(function* (node: RpcNode, questions: ProviderQuestions, patienceMs: number) {
  const asked = (call: RpcCall | undefined): Effect.Effect<RpcAnswer | undefined> =>
    call === undefined
      ? Effect.undefined
      : node.ask({ method: call.method, ...present("params", call.params) }).pipe(
          Effect.orElseSucceed(() => undefined),
          Effect.timeoutOrElse({ duration: patienceMs, orElse: () => Effect.undefined })
        )
  const { archive, feeHistory, finalized, version } = yield* Effect.all(
    {
      version: asked(questions.version),
      finalized: asked(questions.finalized),
      feeHistory: asked(questions.feeHistory),
      archive: asked(questions.archive),
      cheap: Effect.all(
        Array.from({ length: tried }, () => asked(questions.cheap)),
        { concurrency: "unbounded" }
      )
    },
    { concurrency: "unbounded" }
  )
  const can = (answer: RpcAnswer | undefined, isEnough: (result: unknown) => boolean = isThere) =>
    answer === undefined ? undefined : answer._tag === "Result" && isEnough(answer.value)
  const said = version?._tag === "Result" ? questions.versionIn(version.value) : undefined
  const facts: ProviderFacts = {
    batch_size: yield* node.batchSize,
    ...present("client_version", shownVersion(said, node.url)),
    ...present("finalized", can(finalized)),
    ...present("fee_history", can(feeHistory)),
    ...present("archive", can(archive, questions.isArchive))
  }
  return facts
})

// What the inspections of all network types share: providers that are on the right chain, and the `failures` of a snapshot.

export interface InspectionTarget {
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
export type NetworkTarget = Omit<InspectionTarget, "relayer">

/** The state of a provider, and what it can do if it is on the chain. */
export type ProbedProvider = ProviderReading & ProviderFacts

/** What providers show of an account at a block, one each. */
export interface SeenBalances {
  /** Providers that are asked. */
  readonly configured: number
  /** Of those that answer. */
  readonly readings: ReadonlyArray<BalanceAt>
}

const noBalances: SeenBalances = { configured: 0, readings: [] }

/** Providers whose balances are compared: two have to agree, and one of them may be silent. */
export const comparedProviders = 3

/** What each network type has. */
export interface ChainKind {
  /** Inspects an account on its chain. */
  inspect(nodes: RpcNodes["Service"], target: InspectionTarget): Effect.Effect<ChainSnapshot>
  /** Asks all providers whether they are on the chain of the network, and what they can do. */
  probe(nodes: RpcNodes["Service"], target: NetworkTarget): Effect.Effect<ReadonlyArray<ProbedProvider>>
  /** Asks several providers for the balance of an account at a block, each for itself. Absent: relayers of the type get no top-ups. */
  balances?(nodes: RpcNodes["Service"], target: InspectionTarget): Effect.Effect<SeenBalances>
  /** Looks at what the account of a lane rests on besides its transactions. Undefined: there is no such thing, or nobody answers. */
  watch?(nodes: RpcNodes["Service"], target: InspectionTarget, lane: Lane): Effect.Effect<Watched | undefined>
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

interface InspectedChain {
  readonly nodes: RpcNodes["Service"]
  readonly dialect: RpcDialect
  readonly urls: ReadonlyArray<RpcConfig>
  readonly prove: (node: RpcNode) => Effect.Effect<void, RpcFailure>
  readonly budgetMs: number | undefined
}

const providersOf = ({ nodes, dialect, urls, prove, budgetMs = checkBudgetMs }: InspectedChain) =>
  makeProviders({ nodeOf: (url) => nodes.of(dialect, url), prove, budgetMs }, urls)

/** The failures if no provider serves the relayer's chain. */
const unusable = ({ code }: RpcFailure): ReadonlyArray<CheckFailure> => [
  { type: code === "mismatch" ? "ChainIdMismatch" : "RpcValidationFailed", code }
]

/** What `read` finds with the providers that are on the chain, and the state of all. */
export const runInspection = Effect.fnUntraced(function* <A extends { readonly failures: ReadonlyArray<CheckFailure> }>(
  chain: InspectedChain,
  read: (providers: Providers) => Effect.Effect<A>
) {
  const all = yield* providersOf(chain)
  const proven = yield* Effect.result(all.proven)
  const found = Result.isSuccess(proven) ? yield* read(proven.success) : { failures: unusable(proven.failure) }
  return { ...found, providers: yield* all.readings }
})

/** What providers that prove the chain show of an account. */
export const compareBalances = Effect.fnUntraced(function* (
  chain: InspectedChain,
  read: (node: RpcNode) => Effect.Effect<BalanceAt, RpcFailure>
) {
  const all = yield* providersOf(chain)
  const seen: SeenBalances = { configured: all.configured, readings: yield* all.answers(comparedProviders, read) }
  return seen
})

/** The state of all providers, after all that may be called were asked for their proof, and those on the chain for what they can do. */
export const probeProviders = Effect.fnUntraced(function* (chain: InspectedChain, questions: ProviderQuestions) {
  const all = yield* providersOf(chain)
  yield* Effect.ignore(all.proven)
  const opinions = yield* all.opinions(chain.urls.length, (node) =>
    askFacts(node, questions, chain.budgetMs ?? checkBudgetMs)
  )
  const facts = new Map(
    opinions.flatMap(({ result, url }) => (Result.isSuccess(result) ? [[url, result.success]] : []))
  )
  const readings = yield* all.readings
  return readings.map((reading, index): ProbedProvider => ({ ...reading, ...facts.get(chain.urls[index]?.url ?? "") }))
})

const unservedText = (type: string) => `the program that runs this service does not serve ${type}`

/** A request about a relayer or a network whose type this program does not serve. */
export const notServed = (type: string) => new NotImplemented({ error: unservedText(type) })

/** A create of such a relayer or network. */
export const notServedField = (type: string) => BadRequest.of([{ field: "network_type", message: unservedText(type) }])

export const wrongType = Effect.die(new Error("the network is of another type than the relayer"))

type Answer<A> = Result.Result<A, RpcFailure>

/** Empty if the call succeeded. */
export const failuresOf = <A>(type: CheckFailure["type"], answer: Answer<A>): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? [] : [{ type, code: answer.failure.code }]

export const tooLow = (balance: bigint, minimum: bigint): ReadonlyArray<CheckFailure> =>
  balance >= minimum ? [] : [{ type: "BalanceCheckFailed", code: "too_low" }]

export const balanceFailures = (answer: Answer<bigint>, minimum: bigint): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? tooLow(answer.success, minimum) : failuresOf("BalanceCheckFailed", answer)

/** A network whose protocol is newer than this version of the service knows. */
export interface UnknownProtocol {
  readonly network: NetworkId
  readonly protocol: number
}

/** A protocol that no inspection of this instance has seen for so long is forgotten: its network may be gone. */
const rememberedFor = Duration.toMillis("1 day")

/** Remembers the newer protocols that inspections see, and logs each once. */
const remembering = () => {
  const seen = new Map<NetworkId, { readonly protocol: number; readonly at: number }>()
  const note = Effect.fnUntraced(function* ({ id }: Network, readings: ReadonlyArray<ProviderReading>) {
    const protocol = protocolOf(readings)
    if (protocol === undefined) return
    const warning = protocolWarning(protocol)
    const before = seen.get(id)?.protocol
    if (warning === undefined) return void seen.delete(id)
    seen.set(id, { protocol, at: yield* Clock.currentTimeMillis })
    if (before === protocol) return
    const details = { network: id, protocol, known_protocol: knownProtocol, effect: warning }
    yield* Effect.annotateLogs(Effect.logWarning("a network runs a newer protocol than this version knows"), details)
  })
  const unknownProtocols = Effect.map(Clock.currentTimeMillis, (now) =>
    [...seen].flatMap(([network, { at, protocol }]): ReadonlyArray<UnknownProtocol> =>
      now - at > rememberedFor ? [] : [{ network, protocol }]
    )
  )
  return { note, unknownProtocols }
}

export class Chains extends Context.Service<
  Chains,
  {
    /** Whether this program serves the network type. Only accounts and providers of such a type are inspected. */
    serves(type: NetworkType): boolean
    /** Never fails: `failures` of the snapshot contains the problems. */
    inspect(target: InspectionTarget): Effect.Effect<ChainSnapshot>
    /** What the account of a lane rests on besides its transactions, compared with what is remembered. Never fails. */
    watch(target: InspectionTarget, lane: Lane): Effect.Effect<Watched | undefined>
    /** The state of each provider of a network, after each was asked whether it is on its chain, and what it can do. Never fails. */
    probe(target: NetworkTarget): Effect.Effect<ReadonlyArray<ProbedProvider>>
    /** What providers show of the balance of a relayer, each at a block. Never fails: those that do not answer are left out. */
    balances(target: InspectionTarget): Effect.Effect<SeenBalances>
    /** Stellar networks with a newer protocol, as the inspections of this instance have seen them last. */
    readonly unknownProtocols: Effect.Effect<ReadonlyArray<UnknownProtocol>>
  }
>()("effect-relayer/server/chains/Chains") {
  /** `inspections`: by the network types that the program serves. */
  static readonly layerNoDeps = <E, R>(inspections: Effect.Effect<ReadonlyMap<string, ChainKind>, E, R>) =>
    Layer.effect(
      Chains,
      Effect.gen(function* () {
        const nodes = yield* RpcNodes
        const kinds = yield* inspections
        const { note, unknownProtocols } = remembering()
        const kindOf = (type: NetworkType) => {
          const kind = kinds.get(type)
          return kind === undefined ? Effect.die(new Error(unservedText(type))) : Effect.succeed(kind)
        }
        return Chains.of({
          serves: (type) => kinds.has(type),
          inspect: Effect.fn("Chains.inspect")(function* (target) {
            const { inspect } = yield* kindOf(target.relayer.network_type)
            return yield* Effect.tap(inspect(nodes, target), ({ providers }) => note(target.network, providers))
          }),
          watch: Effect.fn("Chains.watch")(function* (target, lane) {
            const { watch } = yield* kindOf(target.relayer.network_type)
            return watch === undefined ? undefined : yield* watch(nodes, target, lane)
          }),
          probe: Effect.fn("Chains.probe")(function* (target) {
            const { probe } = yield* kindOf(target.network.network_type)
            return yield* probe(nodes, target)
          }),
          balances: Effect.fn("Chains.balances")(function* (target) {
            const { balances } = yield* kindOf(target.relayer.network_type)
            return balances === undefined ? noBalances : yield* balances(nodes, target)
          }),
          unknownProtocols
        })
      })
    )
}
