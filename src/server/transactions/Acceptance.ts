// Checks what a caller wants to send, and stores it. Nothing is signed or sent here.
import { Array as Arr, DateTime, Effect, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { NotImplemented } from "../../domain/request/Request.ts"
import type { RelayerPaused } from "../../domain/transaction/AcceptanceErrors.ts"
import { TransactionConflict } from "../../domain/transaction/Cancellation.ts"
import { present } from "../../domain/transaction/Presentation.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"
import { TransactionId } from "../../domain/transaction/TransactionId.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { FeeLimit, NewTransaction } from "../ledger/NewTransaction.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import type { Admitted, IntakeNetwork } from "./Intake.ts"
import * as KeyFees from "./KeyFees.ts"
import { mayRead } from "./OwnTransactions.ts"
import type { Senders } from "./Senders.ts"

/** Why a transaction is not accepted. */
export type Refusal =
  | RelayerNotFound
  | NotImplemented
  | BadRequest
  | RelayerPaused
  | TransactionLimitExceeded
  | TransactionConflict
  | TooManyRequests

const newTransaction = (
  id: TransactionId,
  body: string,
  admitted: Admitted,
  rules: Rules,
  limits: ReadonlyArray<FeeLimit>
): NewTransaction => {
  const { request, facts, fee } = admitted
  return {
    id,
    body,
    ...Struct.omit(admitted, ["fee"]),
    ...present("identity", rules.identityOf(request, facts)),
    ...present("exclusive", rules.exclusiveOf(request, facts)),
    ...(limits.length === 0 ? {} : { fee })
  }
}

/** The bodies of a request, which the network of its relayer reads. */
export interface Reading {
  read(network: IntakeNetwork): Effect.Effect<ReadonlyArray<unknown>, BadRequest>
  /** Path of the body with this index, such as `transactions.0.`. */
  pathOf(index: number): string
}

/** By the index of the body. Undefined, or beyond the end: it was not accepted before. */
type Repeats = ReadonlyArray<StoredTransaction | undefined>

/** The refusal of a batch names those of its transactions that were accepted before: they are not refused. */
const besides = (refusal: Refusal, known: Repeats, { pathOf }: Reading): Refusal => {
  const accepted = known.flatMap((stored, index) =>
    stored === undefined ? [] : `${pathOf(index).slice(0, -1)} was accepted before as transaction ${stored.id}`
  )
  const after = (why: string) => [why, ...accepted].join("; ")
  switch (refusal._tag) {
    case "BadRequest":
      return new BadRequest({ error: after(refusal.message) })
    case "TransactionLimitExceeded":
      return new TransactionLimitExceeded({ error: after(refusal.error) })
    case "TransactionConflict":
      return new TransactionConflict({ error: after(refusal.error) })
    case "RelayerPaused":
      return new TransactionConflict({ error: after(refusal.message) })
    default:
      return refusal
  }
}

export const make = Effect.fnUntraced(function* (senders: Senders) {
  const ledger = yield* Ledger
  const fees = yield* KeyFees.make
  const random = yield* SecureRandom.SecureRandom

  /** Accepts all bodies that are not known, or none. Returns known transactions as they are. */
  const acceptNew = Effect.fnUntraced(function* (relayerId: RelayerId, { read, pathOf }: Reading, known: Repeats) {
    const { sender, limits, ...network } = yield* senders.getLimited(relayerId)
    const { intake, textOf } = network
    const bodies = Arr.map(yield* read(network), (body, index) => ({ body, index }))
    if (!Arr.isReadonlyArrayNonEmpty(bodies)) return []
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const admitted = yield* Effect.forEach(
      bodies.filter(({ index }) => known[index] === undefined),
      ({ body, index }) =>
        Effect.map(intake.admit(body, sender, { now, limits, prefix: pathOf(index) }), (one) => ({ one, body }))
    )
    if (!Arr.isReadonlyArrayNonEmpty(admitted)) return []
    const feeLimits = yield* fees.limitsOf(sender, limits)
    const prepared = yield* Effect.forEach(admitted, ({ one, body }) =>
      Effect.map(random.uuidV7(), (id) =>
        newTransaction(TransactionId.make(id), textOf(body), one, intake.rules, feeLimits)
      )
    )
    const accepted = yield* ledger
      .accept(sender.account, prepared, feeLimits)
      .pipe(Effect.catchTag("FeeLimitExceeded", (exceeded) => fees.exceeded(exceeded, sender)))
    const fresh = accepted.values()
    return Arr.map(bodies, ({ index }) => {
      const stored = known[index] ?? fresh.next().value?.stored
      if (stored === undefined) throw new Error("the ledger has accepted fewer transactions than it was given")
      return stored
    })
  })

  /** What was accepted before, as far as the caller may read it: with `transactions:read`, or because it has sent it. */
  const repeatedOf = Effect.fnUntraced(function* (relayerId: RelayerId, { read }: Reading) {
    const { sender, ...network } = yield* senders.get(relayerId)
    const bodies = yield* read(network)
    const named = yield* Effect.forEach(bodies, (body) =>
      Effect.map(network.intake.namesOf(body, sender.target), (names) => ({ ...names, body: network.textOf(body) }))
    )
    const caller = yield* Caller.current
    const found = yield* ledger.repeated(sender.account, named)
    return found.map((stored) => (stored !== undefined && mayRead(caller, stored) ? stored : undefined))
  })

  /**
   * Accepts all or none. Transactions that were accepted before are returned, whatever keeps them from being accepted now: a
   * caller that repeats a request because it got no response must not read that it was refused. They are only looked up after
   * a refusal, so that the lookup costs other requests nothing, and finds what was committed until then.
   */
  return (relayerId: RelayerId, reading: Reading) =>
    Effect.catch(acceptNew(relayerId, reading, []), (refusal: Refusal) =>
      Effect.gen(function* () {
        const known = yield* repeatedOf(relayerId, reading).pipe(
          Effect.catchTags({
            RelayerNotFound: () => Effect.fail(refusal),
            NotImplemented: () => Effect.fail(refusal),
            BadRequest: () => Effect.fail(refusal)
          })
        )
        const accepted = known.filter((stored) => stored !== undefined)
        if (!Arr.isReadonlyArrayNonEmpty(accepted)) return yield* refusal
        if (accepted.length === known.length) return accepted
        return yield* Effect.mapError(acceptNew(relayerId, reading, known), (other) => besides(other, known, reading))
      })
    )
})
