// The service in several processes: this one owns the database, the keys and the limits, and its workers serve.
import { Console, Deferred, Duration, Effect, Option, Redacted, Scope } from "effect"
import * as Collected from "./Collected.ts"
import * as Logging from "./Logging.ts"
import * as ClusterRateLimiterStore from "./ClusterRateLimiterStore.ts"
import * as Processes from "./Processes.ts"
import * as ProcessGauges from "./ProcessGauges.ts"
import type { Begin } from "./Protocol.ts"
import type { Settings } from "./Settings.ts"
import * as SharedMasterKeys from "./SharedMasterKeys.ts"
import * as StartupBanner from "./StartupBanner.ts"
import * as Sql from "../sql/Sql.ts"
import * as Database from "./Database.ts"
import { startKeys } from "./StartKeys.ts"

type Given = Begin["settings"]

/** What a worker takes to stop beyond its grace: webhooks under way, and connections that linger. */
const beyondGrace = Duration.seconds(8)

/** What is done once for all workers. The embedded database runs as long as `scope` is open. */
const prepare = Effect.fnUntraced(function* (
  settings: Settings,
  begun: ReadonlySet<Processes.Process>,
  scope: Scope.Scope
) {
  const keys = yield* startKeys(settings)
  const databaseUrl = yield* Scope.provide(Sql.serve(Database.options(settings)), scope)
  const masterKeys = [keys.masterKey, ...keys.earlierMasterKeys].map(Redacted.value)
  return { ...keys, databaseUrl, shared: SharedMasterKeys.make(begun, masterKeys, keys.masterKeyStore) }
})

const start = Effect.fnUntraced(function* (settings: Settings, given: Given, databaseScope: Scope.Scope) {
  const begun = new Set<Processes.Process>()
  const serving = new Set<Processes.Process>()
  const limits = yield* ClusterRateLimiterStore.handlers
  const collect = yield* Collected.make(serving)
  const prepared = yield* Deferred.make<Effect.Success<ReturnType<typeof prepare>>>()

  // They load while the database starts.
  const { listening } = yield* Processes.start({
    count: settings.WORKERS,
    patience: Duration.sum(Duration.millis(settings.SHUTDOWN_GRACE_MS), beyondGrace),
    begun,
    serving,
    begin: Effect.map(Deferred.await(prepared), ({ apiKey, databaseUrl, masterKeyStore, shared }) => ({
      settings: given,
      databaseUrl: Redacted.value(databaseUrl),
      apiKey: Redacted.value(apiKey),
      masterKeys: shared.current(),
      keepsMasterKeys: Option.isSome(masterKeyStore)
    })),
    answer: Effect.fnUntraced(function* (process) {
      const { shared } = yield* Deferred.await(prepared)
      return { ...limits, ...shared.handlers(process), ...(yield* collect(process)) }
    })
  })
  const ready = yield* prepare(settings, begun, databaseScope)
  yield* Deferred.succeed(prepared, ready)
  const { address } = yield* listening
  yield* Console.log(StartupBanner.text(address, ready.keptApiKey))
})

/** `given` is what the settings were decoded from. */
export const serve = (settings: Settings, given: Given, isTerminal: boolean) =>
  Effect.scopedWith((databaseScope) =>
    // Ends first: the workers stop before their database does.
    Effect.scoped(Effect.andThen(start(settings, given, databaseScope), Effect.never))
  ).pipe(Effect.provide([Logging.layer(settings, isTerminal), ProcessGauges.layer]))
