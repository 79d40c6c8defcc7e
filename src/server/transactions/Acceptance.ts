// Checks what a caller wants to send, and stores it. Nothing is signed or sent here.
import { Array as Arr, DateTime, Effect, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import { present } from "../../domain/transaction/Presentation.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"
import { TransactionId } from "../../domain/transaction/TransactionId.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { FeeLimit, NewTransaction } from "../ledger/NewTransaction.ts"
import type { Admitted, IntakeNetwork } from "./Intake.ts"
import * as KeyFees from "./KeyFees.ts"
import type { Senders } from "./Senders.ts"

const newTransaction = (
  id: TransactionId,
  admitted: Admitted,
  rules: Rules,
  limits: ReadonlyArray<FeeLimit>
): NewTransaction => {
  const { request, facts, text, fee } = admitted
  return {
    id,
    body: text,
    ...Struct.omit(admitted, ["text", "fee"]),
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

export const make = Effect.fnUntraced(function* (senders: Senders) {
  const ledger = yield* Ledger
  const fees = yield* KeyFees.make
  const random = yield* SecureRandom.SecureRandom

  /** Accepts all or none. */
  return Effect.fnUntraced(function* (relayerId: RelayerId, { read, pathOf }: Reading) {
    const { sender, limits, ...network } = yield* senders.getLimited(relayerId)
    const { intake } = network
    const bodies = yield* read(network)
    if (!Arr.isReadonlyArrayNonEmpty(bodies)) return []
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const admitted = yield* Effect.forEach(bodies, (body, index) =>
      intake.admit(body, sender, { now, limits, prefix: pathOf(index) })
    )
    const feeLimits = yield* fees.limitsOf(sender, limits)
    const prepared = yield* Effect.forEach(admitted, (one) =>
      Effect.map(random.uuidV7(), (id) => newTransaction(TransactionId.make(id), one, intake.rules, feeLimits))
    )
    const accepted = yield* ledger
      .accept(sender.account, prepared, feeLimits)
      .pipe(Effect.catchTag("FeeLimitExceeded", (exceeded) => fees.exceeded(exceeded, sender)))
    return Arr.map(accepted, ({ stored }) => stored)
  })
})
