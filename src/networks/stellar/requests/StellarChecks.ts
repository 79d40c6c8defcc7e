// Checks of requests, for sends, replacements and simulations: fields, guard, limits of the API key, and what providers say for requests.
import { DateTime, Effect, Result } from "effect"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { makeRelayerProviders } from "../../../server/transactions/Intake.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import { present } from "../../core/Presentation.ts"
import { TransactionLimitExceeded } from "../../core/TransactionLimits.ts"
import type { NetworkLimits } from "../../core/TransactionLimits.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import * as Calls from "../chain/StellarCalls.ts"
import { decode, termsOf } from "../chain/StellarDecoding.ts"
import { buildHashOf, draftOf, entryOf } from "../chain/StellarDrafts.ts"
import { library, networkIdOf } from "../chain/StellarLibrary.ts"
import * as StellarLooks from "../chain/StellarLooks.ts"
import { StellarNodes } from "../chain/StellarNodes.ts"
import type { StellarProviders } from "../chain/StellarNodes.ts"
import type { OwnAccounts } from "../lane/StellarContext.ts"
import { modeOf } from "../lane/StellarPreparing.ts"
import { areFundsShort, fundsFor } from "../rules/DecideSignature.ts"
import { exceededLimit, refusal, timeBounds, violationOf } from "../rules/Envelope.ts"
import type { GuardTerms, Refusal, TransactionEnvelope } from "../rules/Envelope.ts"
import { addedSubentries, guard, outerFeeOf } from "../rules/Guard.ts"
import type { GuardMode } from "../rules/Guard.ts"
import { entryProblem, unknownBuild } from "../rules/SponsoredPayment.ts"
import { momentOf } from "../rules/Stellar.ts"
import type { Guest, Stellar, StellarFacts, StellarRequest, StellarTarget } from "../rules/Stellar.ts"
import type { LedgerSettings } from "../rules/StellarNumbers.ts"
import { deadlineOf, earlyViolations, requestOfBody } from "../rules/StellarRules.ts"
import type { StellarBody } from "../rules/StellarRules.ts"
import type { AccountEntry } from "../rules/StellarSeen.ts"
import * as BuildsRepo from "./BuildsRepo.ts"

// What the providers of a stellar relayer say, for requests: the accounts that pay and act, and whether the funds are enough.

type StellarSender = Sender<Stellar>

/** Fees of recent ledgers. Undefined: no provider says. */
export const feesOf = (providers: StellarProviders) =>
  Effect.map(Effect.result(providers.first((node) => node.call(Calls.feeStats))), Result.getOrUndefined)

export const makeRelayerChain = Effect.gen(function* () {
  const nodes = yield* StellarNodes
  const ledger = yield* Ledger
  const { first, of } = yield* makeRelayerProviders((urls, passphrase: string) => nodes.providers(urls, passphrase))

  const providersOf = ({ network, relayer }: Pick<Sender, "network" | "relayer">) =>
    of(relayer.id, network.network_type === "stellar" ? network.passphrase : "")

  /**
   * The terms of the guard with the reserve that the network has voted, if it was read already: acceptance asks no provider. A lane, which
   * has read it, counts again before each signature.
   */
  const withReserve = Effect.fnUntraced(function* (terms: GuardTerms, sender: Pick<Sender, "network" | "relayer">) {
    // A relayer that was deleted meanwhile is refused when its transaction is stored.
    const settings = yield* Effect.orElseSucceed(
      Effect.flatMap(providersOf(sender), ({ known }) => known),
      () => undefined
    )
    return settings === undefined ? terms : { ...terms, baseReserve: settings.baseReserve }
  })

  const accountsAt = Effect.fnUntraced(function* (node: RpcNode, addresses: ReadonlyArray<string>) {
    const lib = yield* library
    const newest = yield* StellarLooks.newest(node)
    const { of } = yield* StellarLooks.accounts(lib, node, [...new Set(addresses)], newest)
    return { newest: newest.ledger.number, of }
  })

  /** Accounts at the newest ledger of one provider. */
  const look = (providers: StellarProviders, addresses: ReadonlyArray<string>) =>
    first(providers, (node) => accountsAt(node, addresses))

  /** The same of each provider that answers. */
  const lookEach = (providers: StellarProviders, addresses: ReadonlyArray<string>) =>
    Effect.map(
      providers.each((node) => accountsAt(node, addresses)),
      (looks) => looks.filter((look) => look !== undefined)
    )

  /** `payer`: the account of the relayer. Undefined: it does not exist. */
  const isShort = Effect.fnUntraced(function* (
    { account, relayer }: StellarSender,
    payer: AccountEntry | undefined,
    required: bigint,
    settings: LedgerSettings
  ) {
    if (payer === undefined) return true
    const reserved = yield* ledger.reserved(account)
    const minBalance = minBalanceOf("stellar", relayer.policies)
    const funds = fundsFor([payer], { required, reserved, minBalance }, settings)
    return areFundsShort(funds)
  })

  return { providersOf, withReserve, first, look, lookEach, isShort }
})

interface CheckContext {
  readonly now: Moment
  readonly prefix: string
}

interface Allowance extends CheckContext {
  readonly limits: NetworkLimits | undefined
}

export const fieldOf = ({ transaction_xdr }: Pick<StellarBody, "transaction_xdr">): string =>
  transaction_xdr === undefined ? "operations" : "transaction_xdr"

export const badRequest = (violations: ReadonlyArray<Violation>, prefix: string) =>
  BadRequest.of(violations.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))

/** A user has agreed to the envelope as it is, and to how long it lives. */
const isOfUser = (mode: GuardMode): boolean => mode === "bump" || mode === "forward"

/** The limits of an API key apply to what the relayer sends, and not to what a user has agreed to. */
export const limitsIn = (mode: GuardMode, limits: NetworkLimits | undefined): NetworkLimits | undefined =>
  isOfUser(mode) ? undefined : limits

/** The fields that name the source and the deadline of an envelope agree with it. */
const mismatch = (
  body: StellarBody,
  mode: GuardMode,
  { source, timeBounds }: TransactionEnvelope
): Violation | undefined => {
  const { source_account, valid_until } = body
  if (source_account !== undefined && source_account !== source.address) {
    return { field: "source_account", message: "must be the source of the envelope" }
  }
  const isOther =
    isOfUser(mode) &&
    valid_until !== undefined &&
    BigInt(DateTime.toEpochMillis(valid_until)) !== BigInt(momentOf(timeBounds?.maxTime ?? 0n))
  return isOther ? { field: "valid_until", message: "must be the maxTime of the envelope, or absent" } : undefined
}

const noAccounts: ReadonlySet<string> = new Set()

/**
 * Whether the envelope can name accounts of the service that are not its relayer, in a place where no rule allows them. What the
 * service builds of operations has the relayer as its source and no signature, and others only sign in entries of `auth` that the caller gives.
 */
export const namesOthers = (mode: GuardMode, { operations = [] }: StellarRequest): boolean =>
  mode !== "operations" ||
  operations.some((operation) => operation.type !== "payment" && operation.auth?.type === "xdr")

const guestOf = ({ hash, sequence, source, timeBounds }: TransactionEnvelope): Guest => ({
  account: source.address,
  sequence,
  innerHash: hash,
  maxTime: Number(timeBounds?.maxTime ?? 0n)
})

const factsOf = (mode: GuardMode, envelope: TransactionEnvelope, build: string | undefined): StellarFacts =>
  mode === "bump" ? { guest: guestOf(envelope) } : present("build", build)

/** As the rules of stellar say of the stored request: the envelope that a user has signed, or the build. */
export const identityOf = Effect.fnUntraced(function* (
  { fee_bump, signed_auth_entry, transaction_xdr }: StellarBody,
  { network }: StellarTarget
) {
  if (transaction_xdr === undefined || (fee_bump !== true && signed_auth_entry === undefined)) return undefined
  const networkId = networkIdOf(network.passphrase)
  const decoded = yield* decode(transaction_xdr, { networkId, known: [] })
  if (Result.isFailure(decoded) || decoded.success.kind !== "transaction") return undefined
  return signed_auth_entry === undefined
    ? decoded.success.hash
    : buildHashOf(yield* library, transaction_xdr, networkId)
})

export const beyondLimits = (
  envelope: TransactionEnvelope,
  terms: GuardTerms,
  { max_value, receivers }: NetworkLimits
): Refusal | undefined =>
  exceededLimit(envelope, terms, { ...present("maxValue", max_value), ...present("receivers", receivers) })

/** Whether what an envelope locks counts for the limit of an API key. */
export const locksReserve = (envelope: TransactionEnvelope, limits: NetworkLimits | undefined): boolean =>
  limits?.max_value !== undefined && addedSubentries(envelope, {}) > 0

/** The request as it is stored: what its call takes is only known when it is signed. */
export const limited = (request: StellarRequest, limits: NetworkLimits | undefined): StellarRequest => ({
  ...request,
  ...present("max_value", limits?.max_value)
})

/** Who sends, and when. */
type SenderOf = Pick<Sender<Stellar>, "account" | "target">

export const make = Effect.fnUntraced(function* (ownAccounts: OwnAccounts) {
  const builds = yield* BuildsRepo.make
  const chain = yield* makeRelayerChain

  /** Hex: the name of the build that the user has signed. Undefined: the body is no such build. */
  const buildOf = Effect.fnUntraced(function* (
    { signed_auth_entry, transaction_xdr = "" }: StellarBody,
    { account, target }: SenderOf,
    { now, prefix }: CheckContext
  ) {
    if (signed_auth_entry === undefined) return undefined
    const refused = (found: Refusal, field = "signed_auth_entry") => badRequest([violationOf(found, field)], prefix)
    const lib = yield* library
    const networkId = networkIdOf(target.network.passphrase)
    const decoded = yield* decode(transaction_xdr, { networkId, known: [] })
    if (Result.isFailure(decoded)) return yield* refused(decoded.failure, "transaction_xdr")
    if (decoded.success.kind !== "transaction") {
      return yield* refused(refusal("xdr_kind", "expected a transaction that this service built"), "transaction_xdr")
    }
    const hash = buildHashOf(lib, transaction_xdr, networkId)
    const built = yield* builds.find({ relayerNumber: account.relayerNumber, hash }, now)
    if (built === undefined) return yield* refused(unknownBuild, "transaction_xdr")
    const entry = entryOf(lib, signed_auth_entry)
    if (Result.isFailure(entry)) return yield* refused(entry.failure)
    const other = entryProblem(built, entry.success)
    return other === undefined ? hash : yield* refused(other)
  })

  /** The envelope of a request that the guard allows, as far as it needs no chain. */
  const examine = Effect.fnUntraced(function* (body: StellarBody, sender: SenderOf, context: CheckContext) {
    const { now, prefix } = context
    const { target } = sender
    const violations = earlyViolations(body, target, now)
    if (violations.length > 0) return yield* badRequest(violations, prefix)
    const refused = (found: Refusal) => badRequest([violationOf(found, fieldOf(body))], prefix)
    const build = yield* buildOf(body, sender, context)
    const lib = yield* library
    const request = requestOfBody(body)
    const mode = modeOf(request, body.fee_bump === true)
    const networkId = networkIdOf(target.network.passphrase)
    const drafted = yield* Effect.result(draftOf(target.relayer.address, request, networkId))
    if (Result.isFailure(drafted)) return yield* refused(drafted.failure)
    const own = namesOthers(mode, request) ? yield* ownAccounts({ text: drafted.success }) : noAccounts
    const terms = termsOf(lib, { target, own, maxFee: request.max_fee, now })
    const decoded = yield* decode(drafted.success, { networkId, known: own })
    const guarded = Result.flatMap(decoded, (envelope) => guard(mode, envelope, terms))
    if (Result.isFailure(guarded)) return yield* refused(guarded.failure)
    const envelope = guarded.success
    const late = mode === "forward" ? timeBounds(envelope, terms) : undefined
    if (late !== undefined) return yield* refused(late)
    const other = mismatch(body, mode, envelope)
    if (other !== undefined) return yield* badRequest([other], prefix)
    return { request, envelope, terms, own, mode, facts: factsOf(mode, envelope, build) }
  })

  const check = Effect.fnUntraced(function* (
    body: StellarBody,
    sender: Sender<Stellar>,
    { limits: given, ...asked }: Allowance
  ) {
    const { envelope, facts, mode, request, terms } = yield* examine(body, sender, asked)
    const limits = limitsIn(mode, given)
    const counted = locksReserve(envelope, limits) ? yield* chain.withReserve(terms, sender) : terms
    const beyond = limits === undefined ? undefined : beyondLimits(envelope, counted, limits)
    if (beyond !== undefined)
      return yield* TransactionLimitExceeded.of(violationOf(beyond, fieldOf(body)), asked.prefix)
    return {
      request: limited(request, limits),
      facts,
      validUntil: isOfUser(mode) ? momentOf(envelope.timeBounds?.maxTime ?? 0n) : deadlineOf(body, asked.now),
      /** Stroops. The fee of an own envelope is decided when it is signed. */
      fee: mode === "bump" ? outerFeeOf(envelope, terms) : 0n
    }
  })

  return { examine, check }
})
