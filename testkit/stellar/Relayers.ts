// Relayers of the service on a stand-in ledger of their own, over HTTP.
import { Effect, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { until } from "../process/Folder.ts"
import * as Prepared from "../Prepared.ts"
import * as TestApi from "../TestApi.ts"
import { accountIn } from "./Entries.ts"
import type { Account } from "./Entries.ts"
import { Network } from "./Network.ts"
import { serve } from "./Serving.ts"
import type { Voted } from "./Voted.ts"

export interface Shown {
  readonly id: string
  readonly status: string
  readonly network_type: string
  readonly sequence_number: string
  readonly fee: number
  readonly hash?: string
  readonly code?: string
  readonly ledger?: number
  readonly fee_paid?: string
  readonly status_reason?: string
  readonly source_account?: string
  readonly inner_hash?: string
  readonly attempts?: ReadonlyArray<{ readonly hash: string; readonly kind: string; readonly max_fee: string }>
}

/** Stroops. */
export const xlm = 10_000_000n

interface Given {
  readonly policies?: object
  readonly providers?: number
  readonly funds?: bigint
  /** Milliseconds between two ledgers. 0: a ledger is closed only when a test asks for it. */
  readonly ledgerMs?: number
  /** Further fields of the network. */
  readonly fields?: object
  /** Absent: a local key. */
  readonly signer?: object
  /** Absent: as on the public network. */
  readonly voted?: Voted
}

/** A passphrase for each, so that no two of them share a lane. */
const passphraseOf = (id: string) => `Stand-in ${id}`

/** A relayer with a thousand XLM. Its ledger closes every second. */
export const relayerAt = Effect.fnUntraced(function* (given: Given = {}) {
  const {
    policies = {},
    providers = 1,
    funds = 1000n * xlm,
    ledgerMs = 1000,
    fields = {},
    signer = { type: "plain" },
    voted
  } = given
  const id = randomUUID()
  const passphrase = passphraseOf(id)
  const network = new Network({ passphrase, now: () => performance.timeOrigin + performance.now(), nodes: providers })
  if (voted !== undefined) network.store.voted = voted
  const { standIn, url } = yield* serve(network)
  yield* Prepared.create("networks", {
    network_type: "stellar",
    name: id,
    passphrase,
    rpc_urls: Array.from({ length: providers }, (_, index) => url(index)),
    average_blocktime_ms: 1000,
    is_testnet: true,
    ...fields
  })
  yield* Prepared.create("signers", { id, ...signer })
  const created = yield* Prepared.create("relayers", {
    id,
    name: "R",
    network: id,
    network_type: "stellar",
    paused: false,
    signer_id: id,
    ...(Object.keys(policies).length === 0 ? {} : { policies })
  })
  const { address = "" } = created as { readonly address?: string }
  if (funds > 0n) network.grant(address, funds)
  if (ledgerMs > 0) {
    yield* Effect.sync(() => network.close()).pipe(Effect.repeat(Schedule.spaced(ledgerMs)), Effect.forkScoped)
  }
  const path = `/api/v1/relayers/${id}/transactions`
  const { call } = yield* TestApi.TestApi
  const send = (body: object, more: TestApi.Call = {}) =>
    call(path, { ...more, method: "POST", body: { network: id, ...body } })
  const get = (of: string, suffix = "") => Effect.map(call(`${path}/${of}${suffix}`), ({ json }) => json.data as Shown)
  const becomes = (of: string, status: string, within = "60 seconds" as const) =>
    until(
      status,
      Effect.map(get(of), (shown) => (shown.status === status ? shown : undefined)),
      within
    )
  const account = (of: string = address): Account | undefined => accountIn(network.reads, of)
  return { id, address, passphrase, network, standIn, path, send, get, becomes, account }
})

export const dataOf = ({ json }: TestApi.Answer) => json.data as Shown

/** A payment of XLM as a request has it. */
export const pay = (destination: string, stroops: bigint) => ({
  operations: [{ type: "payment", destination, amount: String(stroops), asset: { type: "native" } }]
})
