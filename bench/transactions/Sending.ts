// Sends transactions through the service, and measures each one from its request to its `confirmed` event.
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Machine from "../harness/Machine.ts"
import { median } from "../harness/Statistics.ts"
import * as Usage from "./Usage.ts"
import { NotConfirmed } from "./Confirmations.ts"
import type { Relayer, Sender } from "./World.ts"

const Accepted = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

interface Sent {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Sends one transaction of a relayer. `request`: its JSON text, instead of the next one of the network. */
export const sendOne = Effect.fnUntraced(function* ({ body, client }: Sender, relayer: Relayer, request = body()) {
  const at = Machine.now()
  const text = yield* client.post(`/api/v1/relayers/${relayer.id}/transactions`, request)
  const sent: Sent = { id: (yield* Schema.decodeEffect(Accepted)(text)).data.id, at }
  return sent
})

/** Milliseconds. */
interface Latency {
  /** From the request until the first provider has the transaction; medians. */
  readonly toBroadcast: number
  /** From the block that confirms a transaction to the event. */
  readonly toEvent: number
  /** The same, of the last event. */
  readonly lastToEvent: number
}

const firstSends = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ id: string; at: number }>`
    SELECT transaction_id AS id, min(extract(epoch FROM first_sent_at) * 1000)::float8 AS at
    FROM attempts WHERE transaction_id = ANY(${ids}::uuid[]) GROUP BY transaction_id`
  return new Map(rows.map(({ id, at }) => [id, at]))
})

/** `required`: 0 if the block that has a transaction confirms it, 1 if the next one does. */
const latencyOf = Effect.fnUntraced(function* (sender: Sender, all: ReadonlyArray<Sent>, required: number) {
  const { confirmations, heads, installation } = sender
  const sends = yield* firstSends(all.map(({ id }) => id)).pipe(
    Effect.provideService(SqlClient.SqlClient, installation.sql)
  )
  const events = all
    .flatMap(({ id }) => confirmations.seen.get(id) ?? [])
    .map(({ at, block }) => ({ at, ms: at - (heads.confirmationOf(block, required) ?? Number.NaN) }))
  const latency: Latency = {
    toBroadcast: median(all.map(({ id, at }) => (sends.get(id) ?? Number.NaN) - at)),
    toEvent: median(events.map(({ ms }) => ms)),
    lastToEvent: events.toSorted((one, other) => one.at - other.at).at(-1)?.ms ?? Number.NaN
  }
  return latency
})

export interface Measured extends Latency {
  readonly acceptedPerSecond: number
  /** From the first request to the block that has the last transaction. */
  readonly onChainPerSecond: number
  /** From the first request to the last `confirmed` event. */
  readonly perSecond: number
  /** Transactions per block, from the first block that has one to the last. */
  readonly perBlock: number
  readonly usage: Usage.Usage
}

interface Expected {
  /** Those that the network of the relayers requires. */
  readonly confirmations: number
  readonly whenAccepted?: Effect.Effect<void>
  /** Absent: what the requests of the network do. */
  readonly effects?: Effect.Effect<number>
}

/** Runs sends until all are confirmed. Fails if an effect is missing, or happened twice. */
export const measure = Effect.fnUntraced(function* <E, R>(
  sender: Sender,
  sends: Effect.Effect<ReadonlyArray<Sent>, E, R>,
  { confirmations: required, effects = sender.effects, whenAccepted = Effect.void }: Expected
) {
  const { confirmations, heads } = sender
  const effectsBefore = yield* effects
  const before = yield* Usage.read(sender)
  const start = Machine.now()
  const all = yield* sends
  const accepted = Machine.now()
  yield* whenAccepted
  const ids = all.map(({ id }) => id)
  yield* confirmations.all(ids)
  const blocks = ids.map((id) => confirmations.seen.get(id)?.block ?? Number.NaN)
  const onChain = heads.arrivalOf(Math.max(...blocks)) ?? Number.NaN
  const end = Math.max(...ids.map((id) => confirmations.seen.get(id)?.at ?? 0))
  const happened = (yield* effects) - effectsBefore
  if (happened !== all.length) {
    return yield* new NotConfirmed({ message: `${all.length} transactions had ${happened} effects` })
  }
  const measured: Measured = {
    acceptedPerSecond: (all.length * 1000) / (accepted - start),
    onChainPerSecond: (all.length * 1000) / (onChain - start),
    perSecond: (all.length * 1000) / (end - start),
    perBlock: all.length / (Math.max(...blocks) - Math.min(...blocks) + 1),
    ...(yield* latencyOf(sender, all, required)),
    usage: Usage.per(all.length, before, yield* Usage.read(sender))
  }
  return measured
})
