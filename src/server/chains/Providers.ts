// The providers of one lane, request or inspection: the first answers as long as it can, so that counts do not jump between
// back ends; the others give second opinions. Every provider proves that it is on the right chain before it is believed or
// gets bytes.
import { Data, Duration, Effect, Order, Random, Result } from "effect"
import type { ProviderReading } from "../../domain/chain/ChainSnapshot.ts"
import { maskRpc } from "../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import { failureToReport, rpcFailure } from "./RpcFailure.ts"
import type { RpcFailure } from "./RpcFailure.ts"
import type { RpcNode } from "./RpcNode.ts"

/** Providers that get the same bytes for the first time: all of them if there are no more than this. */
const maxFirst = 3

/** Providers that get the same bytes at each other send. */
const maxBroadcast = 2

/** Where the providers of a send begin in their order, so that all of them get the bytes in turn. */
const turn = <A>(nodes: ReadonlyArray<A>, sends: number): ReadonlyArray<A> => {
  if (sends === 0) return nodes.length <= maxFirst ? nodes : nodes.slice(0, maxBroadcast)
  const from = (sends * maxBroadcast) % nodes.length
  return [...nodes.slice(from), ...nodes.slice(0, from)].slice(0, maxBroadcast)
}

/** The largest number of providers that prove themselves at the same time. */
const maxProved = 20

export interface ProviderFailure {
  /** Not masked. */
  readonly url: string
  readonly failure: RpcFailure
}

/** No provider answered. Each has a failure, in the order of the calls. */
export class NoProvider extends Data.TaggedError("NoProvider")<{
  readonly failures: ReadonlyArray<ProviderFailure>
}> {}

type Use<A> = (node: RpcNode) => Effect.Effect<A, RpcFailure>

/** What one provider answered, apart from the others. */
export interface Opinion<A> {
  /** Not masked. */
  readonly url: string
  readonly result: Result.Result<A, RpcFailure>
}

export const answersIn = <A>(opinions: ReadonlyArray<Opinion<A>>): ReadonlyArray<A> =>
  opinions.flatMap(({ result }) => (Result.isSuccess(result) ? [result.success] : []))

export interface Providers {
  /** URLs that are asked. */
  readonly configured: number
  /** Hash of the first block, once it is known. Absent: the network identifies its chain otherwise. */
  readonly genesis?: Effect.Effect<string | undefined>
  /** Asks the present provider, and the next ones if it fails. The one that answered is asked first from then on. */
  first<A>(use: Use<A>): Effect.Effect<A, RpcFailure>
  /** The same, with the failure of each provider. */
  tryAll<A>(use: Use<A>): Effect.Effect<A, NoProvider>
  /**
   * Asks others than `asked` in turn, until an answer is enough, and returns the last one. Undefined: none answers.
   * `not_configured`: there is only one provider. Absent `isEnough`: every answer is.
   */
  second<A>(
    asked: RpcNode,
    use: Use<A>,
    isEnough?: (answer: A) => boolean
  ): Effect.Effect<A | undefined | "not_configured">
  /** Asks others than `asked` in turn until an answer is enough, each for itself. Empty: there is only one provider. */
  others<A>(asked: RpcNode, use: Use<A>, isEnough: (answer: A) => boolean): Effect.Effect<ReadonlyArray<Opinion<A>>>
  /** This one is asked last from now on. */
  demote(node: RpcNode): Effect.Effect<void>
  /** Asks all of them at the same time, in their order. Undefined: this one does not answer. */
  each<A>(use: Use<A>): Effect.Effect<ReadonlyArray<A | undefined>>
  /** Asks up to `limit` providers at the same time, each for itself. Those whose breakers are open come last. */
  opinions<A>(limit: number, use: Use<A>): Effect.Effect<ReadonlyArray<Opinion<A>>>
  /** The same without those that fail. */
  answers<A>(limit: number, use: Use<A>): Effect.Effect<ReadonlyArray<A>>
  /**
   * Sends to all providers if there are at most three, else to the first two; each further time to the next two, round the
   * list. `sends`: how often these bytes were sent before. Empty: none of them is on the chain.
   */
  broadcast<A>(send: (node: RpcNode) => Effect.Effect<A>, sends?: number): Effect.Effect<ReadonlyArray<A>>
  /** The chain may have begun anew: every provider has to prove itself again, this one at once. */
  doubt(node: RpcNode): Effect.Effect<void, RpcFailure>
  /** Asks all for their proof at the same time. Those that give it, in the same order. Fails if none does. */
  readonly proven: Effect.Effect<Providers, RpcFailure>
  /** The state of each URL, with its last failure here and at the `proven` ones, and how long its proof for `proven` took. */
  readonly readings: Effect.Effect<ReadonlyArray<ProviderReading>>
}

export interface PoolOptions {
  readonly nodeOf: (url: string) => RpcNode
  /** Fails if the node is not on the right chain. */
  readonly prove: (node: RpcNode) => Effect.Effect<void, RpcFailure>
  /** The time limit of a call over all providers, in milliseconds. Absent: none. */
  readonly budgetMs?: number
  /** Moves those that are not worth asking first to the end. Absent: none are. */
  readonly arrange?: (nodes: ReadonlyArray<RpcNode>) => ReadonlyArray<RpcNode>
}

/**
 * Shuffles by weight. The probability that an item comes first is its share of all weights. The same holds for the second item
 * among the rest, and so on (Efraimidis and Spirakis). Items with weight 0 are omitted.
 */
export const shuffle = <A extends { readonly weight: number }>(
  items: ReadonlyArray<A>
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.forEach(
    items.filter(({ weight }) => weight > 0),
    (item) => Effect.map(Random.next, (random) => ({ item, rank: -Math.log(1 - random) / item.weight }))
  ).pipe(Effect.map((ranked) => ranked.sort(Order.mapInput(Order.Number, ({ rank }) => rank)).map(({ item }) => item)))

/** Nodes whose breakers are open come last: they are asked if no other one answers. */
const byBreaker = Effect.fnUntraced(function* (nodes: ReadonlyArray<RpcNode>) {
  if (nodes.length < 2) return [nodes, []] as const
  const states = yield* Effect.forEach(nodes, ({ breaker }) => breaker)
  return [
    nodes.filter((_, index) => states[index] !== "open"),
    nodes.filter((_, index) => states[index] === "open")
  ] as const
})

/** `urls` with a weight of 0 are not called. The order is chosen by weight, once. */
export const makeProviders = Effect.fnUntraced(function* (
  { nodeOf, prove, budgetMs, arrange = (nodes) => nodes }: PoolOptions,
  urls: ReadonlyArray<RpcConfig>
) {
  const distinct = [...new Set((yield* shuffle(urls)).map(({ url }) => url))]
  /** The last failure of each URL. */
  const failed = new Map<string, RpcFailure>()
  /** Whole milliseconds of the last proof of each URL for `proven`. */
  const latencies = new Map<string, number>()
  let trusted = new Set<RpcNode>()

  const proof = (node: RpcNode) =>
    Effect.suspend(() => (trusted.has(node) ? Effect.void : Effect.map(prove(node), () => void trusted.add(node))))

  const on = <A>(node: RpcNode, use: Use<A>) => {
    // Behind a URL that was unreachable, another chain may answer afterwards.
    const note = (failure: RpcFailure) =>
      Effect.sync(() => {
        failed.set(node.url, failure)
        if (failure.code === "unreachable") trusted.delete(node)
      })
    return proof(node).pipe(
      Effect.andThen(Effect.suspend(() => use(node))),
      Effect.tapError(note),
      Effect.onInterrupt(() => note(rpcFailure("unreachable")))
    )
  }

  const within = <A, E>(self: Effect.Effect<A, E>, late: () => E) =>
    budgetMs === undefined
      ? self
      : Effect.timeoutOrElse(self, { duration: budgetMs, orElse: () => Effect.fail(late()) })

  const over = (nodes: ReadonlyArray<RpcNode>): Providers => {
    const all = nodes
    let order = nodes
    const sorted = Effect.suspend(() => Effect.map(byBreaker(arrange(order)), (sorted) => sorted.flat()))

    const tryAll: Providers["tryAll"] = (use) => {
      const failures: Array<ProviderFailure> = []
      const inTurn = Effect.gen(function* () {
        for (const node of yield* sorted) {
          const asked = yield* Effect.result(on(node, use))
          if (Result.isSuccess(asked)) {
            order = [node, ...order.filter((other) => other !== node)]
            return asked.success
          }
          failures.push({ url: node.url, failure: asked.failure })
        }
        return yield* new NoProvider({ failures })
      })
      return within(inTurn, () => {
        const left = order.filter(({ url }) => !failures.some((failure) => failure.url === url))
        const late = left.map(({ url }) => ({ url, failure: rpcFailure("unreachable") }))
        return new NoProvider({ failures: [...failures, ...late] })
      })
    }

    // Not the order decides: it is not changed before the whole poll of a provider has succeeded.
    const others = Effect.fnUntraced(function* <A>(asked: RpcNode, use: Use<A>, isEnough: (answer: A) => boolean) {
      const found: Array<Opinion<A>> = []
      for (const node of (yield* sorted).filter(({ url }) => url !== asked.url)) {
        const result = yield* Effect.result(on(node, use))
        found.push({ url: node.url, result })
        if (Result.isSuccess(result) && isEnough(result.success)) break
      }
      return found
    })

    const second = Effect.fnUntraced(function* <A>(
      asked: RpcNode,
      use: Use<A>,
      isEnough: (answer: A) => boolean = () => true
    ) {
      const found = yield* others(asked, use, isEnough)
      if (found.length === 0) return "not_configured" as const
      return answersIn(found).at(-1)
    })

    const demote = (node: RpcNode) =>
      Effect.sync(() => {
        if (order.includes(node)) order = [...order.filter((other) => other !== node), node]
      })

    const each = <A>(use: Use<A>) =>
      Effect.forEach(
        order,
        (node) =>
          Effect.orElseSucceed(
            within(on(node, use), () => rpcFailure("unreachable")),
            () => undefined
          ),
        { concurrency: maxProved }
      )

    const opinions: Providers["opinions"] = Effect.fnUntraced(function* (limit, use) {
      const chosen = (yield* sorted).slice(0, limit)
      return yield* Effect.forEach(
        chosen,
        (node) => Effect.map(Effect.result(on(node, use)), (result) => ({ url: node.url, result })),
        { concurrency: "unbounded" }
      )
    })

    const broadcast: Providers["broadcast"] = Effect.fnUntraced(function* (send, sends = 0) {
      // Round a list that does not change: breakers decide about the first send alone.
      const chosen = turn(sends === 0 ? yield* sorted : all, sends)
      const proved = yield* Effect.filter(chosen, (node) => Effect.isSuccess(proof(node)), { concurrency: maxFirst })
      return yield* Effect.forEach(proved, send, { concurrency: maxFirst })
    })

    const proven: Providers["proven"] = Effect.gen(function* () {
      const failures: Array<RpcFailure> = []
      for (const round of yield* byBreaker(order.slice(0, maxProved))) {
        const answers = yield* Effect.forEach(
          round,
          (node) =>
            Effect.result(
              within(
                Effect.map(Effect.timed(on(node, () => Effect.void)), ([taken]) => {
                  latencies.set(node.url, Math.round(Duration.toMillis(taken)))
                  return node
                }),
                () => rpcFailure("unreachable")
              )
            ),
          { concurrency: "unbounded" }
        )
        const right = answers.flatMap((answer) => (Result.isSuccess(answer) ? [answer.success] : []))
        if (right.length > 0) return over(right)
        failures.push(...answers.flatMap((answer) => (Result.isFailure(answer) ? [answer.failure] : [])))
      }
      return yield* failureToReport(failures)
    })

    return {
      configured: distinct.length,
      tryAll,
      first: (use) =>
        Effect.mapError(tryAll(use), ({ failures }) =>
          failureToReport(failures.map(({ failure, url }) => failure.at(url)))
        ),
      second,
      others,
      demote,
      each,
      opinions,
      answers: (limit, use) => Effect.map(opinions(limit, use), answersIn),
      broadcast,
      doubt: (node) =>
        Effect.suspend(() => {
          trusted = new Set()
          return proof(node)
        }),
      proven,
      readings: Effect.forEach(urls, (config) =>
        Effect.map(nodeOf(config.url).breaker, (breaker) => {
          const failure = failed.get(config.url)
          const latency = latencies.get(config.url)
          return {
            ...maskRpc(config),
            breaker,
            failed: failure !== undefined || (config.weight > 0 && breaker !== "closed"),
            ...(latency === undefined ? {} : { latency_ms: latency }),
            ...(failure === undefined ? {} : { code: failure.code, error: failure.text })
          }
        })
      )
    }
  }

  return over(distinct.map(nodeOf))
})
