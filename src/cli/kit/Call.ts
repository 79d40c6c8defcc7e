// Calls the service with the typed client: its address, the key, and the words for the failure of a call.
import { Effect, Layer, Option, Redacted, Ref, Schema } from "effect"
import { Flag } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest } from "effect/http"
import type { Headers } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Idempotency } from "../../api/Middleware.ts"
import { identification } from "../../api/SystemApi.ts"
import { ApiClient } from "../../client/ApiClient.ts"
import { chainWarnings, snapshotOf } from "../../domain/health/ChainWarnings.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import * as Settings from "../../process/settings/Settings.ts"
import { Environment } from "./Environment.ts"
import { CommandFailed, exitCodes, pathFlag, printable, readText } from "./Terminal.ts"

// Finds the address of the service and the API key of a command.

const defaultServer = "http://127.0.0.1:8080"

export const connectionFlags = {
  server: Flag.String("server").pipe(
    Flag.withDescription(`URL of the service (default ${defaultServer}) [RELAYER_URL]`),
    Flag.withMetavar("<url>"),
    Flag.optional
  ),
  keyFile: pathFlag("key-file").pipe(
    Flag.withDescription("File with the API key (default: API_KEY, or DATA_DIR/api-key) [API_KEY_FILE]"),
    Flag.optional
  )
}

export interface ConnectionFlags {
  readonly server: Option.Option<string>
  readonly keyFile: Option.Option<string>
}

interface Key {
  readonly text: Redacted.Redacted
  /** Where it was found, for errors. */
  readonly place: string
  /** Whether the key itself is a line of `.env`. */
  readonly inDotEnv: boolean
}

/** Accepts what an HTTP header may contain. */
const asKey = (text: string, place: string, inDotEnv = false): Effect.Effect<Key, CommandFailed> =>
  /^[\x21-\x7e]+$/.test(text)
    ? Effect.succeed({ text: Redacted.make(text), place, inDotEnv })
    : Effect.fail(CommandFailed.usage(`${place} does not contain an API key`))

const isThere = (file: string) =>
  Effect.promise(() =>
    fs.access(file).then(
      () => true,
      () => false
    )
  )

const readKey = (file: string) => Effect.flatMap(readText(file), (text) => asKey(text.trim(), file))

/** The key that a service created in the same data directory. */
const createdKey = Effect.fnUntraced(function* () {
  const usual = Settings.described.find(({ name }) => name === "DATA_DIR")?.default ?? ""
  const folder = (yield* Environment.read("DATA_DIR")) ?? usual
  const file = path.join(folder, "api-key")
  if (yield* isThere(file)) return yield* readKey(file)
  // `effect-relayer dev` keeps its key in a folder of its own.
  const ofDev = path.join(folder, "dev", "api-key")
  const hint = (yield* isThere(ofDev)) ? `, such as --key-file ${ofDev} for effect-relayer dev` : ""
  return yield* CommandFailed.usage(
    `there is no API key: set API_KEY, or use --key-file${hint} (${file} does not exist)`
  )
})

const apiKey = Effect.fnUntraced(function* (given: Option.Option<string>) {
  if (Option.isSome(given)) return yield* readKey(given.value)
  const key = yield* Environment.find("API_KEY")
  if (key !== undefined) return yield* asKey(key.value, "API_KEY", key.inDotEnv)
  const file = yield* Environment.read("API_KEY_FILE")
  return file === undefined ? yield* createdKey() : yield* readKey(file)
})

/**
 * The current directory may belong to somebody else. So its `.env` may say where to send its own key, and no other: also not
 * the content of a file that it names.
 */
const address = Effect.fnUntraced(function* (given: Option.Option<string>, key: Key) {
  if (Option.isSome(given)) return given.value
  const set = yield* Environment.find("RELAYER_URL")
  if (set?.inDotEnv === true && !key.inDotEnv) {
    return yield* CommandFailed.usage(
      `RELAYER_URL in .env is not used, because the API key is from ${key.place}: use --server, or set RELAYER_URL in the environment`
    )
  }
  return set?.value ?? defaultServer
})

const baseUrl = Effect.fnUntraced(function* (given: Option.Option<string>, key: Key) {
  const url = URL.parse(yield* address(given, key))
  const fits =
    url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ""
  if (!fits) return yield* CommandFailed.usage(`--server or RELAYER_URL: expected a URL such as ${defaultServer}`)
  return url.href.replace(/\/+$/, "")
})

export const openConnection = Effect.fnUntraced(function* (given: ConnectionFlags) {
  const key = yield* apiKey(given.keyFile)
  const keyPlace = key.inDotEnv ? `${key.place} in .env` : key.place
  return { baseUrl: yield* baseUrl(given.server, key), apiKey: key.text, keyPlace }
})

/** A response as it was received. */
export interface Answer {
  readonly status: number
  readonly headers: Headers.Headers
  /** The path of the request, without its query. */
  readonly path: string
  /** With every digit of numbers. `undefined`: the body is not JSON. */
  readonly json: unknown
}

export type Client = ApiClient["Service"]

const isUnreachable = (error: unknown): error is HttpClientError.HttpClientError =>
  HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError"

/** The innermost cause is the most specific one: `connect ECONNREFUSED 127.0.0.1:8080`. */
const deepest = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  return inner === undefined ? cause.message : deepest(inner)
}

/** The failure of a request that got no response. */
const unreachable = (baseUrl: string, { reason }: HttpClientError.HttpClientError): CommandFailed =>
  new CommandFailed({
    message: `cannot reach ${baseUrl}: ${deepest(reason.cause)}; --server or RELAYER_URL names the address of the service`,
    exitCode: exitCodes.unreachable
  })

/** A create without a response is sent again with the same key, so that it takes effect once. */
const idempotency = Layer.unwrap(
  Effect.map(SecureRandom.SecureRandom, ({ uuidV4 }) =>
    HttpApiMiddleware.layerClient(Idempotency, ({ next, request }) =>
      request.method === "POST"
        ? Effect.flatMap(uuidV4(), (key) =>
            next(HttpClientRequest.setHeader(request, "idempotency-key", key)).pipe(
              Effect.retry({ times: 1, while: isUnreachable })
            )
          )
        : next(request)
    )
  )
).pipe(Layer.provide(SecureRandom.layerWebCrypto))

const parse = (text: string): unknown => {
  try {
    return ExactJson.parse(text)
  } catch {
    return undefined
  }
}

const remembering = (last: Ref.Ref<Answer | undefined>) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.tap(({ status, headers, request, text }) =>
        Effect.flatMap(text, (body) =>
          Ref.set(last, { status, headers, path: new URL(request.url).pathname, json: parse(body) })
        )
      )
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))

interface Refusal {
  readonly message?: unknown
  readonly error?: unknown
}

/** Each of several reasons has a line. They are indented, so that none looks like a line of the command itself. */
const reasons = (error: string): string => {
  const lines = error.split("\n")
  return lines.length === 1 ? `: ${error}` : [":", ...lines.map((line) => `  ${line}`)].join("\n")
}

const printableLines = (text: string): string => text.split("\n").map(printable).join("\n")

/** `hint`: what the response cannot say. */
const refused = ({ status, headers, json }: Answer, hint: string): CommandFailed => {
  const { message, error } = (json ?? {}) as Refusal
  const what =
    typeof message === "string" ? message : `the response has the status ${status} and is not from effect-relayer`
  const why = typeof error === "string" ? reasons(error) : ""
  const id = headers["x-request-id"]
  const more = hint === "" ? "" : `; ${hint}`
  return new CommandFailed({
    message: printableLines(`${what}${why}${more}${id === undefined ? "" : ` (x-request-id ${id})`}`),
    exitCode: status === 401 || status === 403 ? exitCodes.unauthorized : exitCodes.refused,
    status
  })
}

const readReadiness = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({ components: Schema.Record(Schema.String, Schema.Struct({ status: Schema.String })) })
  )
)

const readVersion = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ version: Schema.String })))

/** The version of the service. Undefined: its readiness does not say. */
export const versionOf = (baseUrl: string): Effect.Effect<string | undefined> =>
  HttpClient.get(`${baseUrl}/api/v1/ready`).pipe(
    Effect.flatMap(({ text }) => text),
    Effect.provide(FetchHttpClient.layer),
    Effect.map((text) => Option.getOrUndefined(readVersion(text))?.version),
    Effect.orElseSucceed(() => undefined)
  )

/** The components of the instance that are not healthy, as its readiness names them. */
const unhealthy = (baseUrl: string) =>
  HttpClient.get(`${baseUrl}/api/v1/ready`).pipe(
    Effect.flatMap(({ text }) => text),
    Effect.provide(FetchHttpClient.layer),
    Effect.map((text) =>
      Option.match(readReadiness(text), {
        onNone: () => [],
        onSome: ({ components }) =>
          Object.entries(components).flatMap(([name, { status }]) =>
            status === "healthy" ? [] : [`${name} is ${status}`]
          )
      })
    ),
    Effect.orElseSucceed(() => [])
  )

/** What the response of a service does not say: whose key was refused, and what is away. */
const hintOf = Effect.fnUntraced(function* (baseUrl: string, keyPlace: string, { json, path, status }: Answer) {
  if (status === 404) return `the request was for ${path}`
  const paused = /\/relayers\/([^/]+)\//.exec(path)?.[1]
  if (paused !== undefined && (json as Refusal | undefined)?.message === "Relayer paused") {
    return `effect-relayer relayers resume ${decodeURIComponent(paused)}`
  }
  if (status === 401) return `the API key is from ${keyPlace}`
  if (status !== 503) return ""
  const components = yield* unhealthy(baseUrl)
  return components.length === 0 ? "try again" : `${components.join(", ")}: see ${baseUrl}/api/v1/ready`
})

const explain = Effect.fnUntraced(function* (
  { baseUrl, keyPlace }: { readonly baseUrl: string; readonly keyPlace: string },
  answer: Answer | undefined,
  error: unknown
) {
  if (answer !== undefined && answer.status >= 300) {
    return refused(answer, yield* hintOf(baseUrl, keyPlace, answer))
  }
  if (isUnreachable(error)) return unreachable(baseUrl, error)
  return new CommandFailed({
    message: `the service at ${baseUrl} sent a response that this version does not understand`,
    exitCode: exitCodes.refused
  })
})

/**
 * Checks that a host is this service before a key is sent to it. This protects against a wrong address, such as another program
 * on the port; a host that imitates the service passes. A redirect is not followed, because the key would be sent to the host
 * that redirects.
 */
const identify = Effect.fnUntraced(function* (baseUrl: string) {
  const { headers, status } = yield* HttpClient.get(`${baseUrl}/api/v1/health`).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.mapError((error) => unreachable(baseUrl, error))
  )
  if (status === 200 && headers[identification.name] === identification.value) return
  return yield* new CommandFailed({
    message:
      `${new URL(baseUrl).host} does not identify itself as effect-relayer ` +
      `(GET /api/v1/health: status ${status}), so that the API key was not sent to it: check --server or RELAYER_URL`,
    exitCode: exitCodes.refused,
    status
  })
})

/** Returns a function that calls the service, after the host has identified itself. Calls must not overlap. */
export const open = Effect.fnUntraced(function* (given: ConnectionFlags) {
  const connection = yield* openConnection(given)
  const { baseUrl, apiKey } = connection
  yield* identify(baseUrl)
  const last = yield* Ref.make<Answer | undefined>(undefined)
  const client = ApiClient.layer({ baseUrl, apiKey }).pipe(Layer.provide([remembering(last), idempotency]))
  return Effect.fnUntraced(function* <A, E>(call: (client: Client) => Effect.Effect<A, E>) {
    const value = yield* Effect.flatMap(ApiClient, call).pipe(
      Effect.provide(client),
      Effect.catch((error) =>
        Ref.get(last).pipe(
          Effect.flatMap((answer) => explain(connection, answer, error)),
          Effect.flatMap(Effect.fail)
        )
      )
    )
    const answer = yield* Ref.get(last)
    return answer === undefined ? yield* Effect.die("the client made no request") : { value, answer }
  })
})

// What is wrong with a relayer that a command has just created. The create asks no provider; the status does.

/** Empty: its chain answers, and its account has what it needs. */
export const relayerWarnings = (client: Client, relayer: Relayer) =>
  Effect.map(client.relayerHealth.status({ params: { relayer_id: relayer.id } }), ({ data }) =>
    chainWarnings(relayer, snapshotOf(data))
  )
