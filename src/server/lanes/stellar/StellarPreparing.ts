// Answers what a signature needs to know: whether the guard still allows the envelope, what its call costs, and what others pay.
import type { OwnAccounts } from "./OwnAccounts.ts"
import { Effect, Result } from "effect"
import { leftOf, preparationOfWork } from "../../../domain/transaction/stellar/Channels.ts"
import { isSoroban, trustedContracts } from "../../../domain/transaction/stellar/Envelope.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { guard } from "../../../domain/transaction/stellar/Guard.ts"
import type { Mode } from "../../../domain/transaction/stellar/Guard.ts"
import {
  addressesIn,
  administers,
  beyondValue,
  declaredFee,
  expiredAuth,
  hidden,
  notGranted,
  ownChanges,
  subentriesOnChain,
  takenByCall
} from "../../../domain/transaction/stellar/GuardOnChain.ts"
import type { Terms } from "../../../domain/transaction/stellar/GuardRules.ts"
import { sendsOf } from "../../../domain/transaction/stellar/KeyLimits.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Stellar, StellarRequest, StellarTarget } from "../../../domain/transaction/stellar/Stellar.ts"
import type { Preparation } from "../../../domain/transaction/stellar/StellarSeen.ts"
import { usersPay } from "../../../domain/transaction/stellar/StellarTerms.ts"
import * as Calls from "../../chains/stellar/StellarCalls.ts"
import { draftOf } from "../../chains/stellar/StellarDrafts.ts"
import { decodeWith } from "../../chains/stellar/StellarDecoding.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import type { ReadSimulation } from "../../chains/stellar/StellarSimulations.ts"
import type { PriceSource } from "../../prices/PriceSource.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { newestRequest } from "../../../domain/transaction/Transaction.ts"
import type { Lane } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { Inquiry } from "../LaneNetwork.ts"
import { assetsAmong } from "../../chains/stellar/StellarTrustlines.ts"
import { simulateCall } from "./CallSimulation.ts"
import type { Simulation } from "./CallSimulation.ts"
import { providersOf } from "./StellarContext.ts"
import type { StellarContext } from "./StellarContext.ts"
import { verify, verifyForward } from "./StellarPayments.ts"
import type { PaymentFindings } from "./StellarPayments.ts"

/** Which rules of the guard hold for a request. */
export const modeOf = ({ signed_auth_entry, transaction_xdr }: StellarRequest, isGuest: boolean): Mode => {
  if (isGuest) return "bump"
  if (transaction_xdr === undefined) return "operations"
  return signed_auth_entry === undefined ? "unsigned" : "forward"
}

/** Fees of recent ledgers. All transactions that are prepared at one ledger share one reading. Undefined: no provider says. */
const feesOf = Effect.fnUntraced(function* ({ memory }: StellarContext, providers: StellarProviders, urlsKey: string) {
  const ledger = memory.newest?.number ?? 0
  const former = memory.fees.get(urlsKey)
  if (former !== undefined && former.ledger === ledger) return yield* former.fees
  const fees = yield* Effect.cached(
    Effect.map(Effect.result(providers.first((node) => node.call(Calls.feeStats))), (asked) => {
      if (Result.isFailure(asked)) memory.fees.delete(urlsKey)
      return Result.getOrUndefined(asked)
    })
  )
  memory.fees.set(urlsKey, { ledger, fees })
  return yield* fees
})

/** Rules that need the chain, besides the simulation's own failure. */
const brokenOnChain = (
  envelope: TransactionEnvelope,
  terms: Terms,
  read: ReadSimulation | undefined,
  {
    maxValue,
    mode,
    newest,
    subentries
  }: Pick<Preparing, "mode" | "newest" | "subentries"> & { maxValue: bigint | undefined }
): Refusal | undefined => {
  const isGuest = mode === "bump"
  const expired = expiredAuth(envelope, newest)
  if (expired !== undefined) return expired
  if (!isGuest) {
    const entries = subentriesOnChain(envelope, subentries ?? 0, terms)
    if (entries !== undefined) return entries
  }
  if (read === undefined) return undefined
  // The service declares the fee of resources itself only if it builds the envelope.
  const declared = isGuest || mode === "sign" ? declaredFee(envelope, read) : undefined
  if (declared !== undefined) return declared
  const actor = isGuest || mode === "forward" ? undefined : terms.relayer
  return (
    notGranted(envelope, read, terms, isGuest) ??
    administers(envelope, read, terms, isGuest) ??
    ownChanges(read, terms, { actor, maxValue })
  )
}

/**
 * A transaction whose envelope is about to expire ends by its deadline, not by the guard. One of a user whose fee is above the cap, which
 * the policy may have lowered, waits.
 */
const isDecidedLater = ({ code }: Refusal, mode: Mode): boolean =>
  code === "time_bounds_past" || (code === "fee_above_cap" && mode === "bump")

/** What a user pays for the envelope, if the policy or the forwarder has the user pay. */
const paymentOf = (
  mode: Mode,
  paying: Parameters<typeof verify>[0],
  envelope: TransactionEnvelope
): Effect.Effect<PaymentFindings> => {
  if (mode === "forward") return verifyForward(paying, envelope)
  return mode === "bump" && usersPay(paying.target) ? verify(paying, envelope) : Effect.succeed({})
}

const highest = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** What a preparation needs, of a lane or of a request that is simulated. */
interface Preparing {
  /** The account of the relayer. */
  readonly address: string
  readonly request: StellarRequest
  /** `bump`: the envelope is one of another account, for which the relayer pays. */
  readonly mode: Mode
  readonly target: StellarTarget
  readonly ownAccounts: OwnAccounts
  readonly providers: StellarProviders
  readonly prices: PriceSource["Service"]
  /** Undefined: no provider says. */
  readonly fees: Effect.Effect<Calls.Fees | undefined>
  /** The number of the newest ledger. */
  readonly newest: number
  /** How many subentries the account of the relayer has. Undefined: the account was not read. */
  readonly subentries: number | undefined
  readonly now: Moment
}

/** `read`: the simulation of a call, of the provider that was asked first. */
interface Prepared {
  readonly preparation: Preparation
  readonly read?: ReadSimulation
}

/** Rules that need the chain, the cost of a call, and what others pay. */
export const prepared = Effect.fnUntraced(function* ({
  address,
  mode,
  ownAccounts,
  providers,
  request,
  target,
  ...rest
}: Preparing) {
  const lib = yield* library
  const networkId = networkIdOf(target.network.passphrase)
  const text = yield* Effect.orDie(draftOf(address, request, networkId))
  const own = yield* ownAccounts({ text })
  const decoded = decodeWith(lib, text, { networkId, known: own })
  const given = termsOf(lib, { target, own, maxFee: request.max_fee, now: rest.now })
  const isGuest = mode === "bump"
  const guarded = Result.flatMap(decoded, (envelope) => guard(mode, envelope, given))
  if (Result.isFailure(guarded) && !isDecidedLater(guarded.failure, mode)) {
    return { preparation: { broken: guarded.failure, operations: 0, out: 0n } } satisfies Prepared
  }
  const envelope = Result.isSuccess(guarded) ? guarded.success : Result.getOrThrow(decoded)
  if (envelope.kind !== "transaction") return { preparation: { operations: 0, out: 0n } } satisfies Prepared
  const isCall = envelope.operations.some(isSoroban)
  const call = { address, envelope, isGuest, networkId, ownAccounts, providers, request, text }
  const simulation: Effect.Effect<Simulation> = simulateCall(lib, rest.newest, call)
  const paying = { prices: rest.prices, providers, target }
  const [{ baseFee, baseReserve }, fees, paid, { hiding, view, read }, assetContracts] = yield* Effect.all(
    [
      providers.settings,
      rest.fees,
      paymentOf(mode, paying, envelope),
      isCall ? simulation : Effect.succeed<Simulation>({ view: undefined }),
      assetsAmong(lib, providers, trustedContracts(envelope))
    ],
    { concurrency: "unbounded" }
  )
  const terms = { ...given, assetContracts, baseReserve }
  // The simulation may name accounts that the envelope does not name.
  const addresses = read === undefined ? [] : addressesIn(read)
  const onChain =
    addresses.length === 0 ? terms : { ...terms, own: new Set([...own, ...(yield* ownAccounts({ addresses }))]) }
  // Acceptance has counted the reserve of the public network, and no trust line that a contract makes.
  const isCounted = isGuest || (baseReserve === given.baseReserve && assetContracts.size === 0)
  const beyond = isCounted ? undefined : beyondValue(envelope, terms, request.max_value)
  const onChainRules = { ...rest, mode, maxValue: request.max_value }
  const unshown = read && hiding && hidden(read, onChain)
  const shown = read === undefined || unshown === undefined ? read : { ...read, unshown: [] }
  const preparation: Preparation = {
    operations: envelope.operations.length,
    out: isGuest ? 0n : highest(sendsOf(envelope, terms).value, read === undefined ? 0n : takenByCall(read, onChain)),
    baseFee,
    ...paid,
    ...present("broken", beyond ?? brokenOnChain(envelope, onChain, shown, onChainRules)),
    ...present("unshown", hiding && unshown && { ...hiding, detail: unshown.detail }),
    ...(isGuest ? { inner: { fee: envelope.fee, ...present("resourceFee", envelope.resourceFee) } } : {}),
    ...present("stats", isCall ? fees?.sorobanInclusionFee : fees?.inclusionFee),
    ...present("soroban", view)
  }
  return { preparation, ...present("read", read) } satisfies Prepared
})

/**
 * The preparation of a restore, from the preparation of its call. If the call needs no restore any more, or ends for another
 * reason, the restore is obsolete.
 */
const restoreOf = ({ baseFee, broken, soroban, stats, unshown }: Preparation): Preparation => {
  const asked = { ...present("baseFee", baseFee), ...present("stats", stats), ...present("unshown", unshown) }
  const work = { operations: 1, out: 0n, ...asked }
  if (broken !== undefined || soroban?._tag === "Succeeds" || soroban?._tag === "Fails") {
    return { ...work, isObsolete: true }
  }
  if (soroban?._tag !== "NeedsRestore") return { ...work, ...present("soroban", soroban) }
  const { data, fee } = soroban
  return { ...work, soroban: { _tag: "Succeeds", resourceFee: fee, data, recorded: [] } }
}

export const prepare = Effect.fn("StellarPreparing.prepare")(function* (
  context: StellarContext,
  lane: Lane<Stellar>,
  { row: { transaction, relayer }, seen }: Inquiry<Stellar>,
  now: Moment
) {
  const providers = yield* providersOf(context, relayer)
  const request = newestRequest(transaction)
  if (request.channels !== undefined) {
    const fees = yield* feesOf(context, providers, relayer.urlsKey)
    return preparationOfWork(leftOf(request.channels, lane), yield* providers.settings, fees?.inclusionFee)
  }
  const { preparation } = yield* prepared({
    address: context.address,
    request: request.restore?.call ?? request,
    mode: modeOf(request.restore?.call ?? request, transaction.facts.guest !== undefined),
    target: relayer.target,
    ownAccounts: context.ownAccounts,
    providers,
    prices: context.prices,
    fees: feesOf(context, providers, relayer.urlsKey),
    newest: Math.max(0, ...seen.looks.map((look) => look.newest?.number ?? 0)),
    subentries: seen.looks.find(({ payer }) => payer !== undefined && payer !== null)?.payer?.subentries,
    now
  })
  return request.restore === undefined ? preparation : restoreOf(preparation)
})
