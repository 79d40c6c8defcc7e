// Requests about configurations, and a document that most tests start from.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { ConfigurationPlan } from "../../../src/domain/configuration/Plan.ts"
import { rawInteger } from "../../../src/domain/request/ExactJson.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

export const { call } = TestApi

export const key = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"

export const signingKey = "0123456789abcdef0123456789abcdef"

/** One object of each kind, and a second relayer. */
export const document = {
  version: 1,
  name: "payments",
  networks: { "evm:acme": { from: "sepolia", rpc_urls: [{ url: "https://rpc.acme.example/v1/secret-path" }] } },
  signers: { "treasury-key": { type: "plain", config: { key } } },
  notifications: { ops: { url: "https://hooks.example.com/relayer", signing_key: signingKey } },
  relayers: {
    treasury: {
      name: "Treasury",
      network_type: "evm",
      network: "sepolia",
      signer_id: "treasury-key",
      notification_id: "ops",
      policies: { min_balance: "100000000000000000", gas_price_cap: 90_000_000_000 }
    },
    payouts: { name: "Payouts", network_type: "evm", network: "acme", signer_id: "treasury-key" }
  },
  api_keys: { dashboard: { name: "Dashboard", scopes: ["relayers:read"], relayer_ids: ["treasury"] } }
}

/** With every digit of integers. */
export const textOf = (body: object) =>
  JSON.stringify(body, (_, value: unknown) => (typeof value === "bigint" ? rawInteger(value) : value))

export const plan = (given: object, options: object = {}, more: TestApi.Call = {}) =>
  call("/api/v1/configuration/plan", { body: textOf({ document: given, options }), ...more })

export const planned = Effect.fnUntraced(function* (given: object, options: object = {}, more: TestApi.Call = {}) {
  const answer = yield* plan(given, options, more)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json.data as ConfigurationPlan
})

export const refusedPlan = Effect.fnUntraced(function* (given: object, options: object = {}, more: TestApi.Call = {}) {
  const answer = yield* plan(given, options, more)
  assert.strictEqual(answer.status, 422, answer.text)
  return String(answer.json["error"])
})

/** What happens to each object, in order. */
export const actionsOf = ({ steps }: ConfigurationPlan) =>
  steps.map(({ kind, id, action }) => `${action} ${kind}.${id}`)

/** Creates the objects of the document with the endpoints of their kinds. */
export const createAll = Effect.gen(function* () {
  const { networks, signers, notifications, relayers, api_keys } = document
  const create = (path: string, body: object) =>
    Effect.map(call(`/api/v1/${path}`, { body }), (answer) => assert.strictEqual(answer.status, 201, answer.text))
  yield* create("networks", { network_type: "evm", name: "acme", ...networks["evm:acme"] })
  for (const [id, body] of Object.entries(notifications)) yield* create("notifications", { id, ...body })
  for (const [id, body] of Object.entries(signers)) yield* create("signers", { id, ...body })
  for (const [id, body] of Object.entries(relayers)) yield* create("relayers", { id, ...body, paused: false })
  for (const [id, body] of Object.entries(api_keys)) yield* create("api-keys", { id, ...body })
})

/** Applies the document with the digest of a plan of it. `before` runs between both. */
export const apply = Effect.fnUntraced(function* <R = never>(
  given: object,
  options: object = {},
  { key, before = Effect.void }: { readonly key?: string; readonly before?: Effect.Effect<unknown, never, R> } = {}
) {
  const more = key === undefined ? {} : { key }
  const { digest, seen } = yield* planned(given, options, more)
  yield* before
  return yield* call("/api/v1/configuration/apply", {
    ...more,
    body: textOf({ document: given, options, digest, seen })
  })
})

export const applied = Effect.fnUntraced(function* (
  given: object,
  options: object = {},
  more: { readonly key?: string } = {}
) {
  const answer = yield* apply(given, options, more)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json.data as {
    readonly counts: object
    readonly changed: ReadonlyArray<{ readonly kind: string; readonly id: string; readonly action: string }>
    readonly keys: ReadonlyArray<{ readonly id: string; readonly key: string }>
  }
})

/** What is in the tables that an apply writes, as text. Checks of relayers and the secrets of the service are left out. */
export const rows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ text: string }>`
    SELECT json_build_array(
      (SELECT json_agg(t ORDER BY t.id) FROM relayers t), (SELECT json_agg(t ORDER BY t.id) FROM networks t),
      (SELECT json_agg(t ORDER BY t.id) FROM notifications t), (SELECT json_agg(t ORDER BY t.id) FROM signers t),
      (SELECT json_agg(json_build_array(t.id, t.name, t.scopes, t.version) ORDER BY t.id) FROM api_keys t),
      (SELECT json_agg(t ORDER BY t.id) FROM events t),
      (SELECT json_agg(json_build_array(t.action, t.resource_id) ORDER BY t.id) FROM audit t WHERE t.action <> 'configuration.compared'),
      (SELECT json_agg(t ORDER BY t.name) FROM configurations t),
      (SELECT json_agg(t ORDER BY t.kind, t.id) FROM managed_objects t))::text AS text`
  return row?.text
})

/** The document with changed fields of the relayer `treasury`. */
export const treasury = (changes: object) => ({
  ...document,
  relayers: { ...document.relayers, treasury: { ...document.relayers.treasury, ...changes } }
})
