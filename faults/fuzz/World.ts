// The resources and API keys that a run creates in the service, and the values with which cases refer to them.
import { Effect, Schedule } from "effect"
import * as keystores from "../../testkit/keystores.ts"
import * as Cluster from "../../testkit/solana/Cluster.ts"
import * as SolanaServing from "../../testkit/solana/Serving.ts"
import { Network } from "../../testkit/stellar/Network.ts"
import * as StellarServing from "../../testkit/stellar/Serving.ts"

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

const relayer = (id: string, signer_id: string, network_type = "evm") => ({
  id,
  name: `Relayer ${id}`,
  network: "near",
  network_type,
  paused: false,
  signer_id,
  notification_id: "c-1"
})

/** Ids of the relayer of stellar, which has channels, and of the relayer of solana. Most other ids of the cases belong to evm relayers or to nothing. */
const [stellar, solana] = ["e-1", "f-1"] as const
/** The cases choose an id at random. These occur three times, so that many cases reach stellar and solana. */
const chosenOften = [stellar, solana].flatMap((id) => [id, id, id])
const channels = 2

const passphraseOfNetwork = "Stand-in of the fuzzer"

/** Milliseconds between two ledgers, and two blocks. */
const ledgerMillis = 1000

/** 100,000 XLM, and 100,000 SOL. */
const [stroops, lamports] = [1_000_000_000_000n, 100_000_000_000_000n]

/** Stand-ins of stellar and solana, so that requests reach what is behind a provider. The cases may change the relayers on them. */
const chains = Effect.gen(function* () {
  const now = () => performance.timeOrigin + performance.now()
  const network = new Network({ passphrase: passphraseOfNetwork, now, nodes: 1 })
  const { url } = yield* StellarServing.serve(network)
  yield* Effect.sync(() => network.close()).pipe(Effect.repeat(Schedule.spaced(ledgerMillis)), Effect.forkScoped)
  const cluster = Cluster.make()
  const node = yield* SolanaServing.node(cluster)
  yield* SolanaServing.run(cluster, ledgerMillis)
  return { network, cluster, urls: { stellar: url(), solana: node.url } }
})

/** `administrator` is the key that `call` uses. */
export const make = Effect.fnUntraced(function* (call: Call, administrator: string, receiver: string, port: number) {
  /** The resource may exist from an earlier run. */
  const create = Effect.fnUntraced(function* (
    path: string,
    body: { readonly id?: string; readonly [field: string]: unknown }
  ) {
    const answer = yield* call(`/api/v1/${path}`, { body })
    if (answer.status === 409) return { id: body.id ?? "", key: undefined, address: undefined }
    if (answer.status !== 201) return yield* Effect.die(new Error(`${path}: ${answer.status} ${answer.text}`))
    const created: { readonly id: string; readonly key?: string; readonly address?: string } = JSON.parse(
      answer.text
    ).data
    return created
  })

  yield* create("networks", {
    name: "near",
    network_type: "evm",
    from: "sepolia",
    chain_id: 7,
    rpc_urls: [`${receiver}/ok/${marker}`]
  })
  const { cluster, network, urls } = yield* chains
  const far = { name: "far", is_testnet: true, average_blocktime_ms: ledgerMillis }
  yield* create("networks", {
    ...far,
    network_type: "stellar",
    passphrase: network.passphrase,
    rpc_urls: [urls.stellar]
  })
  yield* create("networks", { ...far, network_type: "solana", rpc_urls: [urls.solana] })
  for (const id of ["b-1", "b-2", "b-3", "d-1", "d-2"]) yield* create("signers", { id, type: "plain" })
  for (const id of ["c-1", "c-2"]) {
    yield* create("notifications", { id, url: `${receiver}/ok`, signing_key: `${marker}-${"k".repeat(20)}` })
  }
  for (const n of [1, 2, 3]) yield* create("relayers", relayer(`a-${n}`, `b-${n}`))
  const onStellar = {
    ...relayer(stellar, "d-1", "stellar"),
    network: "far",
    policies: { channels: { count: channels } }
  }
  const onSolana = {
    ...relayer(solana, "d-2", "solana"),
    network: "far",
    policies: { fee_payment_strategy: "relayer" }
  }
  const { address: account } = yield* create("relayers", onStellar)
  if (account !== undefined) network.grant(account, stroops)
  const { address } = yield* create("relayers", onSolana)
  if (address !== undefined) cluster.fund(address, lamports)
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
    ids: [...resource, ...chosenOften, ...victims.map(({ id }) => id)],
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
