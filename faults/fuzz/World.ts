// The resources and API keys that a run creates in the service, and the values with which cases refer to them.
import { Effect } from "effect"
import * as keystores from "../../testkit/keystores.ts"

/** Part of every secret that a case sends. No response and no log record may contain it. */
export const marker = "5ec7e75ec7e75ec7"

interface Session {
  /** As a browser names the service. */
  readonly host: string
  /** Name and value. */
  readonly cookie: string
  readonly proof: string
}

export interface World {
  /** Ids of relayers, signers, notifications, keys and deliveries that exist or may exist. */
  readonly ids: ReadonlyArray<string>
  readonly networks: ReadonlyArray<string>
  readonly cursors: ReadonlyArray<string>
  readonly administrator: string
  /** Keys with few scopes. */
  readonly keys: ReadonlyArray<string>
  /** The URL of a server for the outbound requests of the service. */
  readonly receiver: string
  /** A session of the administrator in the console. */
  readonly session: Session
  readonly keystore: object
  /** The passphrase of the keystore. */
  readonly passphrase: string
}

/** Sends a request as the administrator. */
export type Call = (
  path: string,
  call?: { readonly body?: unknown; readonly key?: string; readonly headers?: Record<string, string> }
) => Effect.Effect<{ readonly status: number; readonly headers: Headers; readonly text: string }>

const resource = ["a", "b", "c", "d", "e", "f"].flatMap((kind) => [`${kind}-1`, `${kind}-2`, `${kind}-3`])

const passphrase = `${marker}-passphrase`

const grants = [
  { scopes: ["relayers:read"] },
  { scopes: ["relayers:*"], relayer_ids: ["a-1", "a-2"] },
  { scopes: ["signers:*", "notifications:read"] },
  { scopes: ["events:read", "audit:read", "api-keys:read"] },
  { scopes: ["*"], expires_at: "2030-01-01T00:00:00Z" }
]

const signIn = Effect.fnUntraced(function* (call: Call, key: string, host: string) {
  const answer = yield* call("/console/session", {
    body: { key },
    headers: { "sec-fetch-site": "same-origin", "x-console": "1" }
  })
  if (answer.status !== 201) return yield* Effect.die(new Error(`sign-in: ${answer.status} ${answer.text}`))
  const { proof }: { readonly proof: string } = JSON.parse(answer.text).data
  const [cookie = ""] = (answer.headers.getSetCookie()[0] ?? "").split(";")
  const session: Session = { host, cookie, proof }
  return session
})

const relayer = (id: string, signer_id: string) => ({
  id,
  name: `Relayer ${id}`,
  network: "near",
  network_type: "evm",
  paused: false,
  signer_id,
  notification_id: "c-1"
})

/** `administrator` is the key that `call` uses. */
export const make = Effect.fnUntraced(function* (call: Call, administrator: string, receiver: string, port: number) {
  /** The resource may exist from an earlier run. */
  const create = Effect.fnUntraced(function* (
    path: string,
    body: { readonly id?: string; readonly [field: string]: unknown }
  ) {
    const answer = yield* call(`/api/v1/${path}`, { body })
    if (answer.status === 409) return { id: body.id ?? "" }
    if (answer.status !== 201) return yield* Effect.die(new Error(`${path}: ${answer.status} ${answer.text}`))
    const { id, key }: { readonly id: string; readonly key?: string } = JSON.parse(answer.text).data
    return { id, ...(key === undefined ? {} : { key }) }
  })

  yield* create("networks", {
    name: "near",
    network_type: "evm",
    from: "sepolia",
    chain_id: 7,
    rpc_urls: [`${receiver}/ok/${marker}`]
  })
  for (const id of ["b-1", "b-2", "b-3"]) yield* create("signers", { id, type: "plain" })
  for (const id of ["c-1", "c-2"]) {
    yield* create("notifications", { id, url: `${receiver}/ok`, signing_key: `${marker}-${"k".repeat(20)}` })
  }
  for (const n of [1, 2, 3]) yield* create("relayers", relayer(`a-${n}`, `b-${n}`))
  const keys: Array<string> = []
  for (const [index, grant] of grants.entries()) {
    const { key } = yield* create("api-keys", { name: `key ${index}`, ...grant })
    if (key !== undefined) keys.push(key)
  }
  const victims = [yield* create("api-keys", { name: "victim", scopes: ["relayers:read"] })]

  yield* call("/api/v1/notifications/c-1/test", { body: "" })
  const cursors = ["x", "AAAA", "é"]
  for (const path of ["relayers?per_page=1", "audit?limit=1", "events?limit=1", "relayers?per_page=1&sort=-name"]) {
    const { headers } = yield* call(`/api/v1/${path}`)
    const cursor = /(?:cursor|after)=([^&>]+)/.exec(headers.get("link") ?? "")?.[1]
    if (cursor !== undefined) cursors.push(decodeURIComponent(cursor))
  }
  const world: World = {
    ids: [...resource, ...victims.map(({ id }) => id)],
    networks: ["near", "near", "far", "sepolia", "mainnet", "testnet", "devnet", "mainnet-beta"],
    cursors,
    administrator,
    keys,
    receiver,
    session: yield* signIn(call, administrator, `127.0.0.1:${port}`),
    keystore: keystores.make(Buffer.from(marker.repeat(4), "hex"), passphrase),
    passphrase
  }
  return world
})
