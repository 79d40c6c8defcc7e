// Answers what a signature needs to know: whether the guard still allows the envelope, what its call costs, and what users pay.
import { Effect, Result } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import { rpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { Inquiry } from "../../../server/lanes/LaneNetwork.ts"
import type { PriceSource } from "../../../server/prices/PriceSource.ts"
import { present } from "../../core/Presentation.ts"
import { newestRequest } from "../../core/Transaction.ts"
import type { Lane } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import * as Calls from "../chain/StellarCalls.ts"
import { simulatedIn } from "../chain/StellarCalls.ts"
import type { ReadSimulation } from "../chain/StellarCalls.ts"
import { decodeWith, entryValidUntil, termsOf } from "../chain/StellarDecoding.ts"
import { draftOf } from "../chain/StellarDrafts.ts"
import { library, networkIdOf } from "../chain/StellarLibrary.ts"
import type { Library } from "../chain/StellarLibrary.ts"
import { assetsAmong, paidAccounts } from "../chain/StellarLooks.ts"
import type { StellarProviders } from "../chain/StellarNodes.ts"
import { isSoroban, refusal, sendsOf, trustedContracts } from "../rules/Envelope.ts"
import type { GuardTerms, Refusal, TransactionEnvelope } from "../rules/Envelope.ts"
import {
  addressesIn,
  administers,
  beyondValue,
  declaredFee,
  expiredAuth,
  guard,
  hiddenChange,
  notGranted,
  ownChanges,
  subentriesOnChain,
  takenByCall
} from "../rules/Guard.ts"
import type { GuardMode } from "../rules/Guard.ts"
import { forwardingIn, payerProblem, paymentIn, tokenProblem } from "../rules/SponsoredPayment.ts"
import type { FeeToken } from "../rules/SponsoredPayment.ts"
import type { Stellar, StellarRequest, StellarTarget } from "../rules/Stellar.ts"
import { recordedLedgers } from "../rules/StellarNumbers.ts"
import type { CallLimits } from "../rules/StellarNumbers.ts"
import type { Hiding, PaymentView, Preparation, SorobanView } from "../rules/StellarSeen.ts"
import { leftOf, paymentTermsOf, preparationOfWork, usersPay } from "../rules/StellarTerms.ts"
import { providersOf } from "./StellarContext.ts"
import type { OwnAccounts, StellarContext } from "./StellarContext.ts"

// Simulates the call of an envelope: what it costs, which authorizations it needs, and whether it would succeed.

const simulateAt = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  text: string,
  mode: Calls.AuthMode,
  limits: CallLimits | undefined
) {
  const read = simulatedIn(lib, yield* node.call(Calls.simulate(text, mode)), limits)
  return read === undefined ? yield* rpcFailure("invalid_answer").of("simulateTransaction") : { node, read }
})

export interface Simulation {
  readonly view: SorobanView | undefined
  /** What the provider that was asked first answered, or another one that shows more. Absent: there is no simulation. */
  readonly read?: ReadSimulation
  /** That provider alone does not show what the call changes of accounts of the service. */
  readonly hiding?: Hiding
}

/** Whether the caller gave entries, which the simulation has to check. */
const givesEntries = ({ operations }: TransactionEnvelope): boolean =>
  operations.some((operation) => operation.type === "invokeHostFunction" && operation.auth.length > 0)

const simulationMode = (request: StellarRequest, envelope: TransactionEnvelope, isGuest: boolean): Calls.AuthMode => {
  if (!envelope.operations.some(({ type }) => type === "invokeHostFunction")) return "none"
  if (isGuest) return "enforce"
  if (request.transaction_xdr !== undefined) return givesEntries(envelope) ? "enforce" : "record"
  const [operation] = request.operations ?? []
  const isGiven = operation !== undefined && operation.type !== "payment" && operation.auth?.type === "xdr"
  return isGiven ? "enforce" : "record"
}

/**
 * Entries that the simulation recorded for addresses that the request names. A simulation records that they have expired: they are made
 * valid for as long as the envelope can be. `newest`: the number of the newest ledger.
 */
const recordedFor = (
  lib: Library,
  { operations = [] }: StellarRequest,
  { auth }: ReadSimulation,
  newest: number
): ReadonlyArray<string> => {
  const [operation] = operations
  const named = operation !== undefined && operation.type !== "payment" ? operation.auth : undefined
  if (named?.type !== "addresses") return []
  return auth.flatMap(({ credentials, xdr }) =>
    credentials.kind === "address" && named.signers.includes(credentials.address)
      ? [entryValidUntil(lib, xdr, newest + recordedLedgers)]
      : []
  )
}

/** The lowest ledger at which an authorization that the caller gave expires. */
const untilLedger = ({ operations }: TransactionEnvelope): number | undefined => {
  const ledgers = operations.flatMap((operation) =>
    operation.type === "invokeHostFunction"
      ? operation.auth.flatMap(({ credentials }) => (credentials.kind === "address" ? [credentials.untilLedger] : []))
      : []
  )
  return ledgers.length === 0 ? undefined : Math.min(...ledgers)
}

const viewOf = (envelope: TransactionEnvelope, read: ReadSimulation): SorobanView => {
  if (read.restore !== undefined) return { _tag: "NeedsRestore", ...read.restore, resourceFee: read.resourceFee }
  return {
    _tag: "Succeeds",
    resourceFee: read.resourceFee,
    data: read.data ?? "",
    recorded: [],
    ...present("untilLedger", untilLedger(envelope))
  }
}

/** Whether an answer does not show what the call changes of an account of the service. */
const hidesOwn = Effect.fnUntraced(function* (ownAccounts: OwnAccounts, { unshown }: ReadSimulation) {
  if (unshown.length === 0) return false
  const own = yield* ownAccounts({ addresses: unshown })
  return unshown.some((address) => own.has(address))
})

/**
 * A failure needs a second opinion: a node may be behind what the call needs. So do changes of own accounts that a node does not show: it
 * may be one that shows none.
 */
const simulate = Effect.fnUntraced(function* (
  lib: Library,
  { envelope, ownAccounts, providers }: Pick<CallToSimulate, "envelope" | "ownAccounts" | "providers">,
  text: string,
  mode: Calls.AuthMode
) {
  const { limits } = yield* providers.settings
  const asked = yield* Effect.result(providers.first((node) => simulateAt(lib, node, text, mode, limits)))
  if (Result.isFailure(asked)) return { view: { _tag: "Unknown" } } satisfies Simulation
  const { node, read } = asked.success
  if (read.error === undefined) {
    const found = { view: viewOf(envelope, read), read } satisfies Simulation
    if (!(yield* hidesOwn(ownAccounts, read))) return found
    const look = (second: RpcNode) =>
      Effect.flatMap(simulateAt(lib, second, text, mode, limits), (other) =>
        Effect.map(hidesOwn(ownAccounts, other.read), (isHiding) => ({ ...other.read, isHiding }))
      )
    const other = yield* providers.second(node, look, ({ error, isHiding }) => error === undefined && !isHiding)
    if (other === undefined || other === "not_configured") {
      return {
        ...found,
        hiding: { host: maskUrl(node.url), isOnlyOne: other === "not_configured" }
      } satisfies Simulation
    }
    if (other.error !== undefined) return { view: { _tag: "Disagrees" } } satisfies Simulation
    return other.isHiding ? found : ({ view: viewOf(envelope, other), read: other } satisfies Simulation)
  }
  const other = yield* providers.second(node, (second) => simulateAt(lib, second, text, mode, limits))
  const { error } = read
  const view: SorobanView =
    other === "not_configured"
      ? { _tag: "Fails", error }
      : other === undefined
        ? { _tag: "FailsAlone" }
        : other.read.error === undefined
          ? { _tag: "Disagrees" }
          : { _tag: "Fails", error }
  return { view } satisfies Simulation
})

/** What is simulated, for the account of a relayer. */
interface CallToSimulate {
  readonly address: string
  readonly request: StellarRequest
  readonly envelope: TransactionEnvelope
  /** Base64 of the envelope. */
  readonly text: string
  readonly networkId: Uint8Array
  readonly providers: StellarProviders
  readonly ownAccounts: OwnAccounts
  readonly isGuest: boolean
}

/**
 * Recorded authorizations that the envelope will have are simulated once more, as when it is applied: an address that has to sign
 * refuses them then, and a contract that checks them needs resources for it. `newest`: the number of the newest ledger.
 */
const simulateCall = Effect.fnUntraced(function* (lib: Library, newest: number, call: CallToSimulate) {
  const { address, envelope, isGuest, networkId, request, text } = call
  const mode = simulationMode(request, envelope, isGuest)
  if (mode !== "record") return yield* simulate(lib, call, text, mode)
  const recording = yield* Effect.orDie(draftOf(address, request, networkId, { isRecording: true }))
  const found: Simulation = yield* simulate(lib, call, recording, mode)
  const { read, view } = found
  const recorded = read === undefined || view?._tag !== "Succeeds" ? [] : recordedFor(lib, request, read, newest)
  if (read === undefined || recorded.length === 0) return found
  const whole = yield* Effect.orDie(draftOf(address, request, networkId, { recorded }))
  const enforced: Simulation = yield* simulate(lib, call, whole, "enforce")
  // The authorizations that the call asks for are those that were recorded.
  if (enforced.read === undefined || enforced.view?._tag !== "Succeeds") return enforced
  return {
    ...enforced,
    view: { ...enforced.view, recorded, untilLedger: newest + recordedLedgers },
    read: { ...enforced.read, auth: read.auth }
  } satisfies Simulation
})

// Verifies the payment of a user in a token, against the ledger and the present price. Lanes verify it before each signature, and
// requests before the response.

/** The price of a token for a relayer. */
export const tokenPriceOf = (
  prices: PriceSource["Service"],
  target: StellarTarget,
  { asset, price, price_bounds }: FeeToken
) =>
  prices.rate({
    network: target.network.id,
    source: paymentTermsOf(target).priceSource,
    token: { id: asset, ...present("price", price), ...present("bounds", price_bounds) }
  })

interface Verifying {
  readonly providers: StellarProviders
  readonly prices: PriceSource["Service"]
  readonly target: StellarTarget
}

/** `broken`: why no payment counts. The amount is not checked here, because it depends on the fee. */
export interface PaymentFindings {
  readonly broken?: Refusal
  readonly payment?: PaymentView
}

/** A payment with the present price of its token. */
const valueOf = Effect.fnUntraced(function* (
  { prices, target }: Omit<Verifying, "providers">,
  token: FeeToken,
  amount: bigint
) {
  const price = yield* Effect.result(tokenPriceOf(prices, target, token))
  if (Result.isFailure(price)) return { payment: { _tag: "NoPrice" } } satisfies PaymentFindings
  const { slippage } = paymentTermsOf(target)
  const verdict: PaymentFindings = {
    payment: { _tag: "Priced", asset: token.asset, amount, price: price.success, slippage }
  }
  return verdict
})

const verifyPayment = Effect.fn("StellarPreparing.verify")(function* (
  { prices, providers, target }: Verifying,
  envelope: TransactionEnvelope
) {
  const lib = yield* library
  const terms = paymentTermsOf(target)
  const found = paymentIn(envelope, terms)
  if (Result.isFailure(found)) return { broken: found.failure } satisfies PaymentFindings
  const { amount, credit, payer, token } = found.success
  const { asset } = token
  const holders = { payer, relayer: terms.relayer }
  const read = yield* Effect.result(providers.first((node) => paidAccounts(lib, node, credit, holders)))
  if (Result.isFailure(read)) return { payment: { _tag: "Unreadable" } } satisfies PaymentFindings
  const broken = tokenProblem(asset, read.success) ?? payerProblem(found.success, read.success)
  if (broken !== undefined) return { broken } satisfies PaymentFindings
  return yield* valueOf({ prices, target }, token, amount)
})

/** The forwarder moves the token, so the simulation of the call shows whether the user can pay. */
const verifyForward = Effect.fn("StellarPreparing.verifyForward")(function* (
  { prices, target }: Verifying,
  envelope: TransactionEnvelope
) {
  const { relayer, tokens } = paymentTermsOf(target)
  const found = forwardingIn(envelope, { relayer, ...present("forwarder", target.network.fee_forwarder) })
  if (Result.isFailure(found)) return { broken: found.failure } satisfies PaymentFindings
  const { fee, token: asset } = found.success
  const token = tokens.find((one) => one.asset === asset)
  if (token !== undefined) return yield* valueOf({ prices, target }, token, fee)
  const broken = refusal("payment_insufficient", `${asset} is no token in allowed_tokens of the relayer's policy`)
  return { broken } satisfies PaymentFindings
})

/** Which rules of the guard hold for a request. */
export const modeOf = ({ signed_auth_entry, transaction_xdr }: StellarRequest, isGuest: boolean): GuardMode => {
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
  terms: GuardTerms,
  read: ReadSimulation | undefined,
  {
    maxValue,
    mode,
    newest,
    subentries
  }: Pick<PreparationInput, "mode" | "newest" | "subentries"> & { maxValue: bigint | undefined }
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
const isDecidedLater = ({ code }: Refusal, mode: GuardMode): boolean =>
  code === "time_bounds_past" || (code === "fee_above_cap" && mode === "bump")

/** What a user pays for the envelope, if the policy or the forwarder has the user pay. */
const paymentOf = (
  mode: GuardMode,
  paying: Parameters<typeof verifyPayment>[0],
  envelope: TransactionEnvelope
): Effect.Effect<PaymentFindings> => {
  if (mode === "forward") return verifyForward(paying, envelope)
  return mode === "bump" && usersPay(paying.target) ? verifyPayment(paying, envelope) : Effect.succeed({})
}

const highest = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** What a preparation needs, of a lane or of a request that is simulated. */
interface PreparationInput {
  /** The account of the relayer. */
  readonly address: string
  readonly request: StellarRequest
  /** `bump`: the envelope is one of another account, for which the relayer pays. */
  readonly mode: GuardMode
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
interface PreparedRequest {
  readonly preparation: Preparation
  readonly read?: ReadSimulation
}

/** Rules that need the chain, the cost of a call, and what others pay. */
export const preparationOf = Effect.fnUntraced(function* ({
  address,
  mode,
  ownAccounts,
  providers,
  request,
  target,
  ...rest
}: PreparationInput) {
  const lib = yield* library
  const networkId = networkIdOf(target.network.passphrase)
  const text = yield* Effect.orDie(draftOf(address, request, networkId))
  const own = yield* ownAccounts({ text })
  const decoded = decodeWith(lib, text, { networkId, known: own })
  const given = termsOf(lib, { target, own, maxFee: request.max_fee, now: rest.now })
  const isGuest = mode === "bump"
  const guarded = Result.flatMap(decoded, (envelope) => guard(mode, envelope, given))
  if (Result.isFailure(guarded) && !isDecidedLater(guarded.failure, mode)) {
    return { preparation: { broken: guarded.failure, operations: 0, out: 0n } } satisfies PreparedRequest
  }
  const envelope = Result.isSuccess(guarded) ? guarded.success : Result.getOrThrow(decoded)
  if (envelope.kind !== "transaction") return { preparation: { operations: 0, out: 0n } } satisfies PreparedRequest
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
  const unshown = read && hiding && hiddenChange(read, onChain)
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
  return { preparation, ...present("read", read) } satisfies PreparedRequest
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
  const { preparation } = yield* preparationOf({
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
