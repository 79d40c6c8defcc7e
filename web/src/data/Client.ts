// The contract's typed client, in a session instead of with a key. The only place that calls the service.
import { Context, Effect, Layer, Schema, SchemaIssue, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientResponse } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Atom } from "effect/reactivity"
import { Api } from "../../../src/api/Api.ts"
import { Authorization } from "../../../src/api/Middleware.ts"
import type { Client } from "../../../src/client/Client.ts"
import * as Violations from "../../../src/domain/request/Violations.ts"
import { noteServerTime } from "./Clock.ts"
import { lost, reached } from "./Connection.ts"
import { wordsOf } from "./Failure.ts"
import type { Failure } from "./Failure.ts"
import { isPersonal } from "./Presence.ts"
import { proof } from "./Proof.ts"
import { registry } from "./Registry.ts"

/** A value above 0 after a response with 401: the session has ended. It counts such responses. */
export const unauthorized = Atom.keepAlive(Atom.make(0))

/** Versions of the service: that of the first response, and that of the last one. */
export const versions = Atom.keepAlive(Atom.make<{ readonly first?: string; readonly last?: string }>({}))

/** What is known of a failed response beside its decoded error. */
interface Noted {
  failure?: Failure
  isAnswered?: boolean
}

const Noted = Context.Reference<Noted>("effect-relayer/console/Noted", { defaultValue: () => ({}) })

const failureOf = (response: HttpClientResponse.HttpClientResponse, body: ArrayBuffer): Failure => {
  const { status, headers } = response
  const requestId = headers["x-request-id"]
  const seconds = Number(headers["retry-after"])
  return {
    _tag: "Failure",
    status,
    text: wordsOf(new TextDecoder().decode(body), status),
    ...(requestId === undefined ? {} : { requestId }),
    ...(seconds > 0 ? { retryAfter: seconds } : {})
  }
}

/** The field of a request with the proof of its session. */
const proofField = "x-console"

/** Requests without a session have the field, too: pages of other origins cannot send it. */
const proofOrNone = (): string => proof() ?? "1"

/** Statuses of a service, or of a proxy in front of it, that cannot answer now. */
const isAway = (status: number) => status === 503 || status === 504

const note = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.gen(function* () {
    noteServerTime(response.headers["date"])
    const version = response.headers["x-relayer-version"]
    if (version !== undefined) registry.update(versions, ({ first = version }) => ({ first, last: version }))
    if (isAway(response.status)) lost()
    else reached()
    // A request that was sent before a sign-in may be refused after it. That says nothing about the new session.
    const isOfSession = response.request.headers[proofField] === proofOrNone()
    if (response.status === 401 && isOfSession) registry.update(unauthorized, (count) => count + 1)
    const noted = yield* Noted
    noted.isAnswered = true
    if (response.status < 400) return
    const body = yield* response.arrayBuffer
    noted.failure = failureOf(response, body)
  })

/** A create that is sent again with its key gets the response of the first one. */
const Once = Context.Reference<string | undefined>("effect-relayer/console/Once", { defaultValue: () => undefined })

/** `key` is the same for each try of what a person has asked for once. */
export const once = <A, E>(key: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.provideService(effect, Once, key)

const inSession = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest) {
  const key = yield* Once
  return HttpClientRequest.setHeaders(request, {
    [proofField]: proofOrNone(),
    ...(isPersonal() ? {} : { "x-console-auto": "1" }),
    ...(key === undefined ? {} : { "idempotency-key": key })
  })
})

/** Sends the session's proof, and notes what each response says about the service. */
export const transformed = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  client.pipe(HttpClient.mapRequestEffect(inSession), HttpClient.transformResponse(Effect.tap(note)))

/** The cookie is the session's other half, so that the contract's security has nothing to add. */
export const withoutKey = HttpApiMiddleware.layerClient(Authorization, ({ next, request }) => next(request))

const client: Client = Effect.runSync(
  HttpApiClient.make(Api, { baseUrl: `${location.origin}/console`, transformClient: transformed }).pipe(
    Effect.provide(Layer.merge(withoutKey, FetchHttpClient.layer))
  )
)

const tagOf = (error: unknown) =>
  typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined

/** A value that the contract does not allow was not sent. */
const refusedHere = 400

/** What a schema has found wrong. `make` of a schema, as for an id of the address, throws it as the cause of an error. */
const issueOf = (error: unknown): SchemaIssue.Issue | undefined => {
  if (Schema.isSchemaError(error)) return error.issue
  return error instanceof Error && SchemaIssue.isIssue(error.cause) ? error.cause : undefined
}

const failed = (noted: Noted, error: unknown): Failure => {
  if (noted.failure !== undefined) return noted.failure
  const tag = tagOf(error)
  if (tag === "HttpClientError") lost()
  const issue = issueOf(error)
  if (issue !== undefined && noted.isAnswered !== true) {
    const { first } = Violations.ofIssue(issue, "body")
    const text = first.map(({ field, message }) => `${field}: ${message}`).join("; ")
    return { _tag: "Failure", status: refusedHere, text }
  }
  return { _tag: "Failure", status: 0, text: error instanceof Error ? error.message : String(error) }
}

/** A request. Its failure has what a page shows of it. */
export const noting = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, Failure> =>
  Effect.suspend(() => {
    const noted: Noted = {}
    return effect.pipe(
      Effect.provideService(Noted, noted),
      Effect.mapError((error) => failed(noted, error)),
      Effect.catchDefect((defect) => Effect.fail(failed(noted, defect)))
    )
  })

const http = Effect.runSync(
  Effect.map(HttpClient.HttpClient, (client) => HttpClient.filterStatusOk(transformed(client))).pipe(
    Effect.provide(FetchHttpClient.layer)
  )
)

/** A stream that breaks is opened again by its reader, which then learns why. */
const broken: Failure = { _tag: "Failure", status: 0, text: "" }

/** The text of a response without an end. The contract's client waits for the end of a response. */
export const streamed = (path: string, headers: Readonly<Record<string, string>>): Stream.Stream<string, Failure> =>
  noting(Effect.suspend(() => http.get(`${location.origin}/console${path}`, { headers }))).pipe(
    Effect.map(({ stream }) => Stream.mapError(Stream.decodeText(stream), () => broken)),
    Stream.unwrap
  )

/** `use` may throw if a part of the address is no id. */
export const call = <A, E>(use: (client: Client) => Effect.Effect<A, E>): Effect.Effect<A, Failure> =>
  noting(Effect.suspend(() => use(client)))

/** One object by its id. What is no id gets the same answer as an id that does not exist. */
export const callById = <A, E>(use: (client: Client) => Effect.Effect<A, E>): Effect.Effect<A, Failure> =>
  Effect.mapError(call(use), (failure) =>
    failure.status === refusedHere && failure.requestId === undefined ? { ...failure, status: 404 } : failure
  )
