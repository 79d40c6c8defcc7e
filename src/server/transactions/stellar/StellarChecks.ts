// Checks of requests without the chain, for sends, replacements and simulations: fields, the guard, and the limits of the API key.
import { DateTime, Effect, Result } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { deadlineOf, violationsOf } from "../../../domain/transaction/stellar/Admission.ts"
import { inconsistenciesOf } from "../../../domain/transaction/stellar/Consistency.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { guard, outerFeeOf } from "../../../domain/transaction/stellar/Guard.ts"
import type { Mode } from "../../../domain/transaction/stellar/Guard.ts"
import type { Terms } from "../../../domain/transaction/stellar/GuardRules.ts"
import { exceeded } from "../../../domain/transaction/stellar/KeyLimits.ts"
import { violationOf } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type {
  ReplaceStellarTransaction,
  SendStellarTransaction
} from "../../../domain/transaction/stellar/SendStellarTransaction.ts"
import { momentOf } from "../../../domain/transaction/stellar/Stellar.ts"
import type { Guest, StellarRequest, StellarTarget } from "../../../domain/transaction/stellar/Stellar.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import { TransactionLimitExceeded } from "../../../domain/transaction/TransactionLimits.ts"
import { draftOf } from "../../chains/stellar/StellarDrafts.ts"
import { decode } from "../../chains/stellar/StellarDecoding.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import type * as OwnAccounts from "../../lanes/stellar/OwnAccounts.ts"

interface CheckContext {
  readonly now: Moment
  readonly prefix: string
}

interface Allowance extends CheckContext {
  readonly limits: NetworkLimits | undefined
}

/** A send, or a replacement, which has less. */
type Body = SendStellarTransaction | ReplaceStellarTransaction

const requestOf = (body: Body): StellarRequest => ({
  ...present("operations", body.operations),
  ...present("memo", body.memo),
  ...present("transaction_xdr", body.transaction_xdr),
  ...present("signed_auth_entry", body.signed_auth_entry),
  ...present("max_fee", body.max_fee),
  ...present("restore_footprint", body.restore_footprint),
  ...present("wait_for_funds", body.wait_for_funds)
})

const modeOf = ({ fee_bump, transaction_xdr }: Body): Mode =>
  fee_bump === true ? "bump" : transaction_xdr === undefined ? "operations" : "unsigned"

export const fieldOf = ({ transaction_xdr }: Pick<Body, "transaction_xdr">): string =>
  transaction_xdr === undefined ? "operations" : "transaction_xdr"

export const badRequest = (violations: ReadonlyArray<Violation>, prefix: string) =>
  BadRequest.of(violations.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))

/** The service has not built the envelope: it keeps no build that the entry could belong to. */
const notBuilt: Violation = {
  field: "transaction_xdr",
  message: "not_built_here: signed_auth_entry is only accepted for an envelope that this service has built"
}

/** What is known before the envelope is read. */
const early = (body: Body, { network, relayer }: StellarTarget, now: Moment): ReadonlyArray<Violation> => {
  const { address, policies: policy = {} } = relayer
  const found = [
    ...inconsistenciesOf(body),
    ...violationsOf(body, { now, relayer: address, network: network.name, policy })
  ]
  if (found.length > 0) return found
  return body.signed_auth_entry === undefined ? [] : [notBuilt]
}

/** The fields that name the source and the deadline of an envelope agree with it. */
const mismatch = (body: Body, mode: Mode, { source, timeBounds }: TransactionEnvelope): Violation | undefined => {
  const { source_account, valid_until } = body
  if (source_account !== undefined && source_account !== source.address) {
    return { field: "source_account", message: "must be the source of the envelope" }
  }
  const isOther =
    mode === "bump" &&
    valid_until !== undefined &&
    BigInt(DateTime.toEpochMillis(valid_until)) !== BigInt(momentOf(timeBounds?.maxTime ?? 0n))
  return isOther ? { field: "valid_until", message: "must be the maxTime of the envelope, or absent" } : undefined
}

const guestOf = ({ hash, sequence, source, timeBounds }: TransactionEnvelope): Guest => ({
  account: source.address,
  sequence,
  innerHash: hash,
  maxTime: Number(timeBounds?.maxTime ?? 0n)
})

export const beyondLimits = (
  envelope: TransactionEnvelope,
  terms: Terms,
  { max_value, receivers }: NetworkLimits
): Refusal | undefined =>
  exceeded(envelope, terms, { ...present("maxValue", max_value), ...present("receivers", receivers) })

/** The request as it is stored: what its call takes is only known when it is signed. */
export const limited = (request: StellarRequest, limits: NetworkLimits | undefined): StellarRequest => ({
  ...request,
  ...present("max_value", limits?.max_value)
})

/** `ownAccounts`: of `OwnAccounts.make`. */
export const make = (ownAccounts: Effect.Success<typeof OwnAccounts.make>) => {
  /** The envelope of a request that the guard allows, as far as it needs no chain. */
  const examine = Effect.fnUntraced(function* (body: Body, target: StellarTarget, { now, prefix }: CheckContext) {
    const violations = early(body, target, now)
    if (violations.length > 0) return yield* badRequest(violations, prefix)
    const refused = (found: Refusal) => badRequest([violationOf(found, fieldOf(body))], prefix)
    const lib = yield* library
    const request = requestOf(body)
    const mode = modeOf(body)
    const own = yield* ownAccounts
    const networkId = networkIdOf(target.network.passphrase)
    const drafted = yield* Effect.result(draftOf(target.relayer.address, request, networkId))
    if (Result.isFailure(drafted)) return yield* refused(drafted.failure)
    const terms = termsOf(lib, { target, own, maxFee: request.max_fee, now })
    const decoded = yield* decode(drafted.success, { networkId, known: own })
    const guarded = Result.flatMap(decoded, (envelope) => guard(mode, envelope, terms))
    if (Result.isFailure(guarded)) return yield* refused(guarded.failure)
    const envelope = guarded.success
    const other = mismatch(body, mode, envelope)
    if (other !== undefined) return yield* badRequest([other], prefix)
    return { request, envelope, terms, own, isGuest: mode === "bump" }
  })

  const check = Effect.fnUntraced(function* (body: Body, target: StellarTarget, { limits, ...asked }: Allowance) {
    const { envelope, isGuest, request, terms } = yield* examine(body, target, asked)
    const beyond = limits === undefined || isGuest ? undefined : beyondLimits(envelope, terms, limits)
    if (beyond !== undefined)
      return yield* TransactionLimitExceeded.of(violationOf(beyond, fieldOf(body)), asked.prefix)
    return {
      request: isGuest ? request : limited(request, limits),
      facts: isGuest ? { guest: guestOf(envelope) } : {},
      validUntil: isGuest ? momentOf(envelope.timeBounds?.maxTime ?? 0n) : deadlineOf(body, asked.now),
      /** Stroops. The fee of an own envelope is decided when it is signed. */
      fee: isGuest ? outerFeeOf(envelope, terms) : 0n
    }
  })

  return { examine, check }
}
