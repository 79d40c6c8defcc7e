// The wire, row by row: status, body, headers.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { evmRelayer, notification, signer } from "../../testkit/fixtures.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const post = "/api/v1/relayers"

interface Row extends TestApi.Call {
  readonly path: string
  readonly status: number
  readonly message: string
  readonly header?: readonly [name: string, value: string]
  /** What `error` has to say; absent: there is no `error`. */
  readonly error?: string
  /** With a key that may read relayers and nothing else. */
  readonly asReader?: true
}

/** What the rows meet: a relayer with all that it refers to, a key, and a request that was sent once. */
const setUp = Effect.gen(function* () {
  const api = yield* TestApi.TestApi
  const made: ReadonlyArray<readonly [string, object]> = [
    ["signers", signer],
    ["notifications", notification],
    ["networks", { name: "own", network_type: "evm", from: "sepolia", chain_id: 7 }],
    ["relayers", { ...evmRelayer, network: "own" }]
  ]
  for (const [path, body] of made) assert.strictEqual((yield* api.call(`/api/v1/${path}`, { body })).status, 201)
  const once = { body: { type: "plain" }, headers: { "idempotency-key": "once" } }
  assert.strictEqual((yield* api.call("/api/v1/signers", once)).status, 201)
  const reader = yield* api.call("/api/v1/api-keys", { body: { name: "reader", scopes: ["relayers:read"] } })
  return (reader.json.data as { readonly key: string }).key
})

const unauthorized = { status: 401, message: "Unauthorized", header: ["www-authenticate", "Bearer"] } as const
const badRequest = { status: 400, message: "Bad Request" }

const rows: Record<string, Row> = {
  "no token": { path: post, key: null, ...unauthorized },
  "another scheme": { path: post, key: null, headers: { authorization: `Basic ${TestApi.apiKey}` }, ...unauthorized },
  "an unknown token": { path: post, key: "x".repeat(40), ...unauthorized },
  "an empty token": { path: post, key: null, headers: { authorization: "Bearer " }, ...unauthorized },
  "no token on an unknown route": { path: "/api/v1/nothing", key: null, ...unauthorized },
  "no token with a wrong method": { path: post, method: "PUT", key: null, ...unauthorized },
  "no token with wrong JSON": { path: post, key: null, body: "{", ...unauthorized },
  "no token with a wrong page": { path: `${post}?page=x`, key: null, ...unauthorized },
  "no token with another content type": {
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
  "an unknown route": { path: "/api/v1/nothing", status: 404, message: "Not Found" },
  "an unknown route outside of the API": { path: "/nothing", key: null, status: 404, message: "Not Found" },
  "an unknown metric": { path: "/metrics/none", key: null, status: 404, message: "Not Found" },
  "a method that a route has not": {
    path: post,
    method: "PUT",
    status: 405,
    message: "Method Not Allowed",
    header: ["allow", "GET, HEAD, POST"]
  },
  "a method that health has not": {
    path: "/v1/health",
    method: "DELETE",
    key: null,
    status: 405,
    message: "Method Not Allowed",
    header: ["allow", "GET, HEAD"]
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
  "pages that are no integers": {
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
  "a scope that the key has not": { path: "/api/v1/signers", asReader: true, status: 403, message: "Forbidden" },
  "a change by a key that may read": {
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
  "a patch of what cannot change": {
    path: `${post}/relayer-1`,
    method: "PATCH",
    body: { signer_id: "x" },
    ...badRequest,
    error: "signer_id: cannot be changed"
  },
  "a forged cursor": { path: `${post}?cursor=x`, ...badRequest, error: "cursor: is none of this list" },
  "an unknown filter": { path: `${post}?colour=red`, ...badRequest, error: "colour: is not a known field" },
  "an unknown scope": {
    path: "/api/v1/api-keys",
    body: { name: "x", scopes: ["relayers:eat"] },
    ...badRequest,
    error: "scopes.0: Expected one of relayers:read"
  },
  "an empty page": { path: `${post}?page=`, ...badRequest, error: "page: Expected an integer, 0 or more" }
}

layer(TestApi.layer())("the wire", (it) => {
  let reader = ""

  it.effect("there is a relayer, with all that it refers to", () =>
    Effect.gen(function* () {
      reader = yield* setUp
    })
  )

  for (const [name, { path, status, message, header, error, asReader, ...call }] of Object.entries(rows)) {
    it.effect(`${name} gets ${status} ${message}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const answer = yield* api.call(path, asReader === true ? { ...call, key: reader } : call)
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
      })
    )
  }

  it.effect("nothing of a refused request is stored", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql`
        SELECT (SELECT count(*) FROM relayers) AS relayers, (SELECT count(*) FROM signers) AS signers,
          (SELECT count(*) FROM notifications) AS notifications, (SELECT count(*) FROM networks) AS networks,
          (SELECT count(*) FROM api_keys) AS keys, (SELECT count(*) FROM audit) AS changes`
      assert.deepStrictEqual(row, { relayers: 1n, signers: 2n, notifications: 1n, networks: 1n, keys: 1n, changes: 6n })
    })
  )
})
