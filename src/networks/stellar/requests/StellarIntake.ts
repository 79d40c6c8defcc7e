// What callers ask of stellar relayers: sends, replacements, simulations, signatures, sequences, calls of their providers.
// Rules that need the chain are checked before the signature.
import { Clock, DateTime, Effect, Option, Result } from "effect"
import { lockedBy } from "../../../domain/relayer/Policy.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { isLaneOf } from "../../../server/ledger/LedgerEntries.ts"
import type { GivenPlace, StoredLane } from "../../../server/ledger/LedgerEntries.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { PriceSource } from "../../../server/prices/PriceSource.ts"
import { Relayers } from "../../../server/relayers/Relayers.ts"
import { isNewestOf, unanswered } from "../../../server/transactions/Intake.ts"
import type { Admitted, Intake, Sender, Signing } from "../../../server/transactions/Intake.ts"
import type { SequenceNetwork } from "../../../server/transactions/Nonces.ts"
import { passing } from "../../../server/transactions/NodePassing.ts"
import { present } from "../../core/Presentation.ts"
import { TransactionConflict } from "../../core/Rules.ts"
import type { Lane } from "../../core/Transaction.ts"
import { TransactionLimitExceeded } from "../../core/TransactionLimits.ts"
import type { NetworkLimits } from "../../core/TransactionLimits.ts"
import type { Moment, TransactionId } from "../../core/TransactionValues.ts"
import { decode, termsOf } from "../chain/StellarDecoding.ts"
import { withSignatures } from "../chain/StellarEncoding.ts"
import { isSignedBy, library, networkIdOf } from "../chain/StellarLibrary.ts"
import { makeOwnAccounts } from "../lane/StellarContext.ts"
import type { OwnAccounts } from "../lane/StellarContext.ts"
import { preparationOf } from "../lane/StellarPreparing.ts"
import { firstPrice } from "../rules/DecideSignature.ts"
import { refusal, violationOf } from "../rules/Envelope.ts"
import type { GuardTerms, Refusal, TransactionEnvelope } from "../rules/Envelope.ts"
import { guard, usedSequence } from "../rules/Guard.ts"
import type { GuardMode } from "../rules/Guard.ts"
import { amountProblem } from "../rules/SponsoredPayment.ts"
import { momentOf } from "../rules/Stellar.ts"
import type { Stellar, StellarRequest } from "../rules/Stellar.ts"
import { publicSettings } from "../rules/StellarNumbers.ts"
import type { LedgerSettings } from "../rules/StellarNumbers.ts"
import { ReplaceStellarTransaction, SendStellarTransaction, SignStellarTransaction } from "../rules/StellarRequests.ts"
import type { StellarSigning } from "../rules/StellarRequests.ts"
import type { StellarNonceState } from "../rules/StellarResponses.ts"
import { passedMethods, requestOfBody, stellarRules } from "../rules/StellarRules.ts"
import type { SorobanView } from "../rules/StellarSeen.ts"
import { endOfGiven, maxTimeOfGiven } from "../rules/StellarTerms.ts"
import * as StellarChecks from "./StellarChecks.ts"
import {
  badRequest,
  beyondLimits,
  feesOf,
  fieldOf,
  limited,
  limitsIn,
  locksReserve,
  makeRelayerChain
} from "./StellarChecks.ts"
import * as StellarSponsoring from "./StellarSponsoring.ts"
import { makeStellarTransfers } from "./StellarTransfers.ts"

// Signs envelopes of stellar that callers send themselves: `POST …/sign-transaction`. They pass every rule of an unsigned envelope,
// and die within five minutes.

const unsignedField = "unsigned_xdr"

const refused = (found: Refusal) => BadRequest.of([violationOf(found, unsignedField)])

/** Why a call is not signed. The caller gets no second try of the service: what is not certain to work is refused. */
const signingFailureOf = (view: SorobanView | undefined): Refusal | undefined => {
  switch (view?._tag) {
    case "Fails":
      return refusal("would_fail", view.error)
    case "Disagrees":
    case "FailsAlone":
      return refusal("would_fail", "the simulation fails at one of the providers")
    case "NeedsRestore":
      return refusal("would_fail", "archived entries have to be restored first")
    default:
      return undefined
  }
}

/** A signature is the last value of an envelope with one signature. */
const signatureBytes = 64

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

interface ExaminedEnvelope {
  readonly request: StellarRequest
  readonly envelope: TransactionEnvelope
  readonly now: Moment
}

const makeSigning = Effect.fnUntraced(function* (ownAccounts: OwnAccounts) {
  const chain = yield* makeRelayerChain
  const prices = yield* PriceSource

  const checkFunds = Effect.fnUntraced(function* (
    sender: Sender<Stellar>,
    payer: Parameters<typeof chain.isShort>[1],
    required: bigint,
    settings: LedgerSettings
  ) {
    if (!(yield* chain.isShort(sender, payer, required, settings))) return
    const message =
      payer === undefined
        ? `no_account: ${sender.account.address} does not exist on the network`
        : `insufficient_funds: it can take ${required} stroops, which the account does not have beside its reserves and its other transactions`
    return yield* BadRequest.of([{ field: unsignedField, message }])
  })

  /** What needs the chain, and then the signature. */
  const prepare = Effect.fnUntraced(function* (sender: Sender<Stellar>, { envelope, now, request }: ExaminedEnvelope) {
    const lib = yield* library
    const { account, target } = sender
    const { address } = account
    const providers = yield* chain.providersOf(sender)
    const { newest, of } = yield* chain.look(providers, [address])
    const payer = of.get(address)
    const { preparation } = yield* preparationOf({
      address,
      request,
      mode: "sign",
      target,
      ownAccounts,
      providers,
      prices,
      fees: feesOf(providers),
      newest,
      subentries: payer?.subentries,
      now
    })
    const { broken, out, soroban, unshown } = preparation
    if (soroban?._tag === "Unknown") return yield* unanswered("simulates the call")
    const hidden = unshown === undefined ? undefined : refusal("balance_change", unshown.detail)
    const found = broken ?? hidden ?? signingFailureOf(soroban)
    if (found !== undefined) return yield* refused(found)
    yield* checkFunds(sender, payer, envelope.fee + out, yield* providers.settings)
    const hash = Buffer.from(envelope.hash, "hex")
    return {
      curve: "ed25519" as const,
      message: hash,
      fee: envelope.fee,
      outflow: out,
      sequence: envelope.sequence,
      end: { validUntil: endOfGiven(envelope.timeBounds?.maxTime ?? 0n) },
      seal: (signature: Uint8Array) =>
        Effect.sync(() => {
          if (!isSignedBy(address, hash, signature)) return undefined
          const signed = withSignatures(lib, request.transaction_xdr ?? "", [{ address, signature }])
          return { hash: envelope.hash, raw: signed.toXdr() }
        })
    }
  })

  const signing: Signing<Stellar, StellarSigning> = {
    body: SignStellarTransaction,
    admit: Effect.fnUntraced(function* ({ unsigned_xdr }, sender, { limits, now, prefix }) {
      const { target } = sender
      const lib = yield* library
      const own = yield* ownAccounts({ text: unsigned_xdr })
      const networkId = networkIdOf(target.network.passphrase)
      const terms = termsOf(lib, { target, own, maxFee: undefined, now })
      const decoded = yield* decode(unsigned_xdr, { networkId, known: own })
      const guarded = Result.flatMap(decoded, (envelope) => guard("sign", envelope, terms))
      if (Result.isFailure(guarded)) return yield* refused(guarded.failure)
      const envelope = guarded.success
      const counted = locksReserve(envelope, limits) ? yield* chain.withReserve(terms, sender) : terms
      const beyond = limits === undefined ? undefined : beyondLimits(envelope, counted, limits)
      if (beyond !== undefined) return yield* TransactionLimitExceeded.of(violationOf(beyond, unsignedField), prefix)
      const request = limited({ transaction_xdr: unsigned_xdr }, limits)
      return { identity: envelope.hash, unsigned: prepare(sender, { request, envelope, now }) }
    }),
    show: ({ raw }) => ({ signedXdr: base64(raw), signature: base64(raw.slice(-signatureBytes)) })
  }
  return signing
})

// Simulates a request: what it would do and cost, and what keeps it from being signed now. The rules that need the chain refuse it.

/** A request that the guard allows, as far as it needs no chain. */
interface ExaminedRequest {
  readonly request: StellarRequest
  readonly envelope: TransactionEnvelope
  readonly terms: GuardTerms
  readonly mode: GuardMode
}

interface Simulating {
  /** The field of the body that has the operations. */
  readonly field: string
  readonly now: Moment
  readonly limits: NetworkLimits | undefined
  readonly forbidden: Violation | undefined
}

/** The failure of a call, if as many providers see it as must agree. */
const simulationFailureOf = (view: SorobanView | undefined): Refusal | undefined =>
  view?._tag === "Fails" ? refusal("would_fail", view.error) : undefined

/** What makes a call wait, as the code of the transaction would be. */
const waitOf = (view: SorobanView | undefined): ReadonlyArray<string> => {
  switch (view?._tag) {
    case "NeedsRestore":
      return ["needs_restore"]
    case "Disagrees":
      return ["providers_disagree"]
    case "FailsAlone":
      return ["second_provider_missing"]
    default:
      return []
  }
}

const makeSimulating = Effect.fnUntraced(function* (ownAccounts: OwnAccounts) {
  const chain = yield* makeRelayerChain
  const outboundWork = yield* OutboundWork
  const prices = yield* PriceSource

  const simulateIn = Effect.fnUntraced(function* (
    { envelope, mode, request, terms }: ExaminedRequest,
    sender: Sender<Stellar>,
    { field, forbidden, limits: given, now }: Simulating
  ) {
    const limits = limitsIn(mode, given)
    // The envelope of another account, for which the relayer pays.
    const isGuest = mode === "bump"
    const { account, target } = sender
    const { address } = account
    const providers = yield* chain.providersOf(sender)
    const { newest, of } = yield* chain.look(providers, [address, envelope.source.address])
    const payer = of.get(address)
    const source = of.get(envelope.source.address)
    const { preparation, read } = yield* preparationOf({
      address,
      request: limited(request, limits),
      mode,
      target,
      ownAccounts,
      providers,
      prices,
      fees: feesOf(providers),
      newest,
      subentries: payer?.subentries,
      now
    })
    const { out, payment, soroban, unshown } = preparation
    if (payment?._tag === "Unreadable") return yield* unanswered("shows the accounts of the payment")
    if (soroban?._tag === "Unknown") return yield* unanswered("simulates the call")
    const used = isGuest && source !== undefined ? usedSequence(envelope, [source.sequence]) : undefined
    const { fee, rate, resourceFee } = firstPrice(terms.cap, preparation, isGuest ? "guest" : "own")
    const worth = payment?._tag === "Priced" ? amountProblem(payment, fee ?? 0n) : undefined
    const broken = preparation.broken ?? used ?? simulationFailureOf(soroban) ?? worth
    if (broken !== undefined) return yield* badRequest([violationOf(broken, field)], "")
    const fits = fee !== undefined && fee <= terms.cap
    const settings = yield* providers.settings
    const counted = { ...terms, baseReserve: settings.baseReserve }
    const isBeyond = limits !== undefined && beyondLimits(envelope, counted, limits) !== undefined
    const change = read?.changes.find((one) => one.kind === "account" && one.address === address)
    const [before, after] = change?.kind === "account" ? [change.before, change.after] : []
    return {
      ...present("fee", fee),
      inclusion_fee: rate,
      resource_fee: resourceFee,
      max_fee: terms.cap,
      fits,
      out,
      auth: (read?.auth ?? []).map(({ xdr }) => xdr),
      ...present("return_value", read?.returned),
      needs_restore: soroban?._tag === "NeedsRestore",
      ...present("balance_change", read && (after?.balance ?? 0n) - (before?.balance ?? 0n)),
      verdict: [
        ...(unshown === undefined ? waitOf(soroban) : ["second_provider_missing"]),
        ...(payment?._tag === "NoPrice" ? ["price_unavailable"] : []),
        ...(fits ? [] : ["fee_above_cap"]),
        ...((yield* chain.isShort(sender, payer, (fee ?? 0n) + out, settings)) ? ["insufficient_funds"] : []),
        ...(isBeyond || forbidden !== undefined ? ["transaction_limits"] : [])
      ]
    }
  })

  return (examined: ExaminedRequest, sender: Sender<Stellar>, options: Simulating) =>
    outboundWork.run(simulateIn(examined, sender, options))
})

const isNewest = isNewestOf(stellarRules.request)

export const make = Effect.gen(function* () {
  const ownAccounts = yield* makeOwnAccounts

  const { check, examine } = yield* StellarChecks.make(ownAccounts)
  const simulate = yield* makeSimulating(ownAccounts)
  const signing = yield* makeSigning(ownAccounts)
  const { build, quote } = yield* StellarSponsoring.make(ownAccounts)

  const simulateBody: NonNullable<Intake<Stellar>["simulate"]> = Effect.fnUntraced(function* (
    body,
    sender,
    { now, limits, forbidden }
  ) {
    const examined = yield* examine(body, sender, { now, prefix: "" })
    return yield* simulate(examined, sender, { field: fieldOf(body), now, limits, forbidden })
  })

  const intake: Intake<Stellar> = {
    rules: stellarRules,
    body: SendStellarTransaction,
    replacement: ReplaceStellarTransaction,
    namesOf: (body, target) =>
      Effect.map(StellarChecks.identityOf(body, target), (identity) => ({
        ...present("externalId", body.external_id),
        ...present("identity", identity)
      })),
    admit: Effect.fnUntraced(function* (body, sender, options) {
      const checked = yield* check(body, sender, options)
      const { not_before, external_id, priority = 0, sequence } = body
      const admitted: Admitted<Stellar> = {
        ...checked,
        priority,
        ...(not_before === undefined ? {} : { notBefore: DateTime.toEpochMillis(not_before) }),
        ...present("externalId", external_id),
        ...present("requiredSequence", sequence)
      }
      return admitted
    }),
    admitReplacement: Effect.fnUntraced(function* (replacement, sender, options) {
      const { fee_bump, signed_auth_entry } = replacement
      if (fee_bump === true || signed_auth_entry !== undefined) {
        const field = fee_bump === true ? "fee_bump" : "signed_auth_entry"
        const message = "a replacement cannot be an envelope that somebody else has signed"
        return yield* badRequest([{ field, message }], options.prefix)
      }
      const { request, validUntil } = yield* check(replacement, sender, options)
      return { request, ...(replacement.valid_until === undefined ? {} : { validUntil }) }
    }),
    isNewest: (replacement, transaction) => isNewest(transaction, requestOfBody(replacement), replacement.valid_until),
    signing,
    quote,
    build,
    simulate: simulateBody,
    transfers: makeStellarTransfers((body, sender, now) =>
      simulateBody(body, sender, { now, limits: undefined, forbidden: undefined })
    )
  }
  return intake
})

// The sequences of a stellar relayer's account, for operators.

/** `places`: open transactions by channel. */
const channelFields = (
  lane: Lane<Stellar> | undefined,
  places: ReadonlyMap<string, TransactionId>,
  { baseReserve }: LedgerSettings
) => {
  const [, ...channels] = lane?.accounts ?? []
  const shown = channels.map(({ address, counters, nextSequence }) => ({
    address,
    stage: counters?.stage ?? ("creating" as const),
    next_sequence: nextSequence,
    ...present("transaction_id", places.get(address))
  }))
  return { channels: shown, locked_by_channels: lockedBy(shown.length, baseReserve) }
}

const noPlaces: ReadonlyMap<string, TransactionId> = new Map()

const laneFields = (found: Option.Option<StoredLane>) => {
  if (Option.isNone(found)) return { generation: 0, next_sequence: 0n, used_sequence: 0n }
  const { lane, code, codeSince } = found.value
  const [{ nextSequence, chainSequence }] = lane.accounts
  return {
    generation: lane.generation,
    next_sequence: nextSequence,
    used_sequence: chainSequence > 0n ? chainSequence - 1n : 0n,
    ...present("code", code),
    ...present("code_since", codeSince === undefined ? undefined : DateTime.makeUnsafe(codeSince))
  }
}

const givenOf = ({ hash, sequence, validUntil }: GivenPlace) => ({
  hash,
  sequence,
  valid_until: DateTime.makeUnsafe(momentOf(maxTimeOfGiven(validUntil)))
})

export const makeStellarNonces = Effect.gen(function* () {
  const ledger = yield* Ledger
  const chain = yield* makeRelayerChain
  const outboundWork = yield* OutboundWork
  const relayers = yield* Relayers

  /** What the network has voted, as its providers have said it not long ago. */
  const settingsOf = (sender: Sender) =>
    outboundWork
      .run(Effect.flatMap(chain.providersOf(sender), ({ settings }) => settings))
      .pipe(Effect.orElseSucceed(() => publicSettings))

  const ofLedger = Effect.fnUntraced(function* (sender: Sender) {
    const { account } = sender
    const lane = yield* ledger.laneOf(account)
    const { inFlight, oldestSequence, pending } = yield* ledger.countLane(account)
    const stored = Option.getOrUndefined(lane)
    const isKnown = stored !== undefined && isLaneOf<Stellar>(stellarRules, stored)
    const given = isKnown ? yield* ledger.givenPlaces(stored.id, yield* Clock.currentTimeMillis) : []
    const places = isKnown ? yield* ledger.channelPlaces(stored.id) : noPlaces
    const hasChannels = isKnown && stored.lane.accounts.length > 1
    const settings = hasChannels ? yield* settingsOf(sender) : publicSettings
    const state: StellarNonceState = {
      address: account.address,
      ...laneFields(lane),
      pending,
      in_flight: inFlight,
      ...present("oldest_open_sequence", oldestSequence),
      given: given.map(givenOf),
      ...channelFields(isKnown ? stored.lane : undefined, places, settings)
    }
    return state
  })

  const ofChain = Effect.fnUntraced(
    function* (sender: Sender, { address, channels }: StellarNonceState) {
      const addresses = [address, ...channels.map((channel) => channel.address)]
      const { newest, of } = yield* chain.look(yield* chain.providersOf(sender), addresses)
      return {
        chain_ledger: newest,
        ...present("chain_sequence", of.get(address)?.sequence),
        channels: channels.map((channel) => ({
          ...channel,
          ...present("chain_sequence", of.get(channel.address)?.sequence)
        }))
      }
    },
    Effect.catchTag("BadGateway", () => Effect.succeed({}))
  )

  /** The update names no version, so `PreconditionFailed` cannot happen. */
  const releaseChannels = Effect.fnUntraced(function* (sender: Sender) {
    yield* Effect.catchTag(
      relayers.update(sender.relayer.id, { policies: { channels: { count: 0 } } }),
      "PreconditionFailed",
      Effect.die
    )
    return yield* ofLedger(sender)
  })

  /** Without an account, or without a provider that answers, no sequence counts as used. */
  const usedBelow = Effect.fnUntraced(function* (sender: Sender) {
    const { address } = sender.account
    const looks = yield* chain.lookEach(yield* chain.providersOf(sender), [address])
    const used = looks.map(({ of }) => (of.get(address)?.sequence ?? -1n) + 1n)
    return used.length === 0 ? 0n : used.reduce((least, one) => (one < least ? one : least))
  })

  const nonces: SequenceNetwork = {
    type: stellarRules.type,
    ofLedger,
    get: Effect.fnUntraced(function* (sender: Sender) {
      const known = yield* ofLedger(sender)
      return { ...known, ...(yield* outboundWork.run(ofChain(sender, known))) }
    }),
    releaseChannels,
    usedBelow: (sender) => outboundWork.run(usedBelow(sender)),
    clear: () =>
      Effect.fail(
        new TransactionConflict({
          error:
            "accounts of stellar have no gaps: a sequence that no envelope has used is free when its envelopes are dead; cancel the transactions instead"
        })
      )
  }
  return nonces
})

// JSON-RPC calls to stellar relayers: providers of the relayer answer them.

export const makeStellarNodeCalls = Effect.map(makeRelayerChain, ({ first, providersOf }) =>
  passing({
    type: stellarRules.type,
    methods: passedMethods,
    ask: (sender, call) =>
      Effect.flatMap(providersOf(sender), (providers) => first(providers, (node) => node.ask(call)))
  })
)
