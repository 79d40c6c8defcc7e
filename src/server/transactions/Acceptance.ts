// Checks what a caller wants to send, and stores it. Nothing is signed or sent here.
import { Array as Arr, DateTime, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import { units } from "../../domain/chain/Amount.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { FeeLimitExceeded } from "../../domain/transaction/AcceptanceErrors.ts"
import { deadlineOf } from "../../domain/transaction/evm/Admission.ts"
import { TransactionId } from "../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { givenFees } from "../../domain/transaction/evm/Offer.ts"
import { maxFeeOf } from "../../domain/transaction/evm/Fees.ts"
import type { SendEvmTransaction } from "../../domain/transaction/evm/SendEvmTransaction.ts"
import type { Request } from "../../domain/transaction/evm/Evm.ts"
import type { NetworkLimits } from "../../domain/transaction/TransactionLimits.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { FeeLimit, NewTransaction } from "../ledger/NewTransaction.ts"
import * as Checks from "./Checks.ts"
import type { Sender, Senders } from "./Senders.ts"

/**
 * Wei that the fees of a request can cost, if it gives them. If its gas is estimated or the market decides its price, the
 * fees are counted when it is signed.
 */
const feeOf = (request: Request, { relayer }: Sender): bigint => {
  const given = givenFees(request)
  const price = given === undefined ? relayer.policies?.gas_price_cap : maxFeeOf(given)
  return request.gas_limit === undefined || price === undefined ? 0n : request.gas_limit * price
}

const newTransaction = (
  id: TransactionId,
  body: SendEvmTransaction,
  sender: Sender,
  limits: ReadonlyArray<FeeLimit>,
  now: Moment
): NewTransaction => {
  const request = Checks.requestOf(body)
  const { not_before, nonce, external_id, priority = 0 } = body
  return {
    id,
    request,
    facts: {},
    body: Checks.textOf(body),
    validUntil: deadlineOf(body, now),
    priority,
    ...(not_before === undefined ? {} : { notBefore: DateTime.toEpochMillis(not_before) }),
    ...(nonce === undefined ? {} : { requiredSequence: BigInt(nonce) }),
    ...(external_id === undefined ? {} : { externalId: external_id }),
    ...(limits.length === 0 ? {} : { fee: feeOf(request, sender) })
  }
}

const beyondFees = ({ limit, used }: FeeLimitExceeded, { relayer }: Sender): TransactionLimitExceeded =>
  TransactionLimitExceeded.of({
    field: "fees",
    message: `the max_fee_per_day of the API key is ${limit} ${units[relayer.network_type]}, of which ${used} are used`
  })

export const make = Effect.fnUntraced(function* (senders: Senders) {
  const ledger = yield* Ledger
  const keys = yield* ApiKeys
  const random = yield* SecureRandom.SecureRandom

  /** `limits`: of the caller's key. Without them, no key that it descends from has any. */
  const feeLimitsOf = (caller: Caller.Caller, { relayer }: Sender, limits: NetworkLimits | undefined) =>
    limits === undefined ? Effect.succeed([]) : keys.feeLimits(caller.id, relayer.network_type)

  /** Accepts all or none. `pathOf` returns the path of the request with this index in the body, such as `transactions.0.`. */
  return Effect.fnUntraced(function* (
    relayerId: RelayerId,
    bodies: Arr.NonEmptyReadonlyArray<SendEvmTransaction>,
    pathOf: (index: number) => string
  ) {
    const caller = yield* Caller.current
    const { sender, limits: keyLimits } = yield* senders.getLimited(relayerId)
    yield* Effect.forEach(bodies, (body, index) => Checks.admit(body, sender, keyLimits, pathOf(index)))
    const limits = yield* feeLimitsOf(caller, sender, keyLimits)
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const prepared = yield* Effect.forEach(bodies, (body) =>
      Effect.map(random.uuidV7(), (id) => newTransaction(TransactionId.make(id), body, sender, limits, now))
    )
    const accepted = yield* ledger
      .accept(sender.account, prepared, limits)
      .pipe(Effect.catchTag("FeeLimitExceeded", (exceeded) => Effect.fail(beyondFees(exceeded, sender))))
    return Arr.map(accepted, ({ stored }) => stored)
  })
})
