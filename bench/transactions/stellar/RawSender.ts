// The contender: envelopes that were signed before go to the stand-in ledger directly, one per account, with as many requests in flight as
// it serves well. No service is faster than this.
import { Effect } from "effect"
import { envelope, payment } from "../../../testkit/stellar/Building.ts"
import * as Machine from "../../harness/Machine.ts"
import { NotConfirmed } from "../Confirmations.ts"
import * as Http from "../Http.ts"
import { receiver } from "./World.ts"
import type { StellarWorld } from "./World.ts"

const inFlight = 8

const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })

/** The ledger of a transaction. Undefined: no ledger has it yet. */
const ledgerOf = (text: string): number | undefined => {
  const { result } = JSON.parse(text)
  return result.status === "NOT_FOUND" ? undefined : result.ledger
}

/** Transactions per second that the stand-in accepts, and until the ledger of the last one is closed. */
export const run = Effect.fnUntraced(function* (world: StellarWorld, count: number) {
  const { passphrase: network, url } = world.standIn
  const { keys, sequence } = yield* world.users(count)
  const signed = keys.map((key) => envelope(key, [payment(receiver, 1n)], { sequence, network }))
  const { origin, pathname } = new URL(url)
  const client = yield* Http.make(origin, inFlight)
  const post = (method: string, params: object) => client.post(pathname, rpc(method, params))
  const start = Machine.now()
  const hashes = yield* Effect.forEach(
    signed,
    (transaction) => Effect.map(post("sendTransaction", { transaction }), (text) => JSON.parse(text).result),
    { concurrency: inFlight }
  )
  const accepted = Machine.now()
  const other = hashes.find(({ status }) => status !== "PENDING")
  if (other !== undefined) return yield* new NotConfirmed({ message: `the stand-in answers ${JSON.stringify(other)}` })
  const ledger = yield* post("getTransaction", { hash: hashes.at(-1)?.hash }).pipe(
    Effect.map(ledgerOf),
    Effect.tap((found) => (found === undefined ? Effect.sleep("20 millis") : Effect.void)),
    Effect.repeat({ until: (found) => found !== undefined })
  )
  const confirmed = world.heads.arrivalOf(ledger ?? 0) ?? accepted
  return {
    acceptedPerSecond: (count * 1000) / (accepted - start),
    perSecond: (count * 1000) / (confirmed - start)
  }
}, Effect.scoped)
