// What `effect-relayer dev` does with the API: a network, a signer, a funded relayer, and one transaction until it is final.
import { Console, Effect, Schema } from "effect"
import { networkName } from "./DevelopmentNetwork.ts"
import type { DevelopmentNetwork, LocalChain } from "./DevelopmentNetwork.ts"
import type { Api } from "./JsonCalls.ts"

export const relayerId = ({ networkType }: DevelopmentNetwork): string => `dev-${networkType}`

const StoredNetwork = Schema.Struct({ rpc_urls: Schema.Array(Schema.Struct({ url: Schema.String })) })
const StoredSigner = Schema.Struct({ addresses: Schema.Record(Schema.String, Schema.String) })
const StoredRelayer = Schema.Struct({ id: Schema.String, address: Schema.String, paused: Schema.Boolean })

/** What has the path, or what a POST to `list` creates there. */
const findOrCreate = Effect.fnUntraced(function* <S extends Schema.ConstraintDecoder<unknown>>(
  api: Api,
  list: string,
  id: string,
  schema: S,
  body: object
) {
  const { status } = yield* api.call("GET", `${list}/${id}`)
  return yield* status === 404 ? api.data("POST", list, schema, body) : api.data("GET", `${list}/${id}`, schema)
})

/** Creates what does not exist. What exists stays as it is, except the URL of the chain. */
export const prepare = Effect.fn("FirstTransaction.prepare")(function* (
  api: Api,
  network: DevelopmentNetwork,
  chain: LocalChain
) {
  const id = relayerId(network)
  const { networkType: network_type } = network
  const rpc_urls = [chain.url]
  const stored = yield* findOrCreate(api, "/networks", `${network_type}:${networkName}`, StoredNetwork, {
    ...network.network,
    name: networkName,
    network_type,
    rpc_urls
  })
  if (stored.rpc_urls.every(({ url }) => url !== chain.url)) {
    yield* api.data("PATCH", `/networks/${network_type}:${networkName}`, StoredNetwork, { rpc_urls })
  }
  const { addresses } = yield* findOrCreate(api, "/signers", id, StoredSigner, { id, type: "plain" })
  // A relayer without funds would be disabled until its next check.
  yield* chain.fund(addresses[network_type] ?? "")
  return yield* findOrCreate(api, "/relayers", id, StoredRelayer, {
    id,
    name: `Development, ${network_type}`,
    network: networkName,
    network_type,
    signer_id: id,
    paused: false,
    ...(network.policies === undefined ? {} : { policies: network.policies })
  })
})

const Sent = Schema.Struct({ id: Schema.String })

const Event = Schema.Struct({
  id: Schema.Int,
  at: Schema.String,
  data: Schema.Struct({
    status: Schema.String,
    status_reason: Schema.optionalKey(Schema.String),
    hash: Schema.optionalKey(Schema.NullOr(Schema.String)),
    signature: Schema.optionalKey(Schema.String)
  })
})
type Event = typeof Event.Type

const finalStatuses: ReadonlySet<string> = new Set(["confirmed", "failed", "canceled", "expired"])

/** Seconds that one request waits for the next event. */
const wait = 20

const lineOf = (start: number, { at, data }: Event): string => {
  const seconds = ((Date.parse(at) - start) / 1000).toFixed(1)
  return `  ${data.status.padEnd(10)}${seconds.padStart(5)} s  ${data.status_reason ?? ""}`.trimEnd()
}

/** Prints each state of the transaction, in the order of its events, until it is final. */
const follow = Effect.fnUntraced(function* (api: Api, transactionId: string) {
  let after = 0
  let start: number | undefined
  let status = ""
  let shown: string | null | undefined
  while (!finalStatuses.has(status)) {
    const path = `/events?resource_id=${transactionId}&after=${after}&wait=${wait}`
    for (const event of yield* api.data("GET", path, Schema.Array(Event))) {
      after = event.id
      start ??= Date.parse(event.at)
      status = event.data.status
      yield* Console.log(lineOf(start, event))
      const { hash, signature = hash } = event.data
      if (signature === shown) continue
      shown = signature
      yield* Console.log(`${" ".repeat(20)}${hash === undefined ? "signature" : "hash"} ${shown}`)
    }
  }
})

/**
 * Sends the network's transaction and prints its states. A refusal is printed, too: the user may have paused the relayer, or
 * changed its policy, and the service goes on.
 */
export const send = Effect.fn("FirstTransaction.send")(function* (
  api: Api,
  network: DevelopmentNetwork,
  relayer: string
) {
  const id = relayerId(network)
  yield* Console.log(`\nSends ${network.effect} from the relayer ${id}:`)
  const { data, refusal } = yield* api.call("POST", `/relayers/${id}/transactions`, network.transaction(relayer))
  if (refusal !== undefined) return yield* Console.log(`  It is refused: ${refusal}`)
  const sent = yield* Effect.orDie(Schema.decodeUnknownEffect(Sent)(data))
  return yield* follow(api, sent.id)
})
