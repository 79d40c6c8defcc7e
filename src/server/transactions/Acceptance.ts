// Checks what a caller wants to send, and stores it. Nothing is signed or sent here.
import { Array as Arr, DateTime, Effect, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import { units } from "../../domain/chain/Amount.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import type { FeeLimitExceeded } from "../../domain/transaction/AcceptanceErrors.ts"
import { present } from "../../domain/transaction/Presentation.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"
import { TransactionId } from "../../domain/transaction/TransactionId.ts"
import type { NetworkLimits } from "../../domain/transaction/TransactionLimits.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { FeeLimit, NewTransaction } from "../ledger/NewTransaction.ts"
import type { Admitted, IntakeNetwork, Sender } from "./Intake.ts"
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

/** A key learns nothing about the limit of a key above it, and about what its siblings have used. */
const beyondFees = (
  { keyId, limit, used }: FeeLimitExceeded,
  caller: Caller.Caller,
  { relayer }: Sender
): TransactionLimitExceeded =>
  TransactionLimitExceeded.of({
    field: "fees",
    message:
      keyId === caller.id
        ? `the max_fee_per_day of the API key is ${limit} ${units[relayer.network_type]}, of which ${used} are used`
        : "a key that the API key descends from has a max_fee_per_day, of which too little is left"
  })

/** The bodies of a request, which the network of its relayer reads. */
export interface Reading {
  read(network: IntakeNetwork): Effect.Effect<ReadonlyArray<unknown>, BadRequest>
  /** Path of the body with this index, such as `transactions.0.`. */
  pathOf(index: number): string
}

export const make = Effect.fnUntraced(function* (senders: Senders) {
  const ledger = yield* Ledger
  const keys = yield* ApiKeys
  const random = yield* SecureRandom.SecureRandom

  /** `limits`: of the caller's key. Without them, no key that it descends from has any. */
  const feeLimitsOf = (caller: Caller.Caller, { relayer }: Sender, limits: NetworkLimits | undefined) =>
    limits === undefined ? Effect.succeed([]) : keys.feeLimits(caller.id, relayer.network_type)

  /** Accepts all or none. */
  return Effect.fnUntraced(function* (relayerId: RelayerId, { read, pathOf }: Reading) {
    const caller = yield* Caller.current
    const { sender, limits, ...network } = yield* senders.getLimited(relayerId)
    const { intake } = network
    const bodies = yield* read(network)
    if (!Arr.isReadonlyArrayNonEmpty(bodies)) return []
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const admitted = yield* Effect.forEach(bodies, (body, index) =>
      intake.admit(body, sender, { now, limits, prefix: pathOf(index) })
    )
    const feeLimits = yield* feeLimitsOf(caller, sender, limits)
    const prepared = yield* Effect.forEach(admitted, (one) =>
      Effect.map(random.uuidV7(), (id) => newTransaction(TransactionId.make(id), one, intake.rules, feeLimits))
    )
    const accepted = yield* ledger
      .accept(sender.account, prepared, feeLimits)
      .pipe(Effect.catchTag("FeeLimitExceeded", (exceeded) => Effect.fail(beyondFees(exceeded, caller, sender))))
    return Arr.map(accepted, ({ stored }) => stored)
  })
})
