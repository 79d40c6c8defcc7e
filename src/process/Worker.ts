// One of several processes that serve: what it needs comes from the primary, and it ends with it.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Deferred, Effect, Exit, Layer, Option, Redacted } from "effect"
import { PrometheusMetrics } from "effect/observability"
import cluster from "node:cluster"
import * as Channel from "./Channel.ts"
import { stopAtHangUp } from "./Sighup.ts"
import * as HttpServer from "./HttpServer.ts"
import * as Keys from "./Keys.ts"
import * as Logging from "./Logging.ts"
import * as ClusterRateLimiterStore from "./ClusterRateLimiterStore.ts"
import type { Begin, OfPrimary, OfWorker } from "./Protocol.ts"
import * as Settings from "./Settings.ts"
import { ActiveKeyring } from "../server/secrets/ActiveKeyring.ts"
import type { Store } from "../server/masterKey/MasterKeyStore.ts"
import { Gauges } from "../server/observability/Gauges.ts"
import { Peers } from "../server/observability/Peers.ts"
import { Workers } from "../server/lifecycle/Jobs.ts"
import * as Database from "./Database.ts"
import * as Service from "./Service.ts"

type ToPrimary = Channel.Channel<OfPrimary, OfWorker>

const masterKeyStore = ({ ask }: ToPrimary): Store => ({
  keep: (keys) => Effect.asVoid(Effect.orDie(ask("keepMasterKeys", keys.map(Keys.masterKeyText)))),
  use: (keys) => Effect.asVoid(Effect.orDie(ask("useMasterKeys", keys.map(Keys.masterKeyText))))
})

/** Where the primary is gone, this process speaks for itself. */
const peers = ({ ask }: ToPrimary) =>
  Layer.succeed(Peers, {
    metrics: (own) => Effect.orElseSucceed(ask("metrics", own), () => own),
    statuses: (own) => Effect.orElseSucceed(ask("statuses", own), () => own)
  })

const keysOf = (texts: ReadonlyArray<string>) => texts.map((text) => Settings.masterKeyBytes(Redacted.make(text)))

/** What others ask of this process once it serves. */
const answers = ({ answer }: ToPrimary) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const gauges = yield* Gauges
      const { statuses } = yield* Workers
      const keyring = yield* ActiveKeyring
      const take = Effect.fnUntraced(function* (texts: ReadonlyArray<string>, isCurrent: boolean) {
        const [current, ...others] = (yield* keyring.get).keys.values()
        const [first, ...more] = keysOf(texts)
        if (first === undefined || current === undefined) return null
        const [next, ...rest] = isCurrent ? [first, current] : [current, first]
        yield* keyring.use(yield* keyring.make({ current: next ?? first, others: [...rest, ...more, ...others] }))
        return null
      })
      yield* answer({
        metrics: () => Effect.andThen(gauges.refreshOwn, PrometheusMetrics.format()),
        statuses: () => statuses,
        learnMasterKeys: (keys) => take(keys, false),
        useMasterKeys: (keys) => take(keys, true)
      })
    })
  ).pipe(Layer.provide(Workers.layer))

const application = (channel: ToPrimary, begin: Begin, settings: Settings.Settings) => {
  const [masterKey = "", ...earlier] = begin.masterKeys
  const service = Service.layer(settings, {
    database: {
      _tag: "Url",
      url: Redacted.make(begin.databaseUrl),
      pool: Database.pool(settings)
    },
    apiKey: Redacted.make(begin.apiKey),
    masterKey: Redacted.make(masterKey),
    earlierMasterKeys: earlier.map((key) => Redacted.make(key)),
    masterKeyStore: begin.keepsMasterKeys ? Option.some(masterKeyStore(channel)) : Option.none(),
    limits: ClusterRateLimiterStore.layer(channel),
    listening: (address) => Effect.ignore(channel.ask("listening", { address }))
  })
  return Layer.provideMerge(answers(channel), service).pipe(Layer.provide(peers(channel)))
}

/** Until the primary, or a signal, asks it to stop, or the primary is gone. */
const run = Effect.fnUntraced(function* (channel: ToPrimary, isTerminal: boolean) {
  const stop = yield* Deferred.make<null>()
  yield* channel.answer({ stop: () => Effect.as(Deferred.succeed(stop, null), null) })
  const serve = Effect.gen(function* () {
    const begin = yield* Effect.catch(channel.ask("begin", null), () => Effect.never)
    const settings = yield* Settings.decode(begin.settings)
    return yield* Layer.launch(application(channel, begin, settings)).pipe(
      Effect.catchTag("ServeError", (error) => Effect.fail({ message: HttpServer.explain(settings, error) })),
      Effect.provide(Logging.layer(settings, isTerminal)),
      Effect.annotateLogs({ worker: cluster.worker?.id })
    )
  })
  yield* serve.pipe(Effect.raceFirst(Deferred.await(stop)), Effect.raceFirst(channel.closed))
})

/** In a line, as the primary would say it of itself. */
const reason = (cause: Cause.Cause<{ readonly message: string }>): string =>
  Option.match(Cause.findErrorOption(cause), { onNone: () => Cause.pretty(cause), onSome: ({ message }) => message })

export const main = (isTerminal: boolean): void => {
  stopAtHangUp()
  // Otherwise Node ends this process the moment the primary is gone, with whatever it is at.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
  Effect.flatMap(Channel.make<OfPrimary, OfWorker>(process), (channel) =>
    run(channel, isTerminal).pipe(
      Effect.tapCause((cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.ignore(channel.ask("failed", reason(cause)))
      )
    )
  ).pipe(
    NodeRuntime.runMain({
      disableErrorReporting: true,
      // The channel would keep it alive.
      teardown: (exit) => process.exit(Exit.isFailure(exit) && !Exit.hasInterrupts(exit) ? 1 : 0)
    })
  )
}
