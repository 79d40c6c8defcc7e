// The service as a Layer, with the HTTP server around it and what it takes from settings, from Azure and from the built console.
import { Duration, Effect, Layer, Redacted, Schema } from "effect"
import type { Option } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { SessionLifetimes } from "../domain/access/Caller.ts"
import * as Console from "../server/Console.ts"
import * as Server from "../server/Server.ts"
import * as Services from "../server/Services.ts"
import { Readiness } from "../server/lifecycle/Readiness.ts"
import { RateLimits } from "../server/limits/RateLimits.ts"
import { AuditHeadStore } from "../server/audit/Audit.ts"
import type { HeadStore as AuditHeads } from "../server/audit/Audit.ts"
import type { ConsoleFile, ConsoleFiles } from "../server/console/ConsoleHttp.ts"
import { isLoopbackAddress } from "../server/console/Gate.ts"
import { MasterKeyStore } from "../server/masterKey/MasterKeys.ts"
import type { KeyStore } from "../server/masterKey/MasterKeys.ts"
import { RunningVersion } from "../server/observability/Gauges.ts"
import { azureMetadataUrl } from "../server/signers/SignerSettings.ts"
import type { AzureEnvironment } from "../server/signers/SignerSettings.ts"
import type * as Sql from "../sql/Sql.ts"
import { running } from "./Running.ts"
import { layerProcessGauges } from "./Telemetry.ts"
import * as NodeServer from "./http/NodeServer.ts"
import { networks } from "./Networks.ts"
import { refusal } from "./http/NodeServer.ts"
import * as Settings from "./settings/Settings.ts"

// Reads the built files of the console: `npm run console` and the package put them into `dist/console`.

/** The same folder from `src/process` and from `dist/process`. */
const built = fileURLToPath(new URL("../../dist/console", import.meta.url))

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png"
}

/** The same file, compressed, is beside it. */
const compressed = ".br"

const readFile = async (folder: string, name: string, names: ReadonlyArray<string>): Promise<ConsoleFile> => ({
  body: await fs.readFile(path.join(folder, name)),
  contentType: contentTypes[path.extname(name)] ?? "text/plain; charset=utf-8",
  ...(names.includes(name + compressed) ? { brotli: await fs.readFile(path.join(folder, name + compressed)) } : {})
})

/** Empty if there is no such folder. */
const readConsoleFiles = (folder = built): Effect.Effect<ConsoleFiles> =>
  Effect.promise(async () => {
    const names = await fs.readdir(folder).catch((): Array<string> => [])
    const files = new Map<string, ConsoleFile>()
    for (const name of names.filter((name) => !name.endsWith(compressed))) {
      files.set(name, await readFile(folder, name, names))
    }
    return files
  })

// What the settings CONSOLE, CONSOLE_ORIGINS, CONSOLE_SESSION_HOURS and CONSOLE_IDLE_MINUTES mean together.

export interface ConsoleSettings {
  readonly readOnly: boolean
  readonly origins: ReadonlyArray<string>
  readonly lifetimes: SessionLifetimes
}

/** They name every address of the machine, and no host. */
const unspecified: ReadonlySet<string> = new Set(["0.0.0.0", "::"])

const boundOrigin = ({ HOST: host, PORT: port }: Settings.Settings): ReadonlyArray<string> =>
  unspecified.has(host) ? [] : [new URL(`http://${host.includes(":") ? `[${host}]` : host}:${port}`).origin]

/** `undefined`: there is no console. Without CONSOLE, there is one where only this machine reaches it, or where CONSOLE_ORIGINS says. */
export const consoleSettingsOf = (settings: Settings.Settings): ConsoleSettings | undefined => {
  const { HOST, CONSOLE, CONSOLE_ORIGINS } = settings
  const mode = CONSOLE ?? (isLoopbackAddress(HOST) || CONSOLE_ORIGINS !== undefined ? "on" : "off")
  if (mode === "off") return undefined
  return {
    readOnly: mode === "read-only",
    origins: [...(CONSOLE_ORIGINS ?? []), ...(isLoopbackAddress(HOST) ? [] : boundOrigin(settings))],
    lifetimes: {
      longest: Duration.hours(settings.CONSOLE_SESSION_HOURS),
      idle: Duration.minutes(settings.CONSOLE_IDLE_MINUTES)
    }
  }
}

// What the variables of Azure say about the machine: its identity endpoint, its identity, and its token files.

/** Bytes. Tokens have about two thousand. */
const longestToken = 16_384

/** A token can be sent in a form as it is. */
const isToken = Schema.is(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/u)))

const unreadable = "the token file cannot be read, or has no token"

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: () => unreadable })

/**
 * Where the file is, if that is in the directory. Kubernetes replaces such files behind links, so the place of the file itself
 * counts.
 */
const within = (directory: string, file: string) =>
  attempt(async () => {
    const [folder, target] = await Promise.all([fs.realpath(directory), fs.realpath(file)])
    return target.startsWith(`${folder}${path.sep}`) ? target : undefined
  })

const readToken = Effect.fnUntraced(function* (file: string) {
  const { size } = yield* attempt(() => fs.stat(file))
  if (size > longestToken) return yield* Effect.fail(unreadable)
  const token = (yield* attempt(() => fs.readFile(file, "utf8"))).trim()
  return isToken(token) ? Redacted.make(token) : yield* Effect.fail(unreadable)
})

export const azureEnvironmentOf = ({
  AZURE_TENANT_ID: tenantId,
  AZURE_CLIENT_ID: clientId,
  AZURE_FEDERATED_TOKEN_FILE: usual,
  AZURE_TOKEN_DIRECTORY: directory,
  IDENTITY_ENDPOINT: url,
  IDENTITY_HEADER: header
}: Settings.Settings): AzureEnvironment => ({
  metadataUrl: azureMetadataUrl,
  ...(url === undefined || header === undefined ? {} : { identityEndpoint: { url, header } }),
  ...(tenantId === undefined ? {} : { tenantId }),
  ...(clientId === undefined ? {} : { clientId }),
  tokenFile: Effect.fn("Service.tokenFile")(function* (given) {
    if (given === undefined) {
      return yield* usual === undefined
        ? Effect.fail("there is no token file: the request has none, and AZURE_FEDERATED_TOKEN_FILE is not set")
        : readToken(usual)
    }
    if (directory === undefined) return yield* Effect.fail("a token file needs the setting AZURE_TOKEN_DIRECTORY")
    const file = yield* within(directory, Redacted.value(given))
    return yield* file === undefined ? Effect.fail("the token file is not in AZURE_TOKEN_DIRECTORY") : readToken(file)
  })
})

export interface Parts {
  readonly database: ReturnType<typeof Sql.layerOpen>
  readonly apiKey: Redacted.Redacted
  readonly masterKey: Redacted.Redacted
  readonly earlierMasterKeys: ReadonlyArray<Redacted.Redacted>
  readonly masterKeyStore: Option.Option<KeyStore>
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
const withConsole = (options: Server.Options, console: ConsoleSettings, administratorKey: Redacted.Redacted) =>
  Layer.merge(
    // All routes of the console are below `/console`.
    Server.mount(undefined, { ...options, alone: "/api/" }),
    Layer.unwrap(
      Effect.map(readConsoleFiles(), (files) => Console.mount(options, { ...console, administratorKey, files }))
    )
  )

export const layer = (settings: Settings.Settings, parts: Parts) => {
  const decryptionKeys = [...parts.earlierMasterKeys, ...Settings.decryptionKeys(settings)]
  const services = Services.layer({
    networks,
    administratorKey: parts.apiKey,
    masterKey: Settings.masterKeyBytes(parts.masterKey),
    decryptionKeys: decryptionKeys.map(Settings.masterKeyBytes),
    outboundAllow: settings.OUTBOUND_ALLOW ?? [],
    outboundNotAllowed: ": add its host to OUTBOUND_ALLOW to allow it",
    ...(parts.outboundRule === undefined ? {} : { outboundRule: parts.outboundRule }),
    databaseFailover: settings.DATABASE_FAILOVER,
    jobs: settings.WATCH === "on",
    metricsPerRelayer: settings.METRICS_PER_RELAYER === "on",
    healthCheckInterval: settings.HEALTH_CHECK_INTERVAL_MS,
    laneLease: settings.LANE_LEASE_MS,
    signers: {
      ...(settings.SIGNER_KEYS === undefined ? {} : { keys: settings.SIGNER_KEYS }),
      azure: azureEnvironmentOf(settings),
      ...(settings.PKCS11_MODULES === undefined ? {} : { pkcs11Modules: settings.PKCS11_MODULES })
    },
    retention: settings.RETENTION_DAYS === 0 ? Duration.infinity : Duration.days(settings.RETENTION_DAYS)
  }).pipe(
    Layer.provide(Layer.succeed(MasterKeyStore, parts.masterKeyStore)),
    Layer.provide(Layer.succeed(AuditHeadStore, parts.auditHeadStore)),
    Layer.provide(Layer.succeed(RunningVersion, running)),
    Layer.provideMerge(parts.database)
  )

  const { listen, drain, platform } = NodeServer.layer(settings)
  const console = consoleSettingsOf(settings)
  const options: Server.Options = {
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    docs: settings.DOCS === "on",
    ...(settings.METRICS_TOKEN === undefined ? {} : { metricsToken: settings.METRICS_TOKEN }),
    corsOrigins: settings.CORS_ORIGINS ?? [],
    ...(settings.TRUSTED_PROXIES === undefined ? {} : { trustedProxies: settings.TRUSTED_PROXIES }),
    accessLog: settings.ACCESS_LOG === "on",
    hasConsole: console !== undefined,
    refusal: refusal
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
    Layer.mergeAll(Layer.provide(Layer.merge(drain, layerProcessGauges), services), listening).pipe(
      Layer.provide(HttpServer.serve(handler)),
      Layer.provide(listen)
    )
  )
  return Layer.unwrap(serving).pipe(Layer.provide([ready, platform]))
}
