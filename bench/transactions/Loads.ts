// The loads that any network can have.
import { Effect } from "effect"
import { measure, sendOne } from "./Sending.ts"
import type { Group, Sender } from "./World.ts"

/** Requests of a burst in flight. */
const concurrency = 64

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

/** `each` requests per relayer, as fast as the service accepts them. */
export const bursts = (sender: Sender, relayers: Group["relayers"], each: number) => {
  const order = times(each).flatMap(() => relayers)
  return Effect.forEach(order, (relayer) => sendOne(sender, relayer), { concurrency })
}

/** All at once, until they are confirmed. */
export const burst = (sender: Sender, group: Group, lanes: number, each: number) =>
  measure(sender, bursts(sender, group.relayers.slice(0, lanes), each), group)

/** Longer than the interval of polls: no step about the former transaction is left. */
const idle = "2500 millis"

/** One after the other, each from an idle relayer. The pause moves the request along the block. */
export const single = (sender: Sender, group: Group, count: number) =>
  measure(
    sender,
    Effect.forEach(times(count), (index) =>
      Effect.gen(function* () {
        yield* Effect.sleep(idle)
        yield* Effect.sleep((index * 1000 * sender.blockTime) / count)
        const [relayer] = group.relayers
        const sent = yield* relayer === undefined ? Effect.die(new Error("no relayer")) : sendOne(sender, relayer)
        yield* sender.confirmations.all([sent.id])
        return sent
      })
    ),
    group
  )

/** Transactions per second of a busy customer. */
export const steadyRate = 50

/** At an even rate, whatever the service does. */
export const steady = (sender: Sender, group: Group, lanes: number, perSecond: number, seconds: number) => {
  const used = group.relayers.slice(0, lanes)
  const order = times(Math.ceil((perSecond * seconds) / lanes)).flatMap(() => used)
  return measure(
    sender,
    Effect.forEach(order, (relayer, index) => Effect.delay(sendOne(sender, relayer), (index * 1000) / perSecond), {
      concurrency: "unbounded"
    }),
    group
  )
}
