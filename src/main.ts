#!/usr/bin/env node
// The process: reads the environment, builds the layers, serves. The only file that does so.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Layer, Option } from "effect"
import { CliConfig, Command, Flag, GlobalFlag } from "effect/cli"
import { HttpRouter, HttpServer } from "effect/http"
import * as fs from "node:fs"
import { parseEnv } from "node:util"
import * as HttpServerNode from "./process/HttpServer.ts"
import * as Keys from "./process/Keys.ts"
import * as Logging from "./process/Logging.ts"
import * as Npm from "./process/Npm.ts"
import * as ProcessGauges from "./process/ProcessGauges.ts"
import * as Settings from "./process/Settings.ts"
import * as Welcome from "./process/Welcome.ts"
import { RateLimits } from "./server/Limits/RateLimits.ts"
import * as Server from "./server/Server.ts"
import * as Services from "./server/Services.ts"
import { Readiness } from "./server/System/Readiness.ts"
import * as Sql from "./sql/Sql.ts"

/** Nobody should have to put a secret where other users of the machine can read it. */
const notOnTheCommandLine = new Set<Settings.Name>(["API_KEY", "DATABASE_URL", "STORAGE_ENCRYPTION_KEY", "REDIS_URL"])

const flags = Object.fromEntries(
  Settings.described
    .filter(({ name }) => !notOnTheCommandLine.has(name))
    .map(({ name, help, default: value }) => [
      name,
      Flag.String(name.toLowerCase().replaceAll("_", "-")).pipe(
        Flag.withDescription(`${help}${value === undefined ? "" : ` (default ${value})`} [${name}]`),
        Flag.optional
      )
    ])
)

const dotEnv = (): Record<string, string | undefined> => {
  try {
    return parseEnv(fs.readFileSync(".env", "utf8"))
  } catch {
    return {}
  }
}

const database = (settings: Settings.Settings): Sql.Options => {
  const pool = { statementTimeout: settings.REQUEST_TIMEOUT_MS }
  return settings.DATABASE_URL === undefined
    ? { _tag: "Embedded", dataDir: settings.DATA_DIR, bin: settings.POSTGRES_BIN, pool }
    : { _tag: "Url", url: settings.DATABASE_URL, pool }
}

const rateLimits = (settings: Settings.Settings) => {
  const options = {
    requestsPerSecond: settings.RATE_LIMIT_REQUESTS_PER_SECOND,
    burst: settings.RATE_LIMIT_BURST_SIZE
  }
  const url = settings.REDIS_URL
  if (url === undefined) return RateLimits.layerMemory(options)
  // Loaded only where there is a Redis: its client takes a tenth of a second.
  const store = Effect.map(
    Effect.promise(() => import("./process/SharedStore.ts")),
    ({ layer }) => layer(url)
  )
  return RateLimits.layer(options).pipe(Layer.provide(Layer.unwrap(store)))
}

const welcome = (apiKey: Keys.Kept | undefined) =>
  Layer.effectDiscard(HttpServer.addressFormattedWith((address) => Console.log(Welcome.text(address, apiKey))))

const application = Effect.fn("application")(function* (settings: Settings.Settings) {
  const apiKey = settings.API_KEY === undefined ? yield* Keys.apiKey(settings.DATA_DIR) : { key: settings.API_KEY }
  const masterKey = settings.STORAGE_ENCRYPTION_KEY ?? (yield* Keys.storageEncryptionKey(settings.DATA_DIR)).key

  const services = Services.layer({
    administratorKey: apiKey.key,
    masterKey: Settings.masterKeyBytes(masterKey),
    workers: settings.WORKERS === "on",
    healthCheckInterval: settings.HEALTH_CHECK_INTERVAL_MS
  }).pipe(Layer.provide(ProcessGauges.layer), Layer.provideMerge(Sql.layer(database(settings))))

  const { listen, drain } = HttpServerNode.layer(settings)
  // Asking for `Readiness` makes the port open last, when everything behind it works.
  const server = Layer.unwrap(Effect.as(Readiness, listen))
  const routes = Server.layer({
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    maxBodyBytes: settings.MAX_BODY_BYTES
  })

  return Layer.merge(drain, welcome("file" in apiKey ? apiKey : undefined)).pipe(
    Layer.provide(
      HttpRouter.serve(routes, { routerConfig: Server.routerConfig, disableLogger: true, disableListenLog: true })
    ),
    Layer.provide(server),
    Layer.provide(rateLimits(settings)),
    Layer.provide(services)
  )
})

/** What went wrong, in a line; only a defect, which nobody expected, shows where it came from. */
const report = (cause: Cause.Cause<{ readonly message: string }>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const error = Cause.findErrorOption(cause)
  return Console.error(`effect-relayer: ${Option.isSome(error) ? error.value.message : Cause.pretty(cause)}`)
}

const start = (given: Record<string, Option.Option<string>>) =>
  Effect.gen(function* () {
    const fromFlags = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, Option.getOrUndefined(value)])
    )
    if (process.env.npm_lifecycle_event !== undefined) yield* Effect.forkChild(Npm.stopWithParent)
    const settings = yield* Settings.decode(fromFlags, process.env, dotEnv())
    const run = Layer.launch(Layer.unwrap(application(settings))).pipe(
      Effect.catchTag("ServeError", (error) => Effect.fail({ message: HttpServerNode.explain(settings, error) }))
    )
    return yield* Effect.provide(run, Logging.layer(settings, process.stdout.isTTY))
  }).pipe(Effect.tapCause(report))

const command = Command.make("effect-relayer", flags, start).pipe(
  Command.withDescription("Serves the relayer API. Every flag is also an environment variable, or a line in .env.")
)

command.pipe(
  Command.run({ version: "0.1.0" }),
  Effect.provide([NodeServices.layer, CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })]),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    // A signal is a request to stop, which has been done when this is called.
    teardown: (exit, onExit) => onExit(Exit.isFailure(exit) && !Exit.hasInterrupts(exit) ? 1 : 0)
  })
)
