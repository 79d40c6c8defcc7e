// Signs envelopes of stellar that callers send themselves: `POST …/sign-transaction`. They pass every rule of an unsigned envelope,
// and die within five minutes.
import { Effect, Result } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { guard } from "../../../domain/transaction/stellar/Guard.ts"
import { refusal, violationOf } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { Stellar, StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import { endOfGiven } from "../../../domain/transaction/stellar/StellarPlaces.ts"
import { SignStellarTransaction } from "../../../domain/transaction/stellar/StellarExchanges.ts"
import type { StellarSigning } from "../../../domain/transaction/stellar/StellarExchanges.ts"
import type { SorobanView } from "../../../domain/transaction/stellar/StellarSeen.ts"
import { decode } from "../../chains/stellar/StellarDecoding.ts"
import { withSignatures } from "../../chains/stellar/StellarEnvelopes.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import { isSignedBy, networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import type { OwnAccounts } from "../../lanes/stellar/OwnAccounts.ts"
import { prepared } from "../../lanes/stellar/StellarPreparing.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import type { Sender, Signing } from "../Intake.ts"
import { TransactionLimitExceeded } from "../../../domain/transaction/TransactionLimits.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import { unanswered } from "../Senders.ts"
import { feesOf } from "./RelayerChain.ts"
import * as RelayerChain from "./RelayerChain.ts"
import { beyondLimits, limited, locksReserve } from "./StellarChecks.ts"

const field = "unsigned_xdr"

const refused = (found: Refusal) => BadRequest.of([violationOf(found, field)])

/** Why a call is not signed. The caller gets no second try of the service: what is not certain to work is refused. */
const failureOf = (view: SorobanView | undefined): Refusal | undefined => {
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

interface Examined {
  readonly request: StellarRequest
  readonly envelope: TransactionEnvelope
  readonly now: Moment
}

export const make = Effect.fnUntraced(function* (ownAccounts: OwnAccounts) {
  const chain = yield* RelayerChain.make
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
    return yield* BadRequest.of([{ field, message }])
  })

  /** What needs the chain, and then the signature. */
  const prepare = Effect.fnUntraced(function* (sender: Sender<Stellar>, { envelope, now, request }: Examined) {
    const lib = yield* library
    const { account, target } = sender
    const { address } = account
    const providers = yield* chain.providersOf(sender)
    const { newest, of } = yield* chain.look(providers, [address])
    const payer = of.get(address)
    const { preparation } = yield* prepared({
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
    const found = broken ?? hidden ?? failureOf(soroban)
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
      if (beyond !== undefined) return yield* TransactionLimitExceeded.of(violationOf(beyond, field), prefix)
      const request = limited({ transaction_xdr: unsigned_xdr }, limits)
      return { identity: envelope.hash, unsigned: prepare(sender, { request, envelope, now }) }
    }),
    show: ({ raw }) => ({ signedXdr: base64(raw), signature: base64(raw.slice(-signatureBytes)) })
  }
  return signing
})
