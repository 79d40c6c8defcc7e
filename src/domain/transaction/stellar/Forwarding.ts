// Calls of contracts whose user pays the fee in a token. A contract, the forwarder of the network, passes the call on and gives the
// fee to the relayer: both happen, or nothing.
import { Equal, Result } from "effect"
import type { AuthEntry, Call, TransactionEnvelope } from "./Envelope.ts"
import type { Rule } from "./GuardRules.ts"
import { refusal, refuse } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { fromParts } from "./ScVal.ts"
import type { ScVal } from "./ScVal.ts"

/** The function of the forwarder, with the names of its arguments. The user signs all but the fee, the user and the relayer. */
export const forward = "forward"
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

/** Whom the forwarder has to be, and who has to get the fee. */
interface Expected {
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

const other = refuse(
  "not_built_here",
  "the envelope is no call of the network's fee_forwarder by this relayer for a user"
)

/** The forward in an envelope that does nothing else. */
export const forwardingIn = (
  { operations }: TransactionEnvelope,
  { forwarder, relayer }: Expected
): Result.Result<Forwarding, Refusal> => {
  const [operation] = operations
  if (forwarder === undefined || operations.length !== 1) return other
  if (operation?.type !== "invokeHostFunction" || operation.host.kind !== "call") return other
  const { call } = operation.host
  const found = call.contract === forwarder && call.name === forward ? argumentsOf(call) : undefined
  const [ofUser, ofRelayer, ...more] = operation.auth
  if (found?.relayer !== relayer || ofUser === undefined || ofRelayer === undefined || more.length > 0) return other
  return isOfUser(ofUser, call, found) && isOfRelayer(ofRelayer, call) ? Result.succeed(found) : other
}

/** The envelope only forwards a call of a user. */
export const forwards: Rule = (envelope, terms) => Result.getOrUndefined(Result.flip(forwardingIn(envelope, terms)))

/** A call that the service built for a user, as it was stored: the user's entry in base64, without its signature. */
export interface Built {
  readonly entry: string
}

export const unknownBuild = refusal(
  "not_built_here",
  "signed_auth_entry is only accepted with an envelope that this service built for the relayer in the last 5 minutes"
)

/** The user may only add the signature of the entry. */
export const entryProblem = ({ entry }: Built, { unsigned, xdr }: AuthEntry): Refusal | undefined => {
  if (unsigned !== entry) {
    return refusal("not_built_here", "differs from the user_auth_entry that this service built, besides the signature")
  }
  return xdr === unsigned ? refusal("xdr_unsigned", "has no signature of the user") : undefined
}
