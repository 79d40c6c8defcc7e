// Runs the service in this process until a signal stops it.
import { Console, Effect, Layer, Option } from "effect"
import * as Sql from "../sql/Sql.ts"
import * as AuditHeadFile from "./AuditHeadFile.ts"
import * as HttpServer from "./http/HttpServer.ts"
import * as Logging from "./Logging.ts"
import * as Service from "./Service.ts"
import * as ConsoleSettings from "./settings/ConsoleSettings.ts"
import type { Misspelled } from "./settings/Misspelled.ts"
import * as Settings from "./settings/Settings.ts"
import * as StartFailed from "./StartFailed.ts"
import { shareApiKey, startApiKey, startMasterKey } from "./settings/StartKeys.ts"
import * as StartupBanner from "./StartupBanner.ts"

export interface Started {
  readonly isTerminal: boolean
  /** Variables that have no effect, and probably should have one. */
  readonly misspelled: ReadonlyArray<Misspelled>
}

const application = Effect.fn("application")(function* (
  settings: Settings.Settings,
  { isTerminal, misspelled }: Started
) {
  for (const { variable, setting } of misspelled) {
    yield* Effect.annotateLogs(Effect.logWarning("a variable resembles a setting, but is none"), {
      variable,
      setting
    })
  }
  yield* HttpServer.probe(settings)
  const own = yield* startApiKey(settings)
  const database = yield* Sql.open(Settings.databaseOptions(settings))
  const masterKeys = yield* startMasterKey(settings, database)
  const keptApiKey =
    own.keptApiKey === undefined || settings.DATABASE_URL === undefined
      ? own.keptApiKey
      : yield* shareApiKey(own.keptApiKey, masterKeys, settings, database)
  return Service.layer(settings, {
    apiKey: keptApiKey?.key ?? own.apiKey,
    ...masterKeys,
    // The database of a URL may be restored by others than this machine.
    auditHeadStore:
      settings.DATABASE_URL === undefined ? Option.some(AuditHeadFile.store(settings.DATA_DIR)) : Option.none(),
    database: Sql.layerOpen(database, Settings.databaseOptions(settings).pool),
    listening: (baseUrl) =>
      Console.log(
        StartupBanner.text({
          baseUrl,
          database,
          keptApiKey,
          isTerminal,
          hasConsole: ConsoleSettings.of(settings) !== undefined
        })
      )
  })
})

export const serve = (settings: Settings.Settings, started: Started) =>
  Layer.launch(Layer.unwrap(application(settings, started))).pipe(
    Effect.catchTags(StartFailed.handlers(settings)),
    Effect.catchDefect(StartFailed.onDefect),
    Effect.provide(Logging.layer(settings, started.isTerminal))
  )
