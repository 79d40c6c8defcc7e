// Simulates a request: what it would do and cost, and what keeps it from being signed now. The rules that need the chain refuse it.
import type { OwnAccounts } from "../../lanes/stellar/OwnAccounts.ts"
import { Effect } from "effect"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import type { Mode } from "../../../domain/transaction/stellar/Guard.ts"
import { usedSequence } from "../../../domain/transaction/stellar/GuardOnChain.ts"
import type { Terms } from "../../../domain/transaction/stellar/GuardRules.ts"
import { refusal, violationOf } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Stellar, StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import type { SorobanView } from "../../../domain/transaction/stellar/StellarSeen.ts"
import { amountProblem } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import { firstPrice } from "../../../domain/transaction/stellar/StellarOffers.ts"
import { prepared } from "../../lanes/stellar/StellarPreparing.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import type { Sender } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import { unanswered } from "../Senders.ts"
import { feesOf } from "./RelayerChain.ts"
import * as RelayerChain from "./RelayerChain.ts"
import { badRequest, beyondLimits, limited, limitsIn } from "./StellarChecks.ts"

/** A request that the guard allows, as far as it needs no chain. */
interface Examined {
  readonly request: StellarRequest
  readonly envelope: TransactionEnvelope
  readonly terms: Terms
  readonly mode: Mode
}

interface Simulating {
  /** The field of the body that has the operations. */
  readonly field: string
  readonly now: Moment
  readonly limits: NetworkLimits | undefined
  readonly forbidden: Violation | undefined
}

/** The failure of a call, if as many providers see it as must agree. */
const failureOf = (view: SorobanView | undefined): Refusal | undefined =>
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

export const make = Effect.fnUntraced(function* (ownAccounts: OwnAccounts) {
  const chain = yield* RelayerChain.make
  const outboundWork = yield* OutboundWork
  const prices = yield* PriceSource

  const simulateIn = Effect.fnUntraced(function* (
    { envelope, mode, request, terms }: Examined,
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
    const { preparation, read } = yield* prepared({
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
    const broken = preparation.broken ?? used ?? failureOf(soroban) ?? worth
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

  return (examined: Examined, sender: Sender<Stellar>, options: Simulating) =>
    outboundWork.run(simulateIn(examined, sender, options))
})
