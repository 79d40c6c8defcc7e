// A request to each operation that succeeds, except those of transactions.
import { Effect } from "effect"
import type { Scope } from "effect"
import * as EvmRpc from "../../testkit/EvmRpc.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as Receiver from "../../testkit/Receiver.ts"
import type * as TestApi from "../../testkit/TestApi.ts"
import { notification, relayers } from "../../testkit/fixtures.ts"
import { inRelayer, made, ownRelayer, send, unusedName } from "./Requests.ts"
import type { Params } from "./Requests.ts"
import { Vault } from "../../testkit/Vault.ts"
import { config, prepared } from "./signers/fixtures.ts"

type Request = (name: string) => Effect.Effect<unknown, never, Scope.Scope | TestApi.TestApi>

const ownNetwork = Effect.suspend(() =>
  Effect.map(Prepared.create("networks", { name: unusedName(), network_type: "evm", from: "sepolia" }), ({ id }) => id)
)

/** A notification with one delivery. */
const notified = Effect.gen(function* () {
  const receiver = yield* Receiver.make
  const notification_id = yield* made("notifications", { url: receiver.url })
  yield* send("patch /api/v1/relayers/{relayer_id}", { relayer_id: yield* ownRelayer({ notification_id }) }, paused)
  const { json } = yield* send("get /api/v1/notifications/{notification_id}/deliveries", { notification_id })
  const [{ id: delivery_id }] = json.data as [{ readonly id: string }]
  return { notification_id, delivery_id }
})

const checkpoint = Effect.map(
  send("post /api/v1/audit/checkpoints"),
  ({ json }) => json.data as { readonly position: number; readonly hash: string }
)

const paused = { body: { paused: true } }

const onChain = Effect.gen(function* () {
  const { url } = yield* EvmRpc.make()
  return { relayer_id: yield* ownRelayer({ custom_rpc_urls: [{ url }] }) }
})

const notification_id = "notification-1"
const signer_id = "signer-1"
const network_id = "evm:sepolia"

export const inNotification = "/api/v1/notifications/{notification_id}"
const inCheckpoint = "/api/v1/audit/checkpoints/{position}"
const inKey = "/api/v1/api-keys/{key_id}"
const inClaim = "/api/v1/claims/{name}"

const lease = { by: "a-worker", seconds: 600 }

/** A name with a holder. */
const claimed = Effect.suspend(() => {
  const name = unusedName()
  return Effect.as(send("post /api/v1/claims", {}, { body: { name, ...lease } }), name)
})

export const newKey = { name: "of a test", scopes: ["relayers:read"], expires_at: "2999-01-01T00:00:00Z" }

const appliedDocuments = [
  { version: 1, name: "applied", api_keys: { applied: { name: "of a test", scopes: ["relayers:read"] } } },
  { version: 1, name: "applied", notifications: { applied: { url: "https://hooks.example.com/applied" } } }
]

const appliedOnce = Effect.forEach(appliedDocuments, (document) =>
  Effect.flatMap(send("post /api/v1/configuration/plan", {}, { body: { document } }), ({ json }) =>
    send(
      "post /api/v1/configuration/apply",
      {},
      {
        body: { document, digest: (json.data as { readonly digest: string }).digest }
      }
    )
  )
)

/** A period that contains everything. */
export const period = { since: "2026-01-01T00:00:00Z", until: "2999-01-01T00:00:00Z" }

/** Resources that exist. */
export const existing = {
  relayer_id: "relayer-1",
  notification_id,
  signer_id,
  network_id
} satisfies Params

export const successes: Readonly<Record<string, Request>> = {
  "post /api/v1/relayers": (name) =>
    Effect.forEach(relayers, (relayer) => send(name, {}, { body: { ...relayer, id: `post-${relayer.id}` } })),
  "get /api/v1/relayers": (name) =>
    Effect.andThen(send(name), send(name, { query: "?per_page=1" }, { headers: { "x-relayer-debug": "true" } })),
  [`get ${inRelayer}`]: (name) => Effect.forEach(relayers, ({ id }) => send(name, { relayer_id: id })),
  [`patch ${inRelayer}`]: (name) => Effect.flatMap(ownRelayer(), (relayer_id) => send(name, { relayer_id }, paused)),
  [`delete ${inRelayer}`]: (name) => Effect.flatMap(ownRelayer(), (relayer_id) => send(name, { relayer_id })),
  [`get ${inRelayer}/status`]: (name) => Effect.flatMap(onChain, (params) => send(name, params)),
  [`get ${inRelayer}/balance`]: (name) => Effect.flatMap(onChain, (params) => send(name, params)),
  [`post ${inRelayer}/check`]: (name) => Effect.flatMap(onChain, (params) => send(name, params)),
  [`get ${inRelayer}/balances`]: (name) => Effect.forEach(relayers, ({ id }) => send(name, { relayer_id: id })),
  [`get ${inRelayer}/explain`]: (name) => Effect.forEach(relayers, ({ id }) => send(name, { relayer_id: id })),
  [`post ${inRelayer}/policies/rehearse`]: (name) =>
    Effect.flatMap(onChain, (params) => send(name, params, { body: { policies: {} } })),
  "post /api/v1/signers": (name) => send(name, {}, { body: { type: "plain", id: "post-signer" } }),
  "get /api/v1/signers": (name) => send(name),
  "get /api/v1/signers/{signer_id}": (name) => send(name, { signer_id }),
  "delete /api/v1/signers/{signer_id}": (name) =>
    Effect.flatMap(made("signers", { type: "plain" }), (signer_id) => send(name, { signer_id })),
  "put /api/v1/signers/{signer_id}/credentials": (name) =>
    Effect.gen(function* () {
      const body = { type: "vault", config: config(yield* prepared) }
      yield* send(name, { signer_id: yield* made("signers", body) }, { body })
    }).pipe(Effect.provide(Vault.layer)),
  "post /api/v1/signers/{signer_id}/verify": (name) => send(name, { signer_id }),
  "post /api/v1/notifications": (name) => send(name, {}, { body: { ...notification, id: "post-notification" } }),
  "get /api/v1/notifications": (name) => send(name),
  [`get ${inNotification}/statistics`]: (name) =>
    Effect.flatMap(notified, ({ notification_id }) => send(name, { notification_id })),
  [`get ${inNotification}`]: (name) => send(name, { notification_id }),
  [`patch ${inNotification}`]: (name) =>
    Effect.flatMap(made("notifications", { url: notification.url }), (notification_id) =>
      send(name, { notification_id }, paused)
    ),
  [`delete ${inNotification}`]: (name) =>
    Effect.flatMap(made("notifications", { url: notification.url }), (notification_id) =>
      send(name, { notification_id })
    ),
  [`post ${inNotification}/test`]: (name) =>
    Effect.flatMap(notified, ({ notification_id }) => send(name, { notification_id })),
  [`get ${inNotification}/deliveries`]: (name) =>
    Effect.flatMap(notified, ({ notification_id }) => send(name, { notification_id })),
  [`get ${inNotification}/deliveries/{delivery_id}`]: (name) =>
    Effect.flatMap(notified, (params) => send(name, params)),
  [`post ${inNotification}/deliveries/{delivery_id}/retry`]: (name) =>
    Effect.flatMap(notified, (params) => send(name, params)),
  [`post ${inNotification}/replay`]: (name) =>
    Effect.flatMap(notified, ({ notification_id }) => send(name, { notification_id }, { body: period })),
  "post /api/v1/networks": (name) =>
    send(name, {}, { body: { name: "post-network", network_type: "evm", from: "sepolia" } }),
  "get /api/v1/networks": (name) => send(name, { query: "?per_page=1000" }),
  "get /api/v1/networks/{network_id}": (name) =>
    Effect.forEach([network_id, "solana:devnet", "stellar:testnet"], (network_id) => send(name, { network_id })),
  "patch /api/v1/networks/{network_id}": (name) =>
    Effect.flatMap(ownNetwork, (network_id) => send(name, { network_id }, { body: { tags: ["changed"] } })),
  "delete /api/v1/networks/{network_id}": (name) =>
    Effect.flatMap(ownNetwork, (network_id) => send(name, { network_id })),
  "post /api/v1/api-keys": (name) => send(name, {}, { body: newKey }),
  "get /api/v1/networks/{network_id}/providers": (name) => send(name, { network_id }),
  "get /api/v1/statistics": (name) => send(name),
  "get /api/v1/instances": (name) => send(name),
  "post /api/v1/claims": (name) => send(name, {}, { body: { name: unusedName(), ...lease } }),
  [`get ${inClaim}`]: (name) => Effect.flatMap(claimed, (claim) => send(name, { name: claim })),
  [`delete ${inClaim}`]: (name) =>
    Effect.flatMap(claimed, (claim) => send(name, { name: claim, query: `?by=${lease.by}` })),
  "get /api/v1/search": (name) => send(name, { query: "?q=relayer-1" }),
  "get /api/v1/attention": (name) => send(name),
  "get /api/v1/api-keys/current": (name) => send(name),
  "get /api/v1/api-keys": (name) => Effect.andThen(Prepared.create("api-keys", newKey), send(name)),
  [`get ${inKey}`]: (name) =>
    Effect.flatMap(Prepared.create("api-keys", newKey), ({ id }) => send(name, { key_id: id })),
  [`patch ${inKey}`]: (name) =>
    Effect.flatMap(Prepared.create("api-keys", newKey), ({ id }) =>
      send(name, { key_id: id }, { body: { name: "new" } })
    ),
  [`delete ${inKey}`]: (name) =>
    Effect.flatMap(Prepared.create("api-keys", newKey), ({ id }) => send(name, { key_id: id })),
  [`post ${inKey}/rotate`]: (name) =>
    Effect.flatMap(Prepared.create("api-keys", newKey), ({ id }) => send(name, { key_id: id }, { body: {} })),
  "post /api/v1/configuration/plan": (name) => {
    const changed = { network_type: "evm", network: "sepolia", signer_id, name: "changed" }
    const other = { type: "plain", config: { key: { generate: true } } }
    const url = "https://hooks.example.com/planned"
    const documents = [
      { version: 1, name: "planned", relayers: { "relayer-1": changed }, signers: { planned: other } },
      { version: 1, name: "planned", notifications: { [notification_id]: { url } } }
    ]
    return Effect.forEach(documents, (document) => send(name, {}, { body: { document } }))
  },
  "post /api/v1/configuration/apply": () => appliedOnce,
  "get /api/v1/configuration": (name) => Effect.andThen(appliedOnce, send(name)),
  "get /api/v1/configuration/{configuration}": (name) =>
    Effect.andThen(appliedOnce, send(name, { configuration: "applied" })),
  "get /api/v1/configuration/{configuration}/document": (name) =>
    Effect.andThen(appliedOnce, send(name, { configuration: "applied", query: "?all=true" })),
  "get /api/v1/audit": (name) => send(name),
  "get /api/v1/audit/verify": (name) => send(name),
  "get /api/v1/audit/export": (name) => send(name),
  "get /api/v1/audit/checkpoints": (name) => Effect.andThen(checkpoint, send(name)),
  "post /api/v1/audit/checkpoints": (name) => send(name),
  [`post ${inCheckpoint}/prune`]: (name) =>
    Effect.flatMap(checkpoint, ({ position, hash }) => send(name, { position: String(position) }, { body: { hash } })),
  "get /api/v1/events": (name) => Effect.andThen(notified, send(name)),
  "post /api/v1/master-key/rotate": (name) => send(name),
  "get /v1/health": (name) => send(name),
  "get /api/v1/health": (name) => send(name),
  "get /api/v1/ready": (name) => send(name),
  "get /metrics": (name) => Effect.andThen(send(name), send(name, {}, { headers: { accept: "text/plain" } })),
  "get /metrics/{metric_name}": (name) => send(name, { metric_name: "requests_total" }),
  "get /debug/metrics/scrape": (name) => send(name)
}
