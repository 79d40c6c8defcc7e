// The service in this process alone, until a signal comes.
import { Console, Effect, Layer } from "effect"
import * as HttpServer from "./HttpServer.ts"
import * as Logging from "./Logging.ts"
import type { Settings } from "./Settings.ts"
import * as StartupBanner from "./StartupBanner.ts"
import * as Database from "./Database.ts"
import * as Service from "./Service.ts"
import { startKeys } from "./StartKeys.ts"

const application = Effect.fn("application")(function* (settings: Settings) {
  const { keptApiKey, ...keys } = yield* startKeys(settings)
  return Service.layer(settings, {
    ...keys,
    database: Database.options(settings),
    listening: (address) => Console.log(StartupBanner.text(address, keptApiKey))
  })
})

export const serve = (settings: Settings, isTerminal: boolean) =>
  Layer.launch(Layer.unwrap(application(settings))).pipe(
    Effect.catchTag("ServeError", (error) => Effect.fail({ message: HttpServer.explain(settings, error) })),
    Effect.provide(Logging.layer(settings, isTerminal))
  )
