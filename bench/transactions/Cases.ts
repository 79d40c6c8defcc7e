// The loads of the benchmark of transactions.
import { Effect, Schedule } from "effect"
import { measure, sendOne } from "./Sending.ts"
import type { Group, Sender } from "./World.ts"

/** Requests of a burst in flight. */
const concurrency = 64

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

const bursts = (sender: Sender, relayers: Group["relayers"], each: number) => {
  const order = times(each).flatMap(() => relayers)
  return Effect.forEach(order, (relayer) => sendOne(sender, relayer), { concurrency })
}

/** All at once: as fast as the service accepts them. */
export const burst = (sender: Sender, group: Group, lanes: number, each: number) =>
  measure(sender, bursts(sender, group.relayers.slice(0, lanes), each), group)

/** Longer than the interval of polls: the service has given the lane back. */
const idle = "2500 millis"

/** One after the other, each from an idle relayer. The pause moves the request along the block. */
export const single = (sender: Sender, count: number) =>
  measure(
    sender,
    Effect.forEach(times(count), (index) =>
      Effect.gen(function* () {
        yield* Effect.sleep(idle)
        yield* Effect.sleep((index * 1000) / count)
        const [relayer] = sender.wide.relayers
        const sent = yield* relayer === undefined ? Effect.die(new Error("no relayer")) : sendOne(sender, relayer)
        yield* sender.confirmations.all([sent.id])
        return sent
      })
    ),
    sender.wide
  )

/** At an even rate, whatever the service does. */
export const steady = (sender: Sender, relayers: number, perSecond: number, seconds: number) => {
  const used = sender.wide.relayers.slice(0, relayers)
  const order = times(Math.ceil((perSecond * seconds) / relayers)).flatMap(() => used)
  return measure(
    sender,
    Effect.forEach(order, (relayer, index) => Effect.delay(sendOne(sender, relayer), (index * 1000) / perSecond), {
      concurrency: "unbounded"
    }),
    sender.wide
  )
}

const unsent = ({ installation: { sql } }: Sender) =>
  sql`SELECT 1 FROM transactions WHERE state IN ('pending', 'signed') LIMIT 1`

/** All are in the pool when the next block comes, which has all of them. */
export const drain = (sender: Sender, relayers: number, each: number) => {
  const { node } = sender
  const mine = (seconds: number) => Effect.asVoid(node.call("evm_setIntervalMining", [seconds]))
  const sent = unsent(sender).pipe(
    Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("50 millis") }),
    Effect.orDie
  )
  const { confirmations, relayers: all } = sender.wide
  return measure(sender, Effect.andThen(mine(0), bursts(sender, all.slice(0, relayers), each)), {
    confirmations,
    whenAccepted: Effect.andThen(sent, mine(1))
  })
}
