// Programs that pay once, as teams write them: a careful one, and one with each of the mistakes that the scenarios are about.
import { Effect, Schedule } from "effect"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { KnownEventType } from "../../../src/domain/event/Event.ts"
import { EventFeed, TestRelayer, Transactions } from "../../../src/testkit/index.ts"

export const key = "11".repeat(32)
export const payment = { to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value: 7n } as const

/** A relayer with a key that others have as well. */
export const relayer = TestRelayer.make({ id: "payouts", key })

const final: ReadonlySet<string> = new Set(["confirmed", "failed", "canceled", "expired"])

/** Defects of a send are unexpected failures, such as a lost connection: whether it was accepted is not known. */
const retried = <A, E, R>(send: Effect.Effect<A, E, R>) =>
  send.pipe(Effect.sandbox, Effect.retry({ times: 3, schedule: Schedule.spaced("1 second") }), Effect.orDie)

const send = Effect.fnUntraced(function* (id: RelayerId, name?: string) {
  const transactions = yield* Transactions
  return yield* transactions.send(id, { ...payment, ...(name === undefined ? {} : { external_id: name }) })
})

const statusOf = Effect.fnUntraced(function* (id: RelayerId, transaction: Effect.Success<ReturnType<typeof send>>) {
  return yield* (yield* Transactions).get(id, transaction.id)
})

type Shown = Effect.Success<ReturnType<typeof statusOf>>

/** Reads the transaction every five seconds, until `isEnough` says what the program believes. */
const until = Effect.fnUntraced(function* (
  id: RelayerId,
  sent: Shown,
  isEnough: (shown: Shown, reads: number, former: Shown) => number | undefined
) {
  let former = sent
  for (let reads = 1; ; reads++) {
    const shown = yield* statusOf(id, sent)
    const booked = isEnough(shown, reads, former)
    if (booked !== undefined) return booked
    former = shown
    yield* Effect.sleep("5 seconds")
  }
})

const whenFinal = ({ status }: Shown): number | undefined =>
  final.has(status) ? (status === "confirmed" ? 1 : 0) : undefined

/** Names its payment, repeats a send whose answer it did not see, and waits until the transaction is final. */
export const careful = (id: RelayerId) =>
  Effect.gen(function* () {
    const sent = yield* retried(send(id, "order-1"))
    return yield* until(id, sent, whenFinal)
  })

/** The same by events: it books a transaction once, whatever it reads. */
export const carefulReader = (id: RelayerId) =>
  Effect.gen(function* () {
    const { id: wanted } = yield* retried(send(id, "order-1"))
    const booked = new Set<string>()
    for (let after = 0; ;) {
      const { items } = yield* (yield* EventFeed).list({ relayer_id: id, after, wait: 20 })
      for (const { type, resource_id } of items) if (type === "transaction.confirmed") booked.add(resource_id)
      const ended = items.some((event) => event.resource_id === wanted && endings.has(event.type))
      if (ended) return booked.size
      after = items.at(-1)?.id ?? after
    }
  })

const endings: ReadonlySet<string> = new Set<KnownEventType>([
  "transaction.confirmed",
  "transaction.failed",
  "transaction.canceled",
  "transaction.expired"
])

const hasOtherNonce = (one: Shown, other: Shown): boolean =>
  "nonce" in one && "nonce" in other && one.nonce !== other.nonce

/** Counts what it reads. */
const counting = (id: RelayerId, counted: KnownEventType) =>
  Effect.gen(function* () {
    const { id: wanted } = yield* retried(send(id, "order-1"))
    let booked = 0
    for (let after = 0; ;) {
      const { items } = yield* (yield* EventFeed).list({ relayer_id: id, after, wait: 20 })
      booked += items.filter(({ type }) => type === counted).length
      if (items.some((event) => event.resource_id === wanted && endings.has(event.type))) return booked
      after = items.at(-1)?.id ?? after
    }
  })

/** One program for each mistake, by the scenario that fails it. */
export const mistaken = {
  /** Sends again without a name. */
  answerLost: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id))
      return yield* until(id, sent, whenFinal)
    }),
  /** Takes two minutes without an end for a failure. */
  providerDies: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id, "order-1"))
      return yield* until(id, sent, (shown, reads) => whenFinal(shown) ?? (reads > 24 ? 0 : undefined))
    }),
  /** Takes `mined` for final. */
  providerLies: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id, "order-1"))
      return yield* until(id, sent, (shown) => (shown.status === "mined" ? 1 : whenFinal(shown)))
    }),
  /** Books each `mined` that it reads. */
  reorgOfDepth: (id: RelayerId) => counting(id, "transaction.mined"),
  /** Sends again when another transaction has used its nonce. */
  nonceTakenByForeign: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id, "order-1"))
      const first = yield* until(id, sent, (shown, _, former) => (hasOtherNonce(shown, former) ? 2 : whenFinal(shown)))
      if (first !== 2) return first
      const again = yield* retried(send(id, "order-1-again"))
      return yield* until(id, again, whenFinal)
    }),
  /** Sends a second transaction at a higher price when the first one takes a minute. */
  priceSpike: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id, "order-1"))
      const first = yield* until(id, sent, (shown, reads) =>
        reads > 12 && shown.status === "submitted" ? 2 : whenFinal(shown)
      )
      if (first !== 2) return first
      const transactions = yield* Transactions
      const faster = yield* retried(
        transactions.send(id, { ...payment, speed: "fastest", external_id: "order-1-fast" })
      )
      return yield* until(id, faster, whenFinal)
    }),
  /** Takes a code for an end. */
  dropped: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id, "order-1"))
      return yield* until(id, sent, (shown) =>
        shown.code === "dropped_by_node" || shown.code === "not_in_pool_rebroadcast" ? 0 : whenFinal(shown)
      )
    }),
  /** Takes each end for success. */
  reverts: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id, "order-1"))
      return yield* until(id, sent, ({ status }) => (final.has(status) ? 1 : undefined))
    }),
  /** Reads its own clock. */
  deadlinePasses: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* retried(send(id, "order-1"))
      const eightHours = (8 * 3600) / 5
      return yield* until(id, sent, (shown, reads) => whenFinal(shown) ?? (reads > eightHours ? 0 : undefined))
    }),
  /** Books each `confirmed` that it reads. */
  eventsTwiceAndLate: (id: RelayerId) => counting(id, "transaction.confirmed")
}
