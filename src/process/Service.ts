// The service as a Layer, with the HTTP server around it.
import { Duration, Effect, Layer } from "effect"
import type { Option, Redacted } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import * as HttpServerNode from "./http/HttpServer.ts"
import * as ProcessGauges from "./ProcessGauges.ts"
import { running } from "./Running.ts"
import * as AzureMachine from "./settings/AzureMachine.ts"
import * as ConsoleFiles from "./ConsoleFiles.ts"
import * as ConsoleSettings from "./settings/ConsoleSettings.ts"
import * as Settings from "./settings/Settings.ts"
import * as Unreadable from "./http/Unreadable.ts"
import { RunningVersion } from "../server/observability/RunningVersion.ts"
import { RateLimits } from "../server/limits/RateLimits.ts"
import { AuditHeadStore } from "../server/audit/AuditHeadStore.ts"
import type { Store as AuditHeads } from "../server/audit/AuditHeadStore.ts"
import { MasterKeyStore } from "../server/masterKey/MasterKeyStore.ts"
import type { Store } from "../server/masterKey/MasterKeyStore.ts"
import * as Console from "../server/Console.ts"
import * as Server from "../server/Server.ts"
import * as Services from "../server/Services.ts"
import { Readiness } from "../server/lifecycle/Readiness.ts"
import type * as Sql from "../sql/Sql.ts"

export interface Parts {
  readonly database: ReturnType<typeof Sql.layerOpen>
  readonly apiKey: Redacted.Redacted
  readonly masterKey: Redacted.Redacted
  readonly earlierMasterKeys: ReadonlyArray<Redacted.Redacted>
  readonly masterKeyStore: Option.Option<Store>
  readonly auditHeadStore: Option.Option<AuditHeads>
  /** Says why a URL may not be reached, beside what OUTBOUND_ALLOW says. Absent: nothing more is refused. */
  readonly outboundRule?: (url: URL) => string | undefined
  /** Called with the URL of the service when the port is open. */
  readonly listening: (baseUrl: string) => Effect.Effect<void>
}

const rateLimits = (settings: Settings.Settings) => {
  const options = {
    requestsPerSecond: settings.RATE_LIMIT_REQUESTS_PER_SECOND,
    burst: settings.RATE_LIMIT_BURST_SIZE
  }
  const url = settings.REDIS_URL
  if (url === undefined) return RateLimits.layerMemory(options)
  // The Redis client takes a tenth of a second to load.
  const store = Effect.map(
    Effect.promise(() => import("./RedisRateLimiterStore.ts")),
    ({ layer }) => layer(url)
  )
  return RateLimits.layer(options).pipe(Layer.provide(Layer.unwrap(store)))
}

/** The API on all paths, and the console on its own. */
const withConsole = (
  options: Server.Options,
  console: ConsoleSettings.ConsoleSettings,
  administratorKey: Redacted.Redacted
) =>
  Layer.merge(
    Server.mount(undefined, options),
    Layer.unwrap(
      Effect.map(ConsoleFiles.read(), (files) => Console.mount(options, { ...console, administratorKey, files }))
    )
  )

export const layer = (settings: Settings.Settings, parts: Parts) => {
  const decryptionKeys = [...parts.earlierMasterKeys, ...Settings.decryptionKeys(settings)]
  const services = Services.layer({
    administratorKey: parts.apiKey,
    masterKey: Settings.masterKeyBytes(parts.masterKey),
    decryptionKeys: decryptionKeys.map(Settings.masterKeyBytes),
    outboundAllow: settings.OUTBOUND_ALLOW ?? [],
    outboundNotAllowed: ": add it to OUTBOUND_ALLOW to allow it",
    ...(parts.outboundRule === undefined ? {} : { outboundRule: parts.outboundRule }),
    databaseFailover: settings.DATABASE_FAILOVER,
    jobs: settings.WATCH === "on",
    metricsPerRelayer: settings.METRICS_PER_RELAYER === "on",
    healthCheckInterval: settings.HEALTH_CHECK_INTERVAL_MS,
    laneLease: settings.LANE_LEASE_MS,
    signers: {
      ...(settings.SIGNER_KEYS === undefined ? {} : { keys: settings.SIGNER_KEYS }),
      azure: AzureMachine.of(settings),
      ...(settings.PKCS11_MODULES === undefined ? {} : { pkcs11Modules: settings.PKCS11_MODULES })
    },
    retention: settings.RETENTION_DAYS === 0 ? Duration.infinity : Duration.days(settings.RETENTION_DAYS)
  }).pipe(
    Layer.provide(Layer.succeed(MasterKeyStore, parts.masterKeyStore)),
    Layer.provide(Layer.succeed(AuditHeadStore, parts.auditHeadStore)),
    Layer.provide(Layer.succeed(RunningVersion, running)),
    Layer.provideMerge(parts.database)
  )

  const { listen, drain, platform } = HttpServerNode.layer(settings)
  const console = ConsoleSettings.of(settings)
  const options: Server.Options = {
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    docs: settings.DOCS === "on",
    ...(settings.METRICS_TOKEN === undefined ? {} : { metricsToken: settings.METRICS_TOKEN }),
    corsOrigins: settings.CORS_ORIGINS ?? [],
    ...(settings.TRUSTED_PROXIES === undefined ? {} : { trustedProxies: settings.TRUSTED_PROXIES }),
    accessLog: settings.ACCESS_LOG === "on",
    hasConsole: console !== undefined,
    refusal: Unreadable.refusal
  }
  // Services around the server would be in the context of every request, which is copied.
  const routes = Layer.provide(
    console === undefined ? Server.layer(options) : withConsole(options, console, parts.apiKey),
    [rateLimits(settings), services, Layer.succeed(RunningVersion, running)]
  )

  const listening = Layer.effectDiscard(HttpServer.addressFormattedWith(parts.listening))
  // `Readiness` depends on all services. The port opens last, when they all work and the routes are complete: Node never
  // answers a request that arrives before its handler.
  const ready = Layer.provide(Layer.effectDiscard(Readiness), services)
  const routed = Effect.provideService(HttpRouter.toHttpEffect(routes), HttpRouter.RouterConfig, Server.routerConfig)
  const serving = Effect.map(routed, (handler) =>
    Layer.mergeAll(Layer.provide(Layer.merge(drain, ProcessGauges.layer), services), listening).pipe(
      Layer.provide(HttpServer.serve(handler)),
      Layer.provide(listen)
    )
  )
  return Layer.unwrap(serving).pipe(Layer.provide([ready, platform]))
}
