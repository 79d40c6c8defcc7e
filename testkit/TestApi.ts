// The whole API on a free port, with a database of its own.
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Duration } from "effect"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import type { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createServer, request } from "node:http"
import type { IncomingMessage } from "node:http"
import { ApiClient } from "../src/client/ApiClient.ts"
import { RateLimits } from "../src/server/limits/RateLimits.ts"
import { networks } from "../src/process/Networks.ts"
import * as Console from "../src/server/Console.ts"
import * as Server from "../src/server/Server.ts"
import type { ServedNetwork } from "../src/server/ServedNetworks.ts"
import * as Services from "../src/server/Services.ts"
import type { SignerSettings } from "../src/server/signers/SignerSettings.ts"
import * as TestDatabase from "./TestDatabase.ts"

export const apiKey = "test-key-0123456789-0123456789-0123456789"
export const masterKey = new Uint8Array(32).fill(7)

export interface Options {
  readonly server?: Server.Options
  /** Absent: there is no console. */
  readonly console?: Omit<Console.Options, "administratorKey">
  readonly limits?: { readonly requestsPerSecond: number; readonly burst: number }
  /** Absent: no background jobs run. */
  readonly jobs?: boolean
  readonly healthCheckInterval?: Duration.Input
  readonly metricsPerRelayer?: boolean
  readonly signers?: SignerSettings
  /** Absent: this machine. */
  readonly outboundAllow?: ReadonlyArray<string>
  /** Absent: the networks of the service. */
  readonly networks?: ReadonlyArray<ServedNetwork>
}

/** A response as it was received. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Empty if the body is not JSON. */
  readonly json: Body
}

/** The fields of all envelopes. */
interface Body {
  readonly success?: boolean
  readonly data?: unknown
  readonly message?: string
  readonly error?: string
  readonly pagination?: unknown
  readonly metadata?: {
    readonly logs: ReadonlyArray<unknown>
    readonly traces: ReadonlyArray<unknown>
    readonly unreadable?: ReadonlyArray<{ readonly id: string; readonly reason: string }>
  }
}

export interface Call {
  readonly method?: string
  /** Absent: the administrator's key. `null`: no key. */
  readonly key?: string | null
  readonly headers?: Record<string, string>
  /** A string is sent unchanged, other values as JSON. */
  readonly body?: unknown
}

export class TestApi extends Context.Service<
  TestApi,
  {
    readonly baseUrl: string
    call(path: string, call?: Call): Effect.Effect<Answer>
  }
>()("effect-relayer/testkit/TestApi") {}

/** A request to the API of the test. */
export const call = (path: string, options?: Call) => Effect.flatMap(TestApi, (api) => api.call(path, options))

/** The same, for paths below another one. */
export const callBelow = (above: string) => (path: string, options?: Call) => call(`${above}${path}`, options)

/** Reads without a key, a second of the test clock later each time, until the text is so. The queries are real. */
export const passUntil = (path: string, isSo: (text: string) => boolean) =>
  Effect.andThen(TestClock.adjust("1 second"), call(path, { key: null })).pipe(
    Effect.repeat({ until: ({ text }) => isSo(text) })
  )

const parse = (text: string): Body => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const collected = async (message: IncomingMessage): Promise<Response> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const headers = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value])
  )
  return new Response(chunks.length === 0 ? null : Buffer.concat(chunks), { status: message.statusCode ?? 0, headers })
}

/** As `fetch`, which sends no `host` that is not that of the URL. */
const send = (url: string, init: { method: string; headers: Record<string, string>; body?: string }) =>
  init.headers["host"] === undefined
    ? fetch(url, init)
    : new Promise<Response>((resolve, reject) => {
        const { body, ...options } = init
        request(url, options, (message) => void collected(message).then(resolve, reject))
          .on("error", reject)
          .end(body)
      })

const make = Effect.map(HttpServer.HttpServer, ({ address }) => {
  const baseUrl = HttpServer.formatAddress(address)
  const call = (path: string, { method, key, headers, body }: Call = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const response = await send(`${baseUrl}${path}`, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key ?? apiKey}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: parse(text) }
    })
  return TestApi.of({ baseUrl, call })
})

const clientOf = (baseUrl: string): ApiClient["Service"] =>
  Effect.runSync(
    Effect.provide(
      ApiClient,
      Layer.provide(ApiClient.layer({ baseUrl, apiKey: Redacted.make(apiKey) }), FetchHttpClient.layer)
    )
  )

/** The typed client, which is made when a test uses it: its decoders take a third of the processor time of an API. */
const client = () =>
  Layer.effect(
    ApiClient,
    Effect.map(TestApi, ({ baseUrl }) => {
      let made: ApiClient["Service"] | undefined
      return new Proxy({} as ApiClient["Service"], {
        get: (_target, group) => Reflect.get((made ??= clientOf(baseUrl)), group)
      })
    })
  )

const routes = ({ console, server = Server.defaults }: Options) =>
  console === undefined
    ? Server.layer(server)
    : Layer.merge(
        Server.mount(undefined, { ...server, alone: "/api/" }),
        Console.mount(server, { ...console, administratorKey: Redacted.make(apiKey) })
      )

/** As long as the service, in milliseconds. After Node's five seconds on a busy machine, a request would meet a connection that is closing. */
const keepAliveTimeout = 65_000

/** The API on the given database. */
export const layerWith = <E>(options: Options, database: Layer.Layer<SqlClient.SqlClient, E>) =>
  Layer.provideMerge(client(), Layer.effect(TestApi, make)).pipe(
    Layer.provideMerge(
      HttpRouter.serve(routes(options), {
        routerConfig: Server.routerConfig,
        disableLogger: true,
        disableListenLog: true
      })
    ),
    Layer.provideMerge(
      NodeHttpServer.layer(() => createServer({ joinDuplicateHeaders: true, keepAliveTimeout }), {
        port: 0,
        host: "127.0.0.1"
      })
    ),
    Layer.provideMerge(RateLimits.layerMemory(options.limits ?? { requestsPerSecond: 100_000, burst: 100_000 })),
    Layer.provideMerge(
      Services.layer({
        administratorKey: Redacted.make(apiKey),
        masterKey: Redacted.make(masterKey),
        outboundAllow: options.outboundAllow ?? ["localhost", "127.0.0.0/8", "::1"],
        signers: options.signers ?? {},
        jobs: options.jobs ?? false,
        networks: options.networks ?? networks,
        metricsPerRelayer: options.metricsPerRelayer ?? false,
        healthCheckInterval: options.healthCheckInterval ?? "1 minute"
      })
    ),
    Layer.provideMerge(database)
  )

export const layer = (options: Options = {}) => layerWith(options, TestDatabase.layer)
