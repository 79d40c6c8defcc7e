// What became of accepted transactions: all are final, each effect is on the chain once, and nonces have no holes.
import { Effect } from "effect"
import type { Duration } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import type { Tally } from "../Case.ts"
import * as Counter from "./Counter.ts"
import type { Accepted, Load } from "./Load.ts"
import type { Node } from "./Node.ts"
import type { Relayer } from "./Relayers.ts"

export interface Shown {
  readonly id: string
  readonly relayer_id: string
  readonly network_type: string
  readonly status: string
  readonly code?: string
  readonly nonce?: number
  /** Of evm. Absent: it is public. */
  readonly route?: "private" | "fell_back"
  readonly confirmed_by?: number
  /** Of stellar: the account of the envelope, if it is a channel. */
  readonly channel_account?: string
  readonly attempts?: ReadonlyArray<{
    readonly kind: string
    readonly max_fee_per_gas?: string
    /** Of stellar: stroops. */
    readonly max_fee?: string
    /** Of solana. */
    readonly blockhash?: string
  }>
}

interface Reads {
  readonly call: (path: string) => Effect.Effect<{ readonly status: number; readonly text: string }>
}

const data = <A>(text: string): A => (JSON.parse(text) as { readonly data: A }).data

const open = ["pending", "sent", "submitted", "mined"].map((status) => `status=${status}`).join("&")

/** Open transactions of all relayers: the newest 1,000. */
export const openIn = (service: Reads) =>
  Effect.map(service.call(`/api/v1/transactions?per_page=1000&${open}`), ({ status, text }) =>
    status === 200 ? data<ReadonlyArray<Shown>>(text) : undefined
  )

export const shown = (service: Reads, { relayer, id }: Pick<Accepted, "relayer" | "id">) =>
  Effect.map(service.call(`/api/v1/relayers/${relayer.id}/transactions/${id}`), ({ text }) => data<Shown>(text))

/** How many transactions have each code, and the newest of each. */
const codes = (rows: ReadonlyArray<Shown>): string =>
  [...Map.groupBy(rows, ({ status, code }) => `${status} ${code}`)]
    .map(([code, some]) => `${some.length} ${code}: ${JSON.stringify(some[0])}`)
    .join("\n")

/** Why transactions are still open. Solana has no nonces. */
const explain = Effect.fnUntraced(function* (service: Reads) {
  const rows = (yield* openIn(service)) ?? []
  const ids = new Set(rows.flatMap(({ network_type, relayer_id: id }) => (network_type === "solana" ? [] : [id])))
  const nonces = yield* Effect.forEach(ids, (id) => service.call(`/api/v1/relayers/${id}/nonce`))
  return [codes(rows), ...nonces.map(({ text }) => text)].join("\n")
})

/** Waits until no transaction is open. */
export const settled = (service: Reads, patience: Duration.Input = "3 minutes") =>
  until(
    "the end of all transactions",
    Effect.map(openIn(service), (rows) => (rows?.length === 0 ? true : undefined)),
    patience
  ).pipe(
    Effect.catchDefect((defect) =>
      Effect.flatMap(explain(service), (why) => Effect.die(new Error(`${String(defect)}\n${why}`)))
    )
  )

/** Each slot was counted `times`. */
export const checkEffects = Effect.fnUntraced(function* (
  tally: Tally,
  node: Node,
  sent: ReadonlyArray<Accepted>,
  times = 1
) {
  const slots = sent.map(({ slot }) => slot)
  const counts = yield* Counter.read(node, slots)
  const wrong = slots.filter((_, index) => counts[index] !== times)
  tally.expect(
    wrong.length === 0,
    `each effect happens ${times} times: ${wrong.length} do not, such as that of slot ${wrong[0]}`
  )
})

/** The nonces of a relayer's transactions are 0, 1, 2, … up to the count of its account. */
const checkNonces = Effect.fnUntraced(function* (
  tally: Tally,
  node: Node,
  relayer: Relayer,
  rows: ReadonlyArray<Shown>
) {
  const count = Number(yield* node.call("eth_getTransactionCount", [relayer.address, "latest"]))
  const nonces = rows.map(({ nonce = -1 }) => nonce).toSorted((one, other) => one - other)
  const hole = nonces.findIndex((nonce, index) => nonce !== index)
  tally.expect(hole === -1, `nonces have no holes: ${hole} is ${nonces[hole]}`)
  tally.expect(count === nonces.length, `the account has ${nonces.length} transactions: ${count}`)
})

/** Checks all that a load has sent, when all of it is final. */
export const check = Effect.fnUntraced(function* (
  tally: Tally,
  node: Node,
  service: Reads,
  relayers: ReadonlyArray<Relayer>,
  { accepted, refused, repeated }: Load
) {
  yield* settled(service)
  const rows = yield* Effect.forEach(accepted, (one) => shown(service, one), { concurrency: 4 })
  tally.set("accepted", accepted.length)
  tally.set("sent again by the caller", repeated)
  tally.set(
    "attempts",
    rows.reduce((sum, { attempts = [] }) => sum + attempts.length, 0)
  )
  tally.expect(refused.length === 0, `every request is accepted: ${refused[0]}`)
  const other = rows.filter(({ status }) => status !== "confirmed")
  tally.expect(other.length === 0, `all are confirmed: ${other.length} are not, such as ${JSON.stringify(other[0])}`)
  yield* checkEffects(tally, node, accepted)
  for (const relayer of relayers) {
    yield* checkNonces(
      tally,
      node,
      relayer,
      rows.filter((_, index) => accepted[index]?.relayer === relayer)
    )
  }
  return rows
})
