// Programs that pay once, as teams write them: a careful one, and one with each of the mistakes that the scenarios are about.
import { Clock, DateTime, Effect, Schedule } from "effect"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { KnownEventType } from "../../../src/domain/event/Event.ts"
import { EventFeed, Relayers, TestChain, TestRelayer, Transactions } from "../../../src/testkit/index.ts"

export const key = "11".repeat(32)

/** What is paid on each network. */
export const payments = {
  evm: { to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value: 7n },
  solana: { to: "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM", value: 7n },
  stellar: { to: "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN", value: 7n }
} as const
export const payment = payments.evm

/** A relayer with a key that others have as well. */
export const relayer = TestRelayer.make({ id: "payouts", key })

const final: ReadonlySet<string> = new Set(["confirmed", "failed", "canceled", "expired"])

/** Defects of a send are unexpected failures, such as a lost connection: whether it was accepted is not known. */
const retried = <A, E, R>(send: Effect.Effect<A, E, R>) =>
  send.pipe(Effect.sandbox, Effect.retry({ times: 3, schedule: Schedule.spaced("1 second") }), Effect.orDie)

/** Seconds from a send on solana to its deadline, in the scenario of the deadline: the second blockhash is alive at its end. */
const shortValidity = 100

/** The same of every send on stellar, whose default of two minutes is shorter than the faults of the scenarios. */
const longValidity = 1200

interface More {
  readonly external_id?: string
  /** Whether the deadline is the short one. */
  readonly isShort?: boolean
  /** Whether the payment offers more than usual. */
  readonly isUrgent?: boolean
}

/** The body of the payment on the network of the chain. */
const bodyOf = Effect.fnUntraced(function* (id: RelayerId, { isShort = false, isUrgent = false, ...named }: More) {
  const { bodyOf: paying, network } = yield* TestChain
  const { address } = (yield* (yield* Relayers).get(id)).value
  const isStellar = network.type === "stellar"
  const seconds = isShort ? shortValidity : isStellar ? longValidity : undefined
  const end = seconds && DateTime.makeUnsafe((yield* Clock.currentTimeMillis) + seconds * 1000)
  const urgent = isStellar ? { max_fee: 10_000_000n } : { speed: "fastest" as const }
  return {
    ...paying(address, payments[network.type]),
    ...named,
    ...(isUrgent ? urgent : {}),
    ...(end === undefined ? {} : { valid_until: end })
  }
})

const send = Effect.fnUntraced(function* (id: RelayerId, name?: string, isShort = false) {
  const transactions = yield* Transactions
  const body = yield* bodyOf(id, { isShort, ...(name === undefined ? {} : { external_id: name }) })
  return yield* retried(transactions.send(id, body))
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
export const careful = (id: RelayerId, isShort = false) =>
  Effect.gen(function* () {
    const sent = yield* send(id, "order-1", isShort)
    return yield* until(id, sent, whenFinal)
  })

/** The same by events: it books a transaction once, whatever it reads. */
export const carefulReader = (id: RelayerId) =>
  Effect.gen(function* () {
    const { id: wanted } = yield* send(id, "order-1")
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

/** Undefined: it has none yet. */
const nonceOf = (shown: Shown): string | undefined => {
  if ("nonce" in shown) return String(shown.nonce)
  const sequence = "sequence_number" in shown ? String(shown.sequence_number) : "0"
  return sequence === "0" ? undefined : sequence
}

const hasOtherNonce = (one: Shown, other: Shown): boolean => {
  const [nonce, former] = [nonceOf(one), nonceOf(other)]
  return nonce !== undefined && former !== undefined && nonce !== former
}

/** Counts what it reads. */
const counting = (id: RelayerId, counted: KnownEventType) =>
  Effect.gen(function* () {
    const { id: wanted } = yield* send(id, "order-1")
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
      const sent = yield* send(id)
      return yield* until(id, sent, whenFinal)
    }),
  /** Takes two minutes without an end for a failure. */
  providerDies: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      return yield* until(id, sent, (shown, reads) => whenFinal(shown) ?? (reads > 24 ? 0 : undefined))
    }),
  /** Takes `mined` for final. */
  providerLies: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      return yield* until(id, sent, (shown) => (shown.status === "mined" ? 1 : whenFinal(shown)))
    }),
  /** Books each `mined` that it reads. */
  reorgOfDepth: (id: RelayerId) => counting(id, "transaction.mined"),
  /** Sends again when another transaction has used its nonce. */
  nonceTakenByForeign: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      const first = yield* until(id, sent, (shown, _, former) => (hasOtherNonce(shown, former) ? 2 : whenFinal(shown)))
      if (first !== 2) return first
      const again = yield* send(id, "order-1-again")
      return yield* until(id, again, whenFinal)
    }),
  /** Sends a second transaction at a higher price when the first one takes a minute. */
  priceSpike: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      const first = yield* until(id, sent, (shown, reads) => whenFinal(shown) ?? (reads > 12 ? 2 : undefined))
      if (first !== 2) return first
      const transactions = yield* Transactions
      const body = yield* bodyOf(id, { isUrgent: true, external_id: "order-1-fast" })
      const faster = yield* retried(transactions.send(id, body))
      return yield* until(id, faster, whenFinal)
    }),
  /** Takes a code for an end. */
  dropped: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      return yield* until(id, sent, (shown) =>
        shown.code === "dropped_by_node" || shown.code === "not_in_pool_rebroadcast" ? 0 : whenFinal(shown)
      )
    }),
  /** Takes each end for success. */
  reverts: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      return yield* until(id, sent, ({ status }) => (final.has(status) ? 1 : undefined))
    }),
  /** Reads its own clock. */
  deadlinePasses: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      const eightHours = (8 * 3600) / 5
      return yield* until(id, sent, (shown, reads) => whenFinal(shown) ?? (reads > eightHours ? 0 : undefined))
    }),
  /** Books each `confirmed` that it reads. */
  eventsTwiceAndLate: (id: RelayerId) => counting(id, "transaction.confirmed")
}

/** Mistakes that only programs on networks can make whose bytes die. */
export const mistakenAboutDeadBytes = {
  ...mistaken,
  /** Takes the payment for lost when its bytes have died, and other ones were signed. */
  dropped: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1")
      return yield* until(id, sent, (shown) =>
        "attempts" in shown && (shown.attempts ?? []).length > 1 ? 0 : whenFinal(shown)
      )
    }),
  /** Reads its own clock. */
  deadlinePasses: (id: RelayerId) =>
    Effect.gen(function* () {
      const sent = yield* send(id, "order-1", true)
      return yield* until(id, sent, (shown, reads) => whenFinal(shown) ?? (reads > shortValidity / 5 ? 0 : undefined))
    })
}
