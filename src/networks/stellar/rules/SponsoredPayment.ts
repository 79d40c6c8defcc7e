// Envelopes whose user pays the relayer in a token: by a payment of a credit, or by a call that the forwarder of the network passes on.
import { Equal, Result } from "effect"
import { lessSlippage, unitsFor } from "../../../domain/price/Price.ts"
import type { PriceSource, TokenPrice } from "../../../domain/price/Price.ts"
import type { StellarPolicy } from "../../../domain/relayer/Policy.ts"
import { refusal, refuse } from "./Envelope.ts"
import type { AuthEntry, Call, GuardRule, Refusal, TransactionEnvelope } from "./Envelope.ts"
import { parseAddress } from "../../../domain/chain/StrKey.ts"
import { fromParts } from "./StellarValues.ts"
import type { ScVal } from "./StellarValues.ts"

export type FeeToken = NonNullable<StellarPolicy["allowed_tokens"]>[number]

/** What the policy says about payments of users. */
export interface PaymentTerms {
  readonly relayer: string
  /** Absent in the policy: none. */
  readonly tokens: ReadonlyArray<FeeToken>
  /** Absent: there are no prices. */
  readonly priceSource?: PriceSource
  /** Percentages. */
  readonly margin: number
  readonly slippage: number
}

/** A classic token: neither XLM nor a contract. */
export interface Credit {
  readonly code: string
  readonly issuer: string
}

/** Parses `CODE:ISSUER`. Undefined: the text is something else, or the issuer is not a valid address. */
export const creditOf = (asset: string): Credit | undefined => {
  const [code = "", issuer = ""] = asset.split(":")
  return parseAddress(issuer)?.kind === "account" ? { code, issuer } : undefined
}

/** The payment of a user to the relayer. */
export interface UserPayment {
  readonly token: FeeToken
  readonly credit: Credit
  readonly payer: string
  readonly amount: bigint
}

const insufficient = (detail: string): Refusal => refusal("payment_insufficient", detail)

/** Only a plain payment to the exact address counts, and there must be exactly one. */
export const paymentIn = (
  { operations, source }: TransactionEnvelope,
  { relayer, tokens }: PaymentTerms
): Result.Result<UserPayment, Refusal> => {
  const toRelayer = operations.flatMap((operation) =>
    operation.type === "payment" && operation.destination.address === relayer && !operation.destination.isMuxed
      ? [operation]
      : []
  )
  const [payment] = toRelayer
  if (payment === undefined || toRelayer.length > 1) {
    return refuse("payment_insufficient", `expected one payment to ${relayer}, found ${toRelayer.length}`)
  }
  const { amount, asset } = payment
  const token = tokens.find((one) => one.asset === asset)
  const credit = creditOf(asset)
  return token === undefined || credit === undefined
    ? refuse("payment_insufficient", `${asset} is no token in allowed_tokens of the relayer's policy`)
    : Result.succeed({ token, credit, payer: (payment.source ?? source).address, amount })
}

/** The trust line of an account for a credit. */
export interface Trustline {
  readonly balance: bigint
  readonly sellingLiabilities: bigint
  readonly buyingLiabilities: bigint
  readonly limit: bigint
  readonly isAuthorized: boolean
  readonly hasClawback: boolean
}

/** The accounts of a payment at one ledger. An issuer needs no trust line for its own credit. */
export interface PaidAccounts {
  /** Whether the issuer can claw back from new trust lines. */
  readonly issuerClawsBack: boolean
  /** Undefined: there is no trust line. */
  readonly payer: Trustline | "issuer" | undefined
  readonly relayer: Trustline | "issuer" | undefined
}

/** Why users cannot pay with the token: its issuer can take payments back, or the relayer cannot receive it. */
export const tokenProblem = (asset: string, { issuerClawsBack, relayer }: PaidAccounts): Refusal | undefined => {
  if (issuerClawsBack || (relayer !== "issuer" && relayer?.hasClawback === true)) {
    return refusal("fee_token_clawback", `the issuer of ${asset} can take payments back`)
  }
  if (relayer === "issuer" || relayer?.isAuthorized === true) return undefined
  return insufficient(`the relayer has no trust line of ${asset} that can receive payments`)
}

/** Why the payment would fail, by the accounts of the ledger. */
export const payerProblem = (
  { amount, payer: address, token: { asset } }: Pick<UserPayment, "amount" | "payer" | "token">,
  { payer, relayer }: PaidAccounts
): Refusal | undefined => {
  if (relayer !== "issuer" && relayer !== undefined) {
    const free = relayer.limit - relayer.balance - relayer.buyingLiabilities
    if (free < amount) return insufficient(`the relayer's trust line can receive ${free} units of ${asset}`)
  }
  if (payer === "issuer") return undefined
  if (payer?.isAuthorized !== true) return insufficient(`${address} has no trust line of ${asset} that can pay`)
  const spendable = payer.balance - payer.sellingLiabilities
  return spendable < amount
    ? insufficient(`${address} has ${spendable} units of ${asset}, the payment is ${amount}`)
    : undefined
}

/** A payment with the present price of its token. */
export interface PricedPayment {
  readonly asset: string
  readonly amount: bigint
  readonly price: TokenPrice
  /** Percentage. */
  readonly slippage: number
}

/** The smallest payment that covers a fee bump at the present price. */
export const leastPayment = (fee: bigint, { price, slippage }: Pick<PricedPayment, "price" | "slippage">): bigint =>
  lessSlippage(unitsFor(fee, price), slippage)

/** `fee`: stroops of the fee bump. */
export const amountProblem = (payment: PricedPayment, fee: bigint): Refusal | undefined => {
  const { amount, asset } = payment
  const least = leastPayment(fee, payment)
  return amount < least
    ? insufficient(`the payment is ${amount} units of ${asset}, at least ${least} are needed at the present price`)
    : undefined
}

// Calls of contracts whose user pays the fee in a token. A contract, the forwarder of the network, passes the call on and gives the
// fee to the relayer: both happen, or nothing.

/** The function of the forwarder, with the names of its arguments. The user signs all but the fee, the user and the relayer. */
export const forwardFunction = "forward"
const unsignedByUser: ReadonlySet<number> = new Set([1, 7, 8])

/** The arguments that the user signs, in their order. */
export const signedByUser = <A>(args: ReadonlyArray<A>): ReadonlyArray<A> =>
  args.filter((_, index) => !unsignedByUser.has(index))

/** What a forwarder does. Amounts in units of the token. */
export interface Forwarding {
  /** A contract. */
  readonly token: string
  readonly fee: bigint
  /** The most that the user lets the forwarder take. */
  readonly maxFee: bigint
  /** The last ledger at which the user's authorization counts. */
  readonly untilLedger: number
  readonly target: Call
  readonly user: string
  readonly relayer: string
}

/** The contract that has to forward the call, and the account that has to get the fee. */
interface ExpectedForward {
  /** Undefined: the network has no forwarder. */
  readonly forwarder?: string
  readonly relayer: string
}

const addressIn = (value: ScVal | undefined): string | undefined =>
  value !== undefined && "address" in value ? value.address : undefined

const amountIn = (value: ScVal | undefined): bigint | undefined =>
  value !== undefined && "i128" in value ? fromParts(value.i128) : undefined

const argumentsOf = ({ args }: Call): Forwarding | undefined => {
  const [token, fee, maxFee, until, contract, name, targetArgs, user, relayer] = args
  const addresses = [token, contract, user, relayer].map(addressIn)
  const [tokenAddress, target, userAddress, relayerAddress] = addresses
  const [amount, most] = [amountIn(fee), amountIn(maxFee)]
  if (tokenAddress === undefined || target === undefined || amount === undefined || most === undefined) return undefined
  if (userAddress === undefined || relayerAddress === undefined) return undefined
  if (until === undefined || !("u32" in until) || name === undefined || !("symbol" in name)) return undefined
  if (targetArgs === undefined || !("vec" in targetArgs)) return undefined
  return {
    token: tokenAddress,
    fee: amount,
    maxFee: most,
    untilLedger: until.u32,
    target: { contract: target, name: name.symbol, args: targetArgs.vec },
    user: userAddress,
    relayer: relayerAddress
  }
}

/** The user authorizes the forward, and what is below it. */
const isOfUser = ({ credentials, root }: AuthEntry, call: Call, { untilLedger, user }: Forwarding): boolean =>
  credentials.kind === "address" &&
  credentials.address === user &&
  credentials.delegates.length === 0 &&
  credentials.untilLedger === untilLedger &&
  Equal.equals(root.call, { ...call, args: signedByUser(call.args) })

/** The relayer authorizes the forward and nothing below it, so that the call can take nothing from the relayer. */
const isOfRelayer = ({ credentials, root }: AuthEntry, call: Call): boolean =>
  credentials.kind === "source" && root.below.length === 0 && Equal.equals(root.call, call)

const notForward = refuse(
  "not_built_here",
  "the envelope is no call of the network's fee_forwarder by this relayer for a user"
)

/** The forward in an envelope that does nothing else. */
export const forwardingIn = (
  { operations }: TransactionEnvelope,
  { forwarder, relayer }: ExpectedForward
): Result.Result<Forwarding, Refusal> => {
  const [operation] = operations
  if (forwarder === undefined || operations.length !== 1) return notForward
  if (operation?.type !== "invokeHostFunction" || operation.host.kind !== "call") return notForward
  const { call } = operation.host
  const found = call.contract === forwarder && call.name === forwardFunction ? argumentsOf(call) : undefined
  const [ofUser, ofRelayer, ...more] = operation.auth
  if (found?.relayer !== relayer || ofUser === undefined || ofRelayer === undefined || more.length > 0)
    return notForward
  return isOfUser(ofUser, call, found) && isOfRelayer(ofRelayer, call) ? Result.succeed(found) : notForward
}

/** The envelope only forwards a call of a user. */
export const forwards: GuardRule = (envelope, terms) =>
  Result.getOrUndefined(Result.flip(forwardingIn(envelope, terms)))

/** A call that the service built for a user, as it was stored: the user's entry in base64, without its signature. */
export interface BuiltCall {
  readonly entry: string
}

export const unknownBuild = refusal(
  "not_built_here",
  "signed_auth_entry is only accepted with an envelope that this service built for the relayer in the last 5 minutes"
)

/** The user may only add the signature of the entry. */
export const entryProblem = ({ entry }: BuiltCall, { unsigned, xdr }: AuthEntry): Refusal | undefined => {
  if (unsigned !== entry) {
    return refusal("not_built_here", "differs from the user_auth_entry that this service built, besides the signature")
  }
  return xdr === unsigned ? refusal("xdr_unsigned", "has no signature of the user") : undefined
}
