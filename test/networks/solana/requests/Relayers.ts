// Relayers of solana on a cluster in memory, for tests over HTTP.
import { Effect, Layer, Logger } from "effect"
import { randomUUID } from "node:crypto"
import { memoProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { ed25519, transitKey, Vault } from "../../../../testkit/Vault.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import * as Cluster from "../../../../testkit/solana/Cluster.ts"
import * as Serving from "../../../../testkit/solana/Serving.ts"
import { transitConfig } from "../../../server/signers/fixtures.ts"
import { sol } from "../lane/World.ts"

export const api = Layer.provideMerge(
  ledgerTables(),
  TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })
).pipe(Layer.provideMerge(Logger.layer([])))

/** The same, with Vault for `countingAt`. */
export const countingApi = Layer.provideMerge(api, Vault.layer)

interface Shown {
  readonly id: string
  readonly status: string
  readonly network_type: string
  readonly transaction: string
  readonly is_canceled: boolean
  readonly signature?: string
  readonly slot?: number
  readonly fee_paid?: string
  readonly code?: string
  readonly attempts?: ReadonlyArray<{ readonly signature: string }>
}

interface Place {
  /** Absent: a local key. */
  readonly signer?: object
  /** Milliseconds between two blocks. */
  readonly blockMs?: number
}

/** A relayer with ten SOL on a cluster of its own, which makes a block each 50 milliseconds unless a test says otherwise. */
export const relayerAt = Effect.fnUntraced(function* (
  policies: object = {},
  { signer = { type: "plain" }, blockMs = 50 }: Place = {}
) {
  const cluster = Cluster.make()
  const node = yield* Serving.node(cluster)
  const id = randomUUID()
  yield* Prepared.create("networks", {
    network_type: "solana",
    name: id,
    rpc_urls: [node.url],
    average_blocktime_ms: 400,
    is_testnet: true
  })
  yield* Prepared.create("signers", { id, ...signer })
  const created = yield* Prepared.create("relayers", {
    id,
    name: "R",
    network: id,
    network_type: "solana",
    paused: false,
    signer_id: id,
    policies: { fee_payment_strategy: "relayer", ...policies }
  })
  const { address = "" } = created as { readonly address?: string }
  cluster.fund(address, 10n * sol)
  cluster.produce(40)
  yield* Serving.run(cluster, blockMs)
  const relayer = `/api/v1/relayers/${id}`
  const path = `${relayer}/transactions`
  const { call } = yield* TestApi.TestApi
  const post = (suffix: string, body: object, more: TestApi.Call = {}) =>
    call(`${relayer}${suffix}`, { ...more, method: "POST", body })
  const send = (body: object, more: TestApi.Call = {}) => post("/transactions", body, more)
  const get = (of: string, suffix = "") => Effect.map(call(`${path}/${of}${suffix}`), ({ json }) => json.data as Shown)
  const becomes = (of: string, status: string) =>
    until(
      status,
      Effect.map(get(of), (shown) => (shown.status === status ? shown : undefined)),
      "40 seconds"
    )
  const waits = (of: string, code: string) =>
    until(
      code,
      Effect.map(get(of), (shown) => (shown.code === code ? shown : undefined))
    )
  return { id, address, cluster, node, path, relayer, post, send, get, becomes, waits, call }
})

/** The same, with a key of its own in Vault, which counts its signatures. */
export const countingAt = Effect.fnUntraced(function* (policies: object = {}, place: Omit<Place, "signer"> = {}) {
  const vault = yield* Vault
  const key_name = randomUUID()
  vault.keys.set(key_name, transitKey(ed25519()))
  const config = transitConfig(vault, { key_name, pubkey: vault.publicKey(key_name) })
  const relayer = yield* relayerAt(policies, { ...place, signer: { type: "vault_transit", config } })
  const signatures = () => vault.seen.filter(({ url }) => url.endsWith(`/transit/sign/${key_name}`)).length
  const stored = Effect.map(
    relayer.call(relayer.path),
    ({ json }) => (json.pagination as { readonly total_items: number }).total_items
  )
  /** How many transactions are stored, and how many signatures were made. */
  const kept = Effect.map(stored, (count) => ({ stored: count, signatures: signatures() }))
  return { ...relayer, signatures, kept }
})

export const dataOf = ({ json }: TestApi.Answer) => json.data as Shown

/** A blockhash that a node knows as confirmed. */
export const recent = ({ blocks }: Cluster.Cluster): string => blocks.at(-2)?.blockhash ?? ""

/** A prebuilt transaction, without signatures. */
export const prebuilt = (
  payer: string,
  blockhash: string,
  instructions: Parameters<typeof Wire.buildMessage>[0]["instructions"]
): string => {
  const message = Wire.buildMessage({ payer, instructions, blockhash })
  const slots = Array.from({ length: message.signers }, () => undefined)
  return base64Of(Wire.transactionBytes(slots, Wire.messageBytes(message)))
}

export const memoOf = (text: string) => [{ program: memoProgram, accounts: [], data: Buffer.from(text) }]
