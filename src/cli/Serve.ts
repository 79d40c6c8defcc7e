// The service: its layers from the settings, until a signal comes.
import { Console, Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import * as HttpServerNode from "../process/HttpServer.ts"
import * as Keys from "../process/Keys.ts"
import * as Logging from "../process/Logging.ts"
import * as ProcessGauges from "../process/ProcessGauges.ts"
import * as Settings from "../process/Settings.ts"
import * as Unreadable from "../process/Unreadable.ts"
import * as Welcome from "../process/Welcome.ts"
import { RateLimits } from "../server/Limits/RateLimits.ts"
import { MasterKeyStore } from "../server/Secrets/MasterKeyStore.ts"
import * as Server from "../server/Server.ts"
import * as Services from "../server/Services.ts"
import { Readiness } from "../server/System/Readiness.ts"
import * as Sql from "../sql/Sql.ts"
import * as Database from "./Database.ts"

const rateLimits = (settings: Settings.Settings) => {
  const options = {
    requestsPerSecond: settings.RATE_LIMIT_REQUESTS_PER_SECOND,
    burst: settings.RATE_LIMIT_BURST_SIZE
  }
  const url = settings.REDIS_URL
  if (url === undefined) return RateLimits.layerMemory(options)
  // Loaded only where there is a Redis: its client takes a tenth of a second.
  const store = Effect.map(
    Effect.promise(() => import("../process/SharedStore.ts")),
    ({ layer }) => layer(url)
  )
  return RateLimits.layer(options).pipe(Layer.provide(Layer.unwrap(store)))
}

const welcome = (apiKey: Keys.Kept | undefined) =>
  Layer.effectDiscard(HttpServer.addressFormattedWith((address) => Console.log(Welcome.text(address, apiKey))))

const application = Effect.fn("application")(function* (settings: Settings.Settings) {
  const apiKey = settings.API_KEY === undefined ? yield* Keys.apiKey(settings.DATA_DIR) : { key: settings.API_KEY }
  const masterKeys =
    settings.STORAGE_ENCRYPTION_KEY === undefined
      ? yield* Keys.storageEncryptionKey(settings.DATA_DIR)
      : { key: settings.STORAGE_ENCRYPTION_KEY, earlier: [] }
  const store = "file" in masterKeys ? Option.some(Keys.store(masterKeys)) : Option.none()

  const services = Services.layer({
    administratorKey: apiKey.key,
    masterKey: Settings.masterKeyBytes(masterKeys.key),
    decryptionKeys: [...masterKeys.earlier, ...Settings.decryptionKeys(settings)].map(Settings.masterKeyBytes),
    outboundAllow: settings.OUTBOUND_ALLOW ?? [],
    workers: settings.WATCH === "on",
    healthCheckInterval: settings.HEALTH_CHECK_INTERVAL_MS
  }).pipe(
    Layer.provide([ProcessGauges.layer, Layer.succeed(MasterKeyStore, store)]),
    Layer.provideMerge(Sql.layer(Database.options(settings)))
  )

  const { listen, drain } = HttpServerNode.layer(settings)
  // Asking for `Readiness` makes the port open last, when everything behind it works.
  const server = Layer.unwrap(Effect.as(Readiness, listen))
  const routes = Server.layer({
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    maxBodyBytes: settings.MAX_BODY_BYTES
  })

  return Layer.merge(drain, welcome("file" in apiKey ? apiKey : undefined)).pipe(
    Layer.provide(
      HttpRouter.serve(routes, {
        routerConfig: Server.routerConfig,
        middleware: Unreadable.requireHost,
        disableLogger: true,
        disableListenLog: true
      })
    ),
    Layer.provide(server),
    Layer.provide(rateLimits(settings)),
    Layer.provide(services)
  )
})

export const serve = (settings: Settings.Settings, isTerminal: boolean) =>
  Layer.launch(Layer.unwrap(application(settings))).pipe(
    Effect.catchTag("ServeError", (error) => Effect.fail({ message: HttpServerNode.explain(settings, error) })),
    Effect.provide(Logging.layer(settings, isTerminal))
  )
