// The refusals of the service: the status, the body and the headers of each, and that nothing is stored.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { evmRelayer, notification, signer } from "../../testkit/fixtures.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const post = "/api/v1/relayers"

interface Row extends TestApi.Call {
  readonly path: string
  readonly status: number
  readonly message: string
  readonly header?: readonly [name: string, value: string]
  /** A part of `error`. Absent: the body has no `error`. */
  readonly error?: string
  /** The caller uses a key that may only read relayers. */
  readonly asReader?: true
}

/** A key that may only read relayers. */
class Reader extends Context.Service<Reader, string>()("effect-relayer/test/server/Server.test/Reader") {}

/** A relayer with all that it refers to, a used idempotency key, and the key of a reader. */
const setUp = Effect.gen(function* () {
  yield* Prepared.references
  yield* Prepared.create("networks", { name: "own", network_type: "evm", from: "sepolia", chain_id: 7 })
  yield* Prepared.create("relayers", { ...evmRelayer, network: "own" })
  yield* Prepared.create("signers", { type: "plain" }, { headers: { "idempotency-key": "once" } })
  return yield* Prepared.createKey({ scopes: ["relayers:read"] })
})

/** The number of rows in each table that the refused requests could change. */
const stored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT (SELECT count(*) FROM relayers) AS relayers, (SELECT count(*) FROM signers) AS signers,
      (SELECT count(*) FROM notifications) AS notifications, (SELECT count(*) FROM networks) AS networks,
      (SELECT count(*) FROM api_keys) AS keys, (SELECT count(*) FROM audit WHERE action <> 'key.refused') AS changes`
})

const unauthorized = {
  status: 401,
  message: "Unauthorized",
  header: ["www-authenticate", "Bearer"],
  error: "the request has no API key; send it as Authorization: Bearer KEY"
} as const

const noPath = {
  status: 404,
  message: "Not Found",
  error: "the path does not exist; those of the API begin with /api/v1"
} as const
const invalidToken = {
  ...unauthorized,
  header: ["www-authenticate", 'Bearer error="invalid_token"'],
  error: "the API key is unknown, expired or revoked"
} as const
const badRequest = { status: 400, message: "Bad Request" }

const rows: Record<string, Row> = {
  "a request without a token": { path: post, key: null, ...unauthorized },
  "another authorization scheme": {
    path: post,
    key: null,
    headers: { authorization: `Basic ${TestApi.apiKey}` },
    ...unauthorized
  },
  "an unknown token": { path: post, key: "x".repeat(40), ...invalidToken },
  "an unknown token on an unknown route": { path: "/api/v1/nothing", key: "x".repeat(40), ...invalidToken },
  "an empty token": { path: post, key: null, headers: { authorization: "Bearer " }, ...unauthorized },
  "a request without a token on an unknown route": { path: "/api/v1/nothing", key: null, ...unauthorized },
  "a request without a token with a wrong method": { path: post, method: "PUT", key: null, ...unauthorized },
  "a request without a token with wrong JSON": { path: post, key: null, body: "{", ...unauthorized },
  "a request without a token with a wrong page": { path: `${post}?page=x`, key: null, ...unauthorized },
  "a request without a token with another content type": {
    path: post,
    key: null,
    body: "a=1",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    ...unauthorized
  },
  "an unknown relayer": { path: "/api/v1/relayers/none", status: 404, message: "Relayer not found" },
  "an unknown notification": { path: "/api/v1/notifications/none", status: 404, message: "Notification not found" },
  "an unknown signer": { path: "/api/v1/signers/none", status: 404, message: "Signer not found" },
  "an unknown network": { path: "/api/v1/networks/evm:none", status: 404, message: "Network not found" },
  "an unknown route": { path: "/api/v1/nothing", ...noPath },
  "an unknown route outside the API": { path: "/nothing", key: null, ...noPath },
  "an unknown metric": { path: "/metrics/none", key: null, ...noPath },
  "a method that the route does not have": {
    path: post,
    method: "PUT",
    status: 405,
    message: "Method Not Allowed",
    header: ["allow", "GET, HEAD, OPTIONS, POST"]
  },
  "a method that health does not have": {
    path: "/v1/health",
    method: "DELETE",
    key: null,
    status: 405,
    message: "Method Not Allowed",
    header: ["allow", "GET, HEAD, OPTIONS"]
  },
  "a body over the limit": {
    path: post,
    body: `"${"x".repeat(1_100_000)}"`,
    status: 413,
    message: "Payload Too Large"
  },
  "a body over the limit, with an idempotency key": {
    path: post,
    body: `"${"x".repeat(1_100_000)}"`,
    headers: { "idempotency-key": "large" },
    status: 413,
    message: "Payload Too Large"
  },
  "another content type": {
    path: post,
    body: "a=1",
    headers: { "content-type": "text/plain" },
    status: 415,
    error: "content-type: Expected application/json",
    message: "Unsupported Media Type"
  },
  "a bad id in the path": {
    path: `/api/v1/relayers/${"x".repeat(37)}`,
    ...badRequest,
    error: "relayer_id: Expected 1 to 36 letters, digits, dashes and underscores"
  },
  "a very long id in the path": {
    path: `/api/v1/notifications/${"x".repeat(5000)}`,
    ...badRequest,
    error: "notification_id: Expected 1 to 36 letters, digits, dashes and underscores"
  },
  "a bad network id": {
    path: "/api/v1/networks/none",
    ...badRequest,
    error: "network_id: Expected a network id such as evm:sepolia"
  },
  "pages that are not integers": {
    path: `${post}?page=1.5&per_page=-1`,
    ...badRequest,
    error: "page: Expected an integer, 0 or more; per_page: Expected an integer, 0 or more"
  },
  "a page given twice": { path: `${post}?page=1&page=2`, ...badRequest, error: "page: " },
  "a taken relayer id": { path: post, body: evmRelayer, status: 409, message: "Relayer with this ID already exists" },
  "a taken signer id": {
    path: "/api/v1/signers",
    body: signer,
    status: 409,
    message: "Signer with this ID already exists"
  },
  "a taken notification id": {
    path: "/api/v1/notifications",
    body: notification,
    status: 409,
    message: "Notification with this ID already exists"
  },
  "the name of a built-in network": {
    path: "/api/v1/networks",
    body: { name: "mainnet", network_type: "evm", from: "sepolia" },
    status: 409,
    message: "Network with this ID already exists"
  },
  "a signer in use": {
    path: "/api/v1/signers/signer-1",
    method: "DELETE",
    status: 409,
    message: "Signer is in use",
    error: "used by relayers: relayer-1"
  },
  "a notification in use": {
    path: "/api/v1/notifications/notification-1",
    method: "DELETE",
    status: 409,
    message: "Notification is in use",
    error: "used by relayers: relayer-1"
  },
  "a network in use": {
    path: "/api/v1/networks/evm:own",
    method: "DELETE",
    status: 409,
    message: "Network is in use",
    error: "used by relayers: relayer-1"
  },
  "an unknown API key": { path: "/api/v1/api-keys/none", status: 404, message: "API key not found" },
  "a key without the scope": { path: "/api/v1/signers", asReader: true, status: 403, message: "Forbidden" },
  "a change by a key that may only read": {
    path: `${post}/relayer-1`,
    method: "PATCH",
    body: { name: "x" },
    asReader: true,
    status: 403,
    message: "Forbidden"
  },
  "a stale If-Match": {
    path: `${post}/relayer-1`,
    method: "PATCH",
    body: { name: "x" },
    headers: { "if-match": '"7"' },
    status: 412,
    message: "Precondition Failed"
  },
  "a used idempotency key": {
    path: "/api/v1/signers",
    body: { type: "plain", id: "other" },
    headers: { "idempotency-key": "once" },
    status: 422,
    message: "Idempotency key reused with a different request"
  },
  "a patch of a field that cannot change": {
    path: `${post}/relayer-1`,
    method: "PATCH",
    body: { signer_id: "x" },
    ...badRequest,
    error: "signer_id: cannot be changed"
  },
  "a forged cursor": { path: `${post}?cursor=x`, ...badRequest, error: "cursor: does not belong to this list" },
  "an unknown filter": { path: `${post}?colour=red`, ...badRequest, error: "colour: is not a known field" },
  "an unknown scope": {
    path: "/api/v1/api-keys",
    body: { name: "x", scopes: ["relayers:eat"] },
    ...badRequest,
    error: "scopes.0: Expected one of relayers:read"
  },
  "an empty page": { path: `${post}?page=`, ...badRequest, error: "page: Expected an integer, 0 or more" }
}

layer(Layer.provideMerge(Layer.effect(Reader, setUp), TestApi.layer()))("the service", (it) => {
  for (const [name, { path, status, message, header, error, asReader, ...call }] of Object.entries(rows)) {
    it.effect(`answers ${name} with ${status} ${message}, and stores nothing`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const before = yield* stored
        const answer = yield* api.call(path, asReader === true ? { ...call, key: yield* Reader } : call)
        assert.strictEqual(answer.status, status, answer.text)
        const keys = error === undefined ? ["data", "message", "success"] : ["data", "error", "message", "success"]
        assert.deepStrictEqual(Object.keys(answer.json).sort(), keys)
        assert.strictEqual(answer.json.message, message)
        assert.strictEqual(answer.json.data, null)
        assert.strictEqual(answer.json.success, false)
        if (error !== undefined) assert.include(answer.json.error, error)
        if (header !== undefined) assert.strictEqual(answer.headers.get(header[0]), header[1])
        assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
        assert.match(answer.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
        assert.deepStrictEqual(yield* stored, before)
      })
    )
  }
})
