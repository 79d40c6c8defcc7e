// How soon a replacement and a cancel of a transaction that a node has reach the node.
import { Effect, Schedule } from "effect"
import type { AttemptKind } from "../../../src/networks/core/Transaction.ts"
import * as Installation from "../../harness/Installation.ts"
import * as Machine from "../../harness/Machine.ts"
import { median } from "../../harness/Statistics.ts"
import * as Http from "../Http.ts"
import { sendOne } from "../Sending.ts"
import type { Relayer, Sender } from "../World.ts"
import type { EvmWorld } from "./World.ts"

/** Medians, in milliseconds. */
interface Commanded {
  /** From the PUT until a node has the new version. */
  readonly toReplace: number
  /** From the DELETE until a node has the no-op. */
  readonly toCancel: number
}

const often = Schedule.spaced("10 millis")

/** When a node had the first attempt of this kind, in milliseconds since 1970. */
const sentAt = Effect.fnUntraced(function* ({ installation: { sql } }: Sender, id: string, kind: AttemptKind) {
  const [row] = yield* sql<{ at: number }>`
    SELECT (extract(epoch FROM first_sent_at) * 1000)::float8 AS at FROM attempts
    WHERE transaction_id = ${id}::uuid AND kind = ${kind} AND first_sent_at IS NOT NULL LIMIT 1`.pipe(
    Effect.repeat({ until: (rows) => rows.length > 0, schedule: often }),
    Effect.orDie
  )
  return row?.at ?? Number.NaN
})

const settled = ({ installation: { sql } }: Sender) =>
  sql`SELECT 1 FROM transactions WHERE final_at IS NULL LIMIT 1`.pipe(
    Effect.repeat({ until: (rows) => rows.length === 0, schedule: often }),
    Effect.orDie
  )

/** One transaction that is replaced and canceled. `client`: of the instance that gets both requests. */
const commandOne = Effect.fnUntraced(function* (sender: Sender, client: Http.Http, relayer: Relayer, pause: number) {
  const { id } = yield* sendOne(sender, relayer)
  yield* sentAt(sender, id, "original")
  const path = `/api/v1/relayers/${relayer.id}/transactions/${id}`
  // The moment between two polls is another one for each transaction.
  yield* Effect.sleep(pause)
  const replacedAt = Machine.now()
  yield* client.put(path, sender.body())
  const toReplace = (yield* sentAt(sender, id, "replace")) - replacedAt
  yield* Effect.sleep(pause)
  const canceledAt = Machine.now()
  yield* client.delete(path)
  return { toReplace, toCancel: (yield* sentAt(sender, id, "noop")) - canceledAt }
})

/** Blocks stand still, so that no transaction is mined before its commands. Every second one is given to the other instance. */
export const commands = Effect.fnUntraced(function* (sender: Sender<EvmWorld>, count: number) {
  const { client, installation, node, wide } = sender
  const other = yield* Http.make(installation.service.url, 1, Installation.key)
  const mine = (seconds: number) => node.call("evm_setIntervalMining", [seconds])
  yield* mine(0)
  const found = yield* Effect.forEach(Array.from({ length: count }), (_, index) => {
    const relayer = wide.relayers[index % wide.relayers.length]
    const instance = index % 2 === 0 ? client : other
    return relayer === undefined
      ? Effect.die(new Error("no relayer"))
      : commandOne(sender, instance, relayer, (index * 1000) / count)
  }).pipe(Effect.ensuring(Effect.ignore(mine(1))))
  yield* settled(sender)
  const commanded: Commanded = {
    toReplace: median(found.map(({ toReplace }) => toReplace)),
    toCancel: median(found.map(({ toCancel }) => toCancel))
  }
  return commanded
}, Effect.scoped)
