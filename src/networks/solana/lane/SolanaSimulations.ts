// What the chain says of a message before it is signed: its simulation, the payment of its user, and the prices of compute units.
import { Effect, Result } from "effect"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { PriceSource } from "../../../server/prices/PriceSource.ts"
import { present } from "../../core/Presentation.ts"
import * as Accounts from "../chain/SolanaAccounts.ts"
import { derivations } from "../chain/SolanaAccounts.ts"
import * as Calls from "../chain/SolanaCalls.ts"
import type { AccountInfo, SolanaProviders } from "../chain/SolanaCalls.ts"
import {
  brokenSimulation,
  isPaymentKept,
  leastPayment,
  missingPayment,
  nativePrice,
  nativeToken,
  paymentProblem,
  paymentsOf,
  paymentTooLow
} from "../rules/Guard.ts"
import type { FeeToken, Payment, PaymentTerms, SimulatedAccounts } from "../rules/Guard.ts"
import { isWritable } from "../rules/Message.ts"
import type { WireTransaction } from "../rules/Message.ts"
import {
  feeOf,
  instructionsOf,
  refusal,
  systemProgram,
  token2022Program,
  tokenProgram,
  totalFee
} from "../rules/Programs.ts"
import type { Refusal } from "../rules/Programs.ts"
import type { SolanaTarget } from "../rules/Solana.ts"
import { base64Of } from "../rules/SolanaExchanges.ts"
import * as Numbers from "../rules/SolanaNumbers.ts"
import { maxMintBytes } from "../rules/SolanaNumbers.ts"
import { aboutMessage } from "../rules/SolanaRules.ts"
import type { SimulationVerdict } from "../rules/SolanaSeen.ts"
import { paymentTermsOf } from "../rules/SolanaTerms.ts"
import type { RuleCode } from "../rules/SolanaWords.ts"
import { transactionBytes } from "../rules/Wire.ts"

/** The instruction CloseAccount of the token programs. */
const closeAccount = 9

const closedBy = ({ message }: WireTransaction, loaded: ReadonlyArray<string>): ReadonlyArray<string> =>
  instructionsOf(message, loaded).flatMap(({ program, accounts: [account = ""], data }) =>
    (program === tokenProgram || program === token2022Program) && data[0] === closeAccount ? [account] : []
  )

const stateOf = (account: AccountInfo | undefined) => ({
  lamports: account?.lamports ?? 0n,
  owner: account?.owner ?? systemProgram,
  dataBytes: account === undefined ? 0 : Accounts.dataOf(account).length
})

const tokenStateOf = (account: AccountInfo) => ({
  ...Accounts.authoritiesOf(account),
  amount: Accounts.amountOf(account)
})

/** Token accounts of the relayer that the message writes, as they are now. */
const ownTokensOf = (
  { message }: WireTransaction,
  addresses: ReadonlyArray<string>,
  before: ReadonlyMap<string, AccountInfo | undefined>
): ReadonlyArray<string> =>
  addresses.filter((address, index) => {
    if (index === 0 || !isWritable(message, index)) return false
    const state = Accounts.stateOf(before.get(address))
    return state._tag === "Token" && state.owner === addresses[0]
  })

type SimulatedRule = Extract<SimulationVerdict, { readonly _tag: "Broken" }>["code"]

const simulatedRules: ReadonlyArray<RuleCode> = [
  "lamports_out",
  "fee_payer_changed",
  "authority_changed",
  "payment_missing"
] satisfies ReadonlyArray<SimulatedRule>

const isSimulatedRule = (code: RuleCode): code is SimulatedRule => simulatedRules.includes(code)

interface OneSimulation {
  readonly unitsConsumed: number | undefined
  /** JSON text, or the words of a node that does not execute such a message. Absent: it succeeds. */
  readonly error?: string
  /** The node does not know an entry of a lookup table yet. */
  readonly isTableUnknown?: true
  /** The node does not read such bytes. */
  readonly isUnread?: true
  /** Lamports of the fee that it names for the message. Absent: nodes before Agave 4.0 name none. */
  readonly fee?: bigint
  /** Lamports that the fee of the simulated message takes: those that the node names, else those that are computed. */
  readonly charged: bigint
  /** Absent: it fails, and no node shows accounts then. */
  readonly accounts?: SimulatedAccounts
  readonly logs: ReadonlyArray<string>
  readonly slot: number
  /** Whether the accounts before it are those of the same slot. If not, another transaction may have changed them in between. */
  readonly isOfOneSlot: boolean
}

/** Characters of what a node says that are shown. */
const maxWords = 200

/** A node that says about the message that it cannot be executed has an opinion about it. */
const simulated = Effect.fnUntraced(function* (node: RpcNode, call: ReturnType<typeof Calls.simulate>) {
  const answer = yield* Effect.result(node.call(call))
  if (Result.isSuccess(answer)) return answer.success
  const { failure } = answer
  if (failure.rpcCode !== Calls.invalidParams) return yield* failure
  const words = yield* node.ask(call)
  const about = words._tag === "RpcError" ? aboutMessage(words) : undefined
  return words._tag !== "RpcError" || about === undefined
    ? yield* failure
    : { about, words: words.message.slice(0, maxWords) }
})

const simulateAt = Effect.fnUntraced(function* (node: RpcNode, wire: WireTransaction, loaded: ReadonlyArray<string>) {
  const { message, messageBytes, signatures } = wire
  const addresses = [...message.keys, ...loaded]
  const [relayer = ""] = addresses
  const { accounts: before, slots } = yield* Accounts.readWithSlots(node, addresses)
  const tokens = ownTokensOf(wire, addresses, before)
  const raw = base64Of(transactionBytes(signatures, messageBytes))
  const answer = yield* simulated(node, Calls.simulate(raw, [relayer, ...tokens]))
  const { total } = feeOf(message)
  if ("about" in answer) {
    const refused: OneSimulation = {
      unitsConsumed: undefined,
      error: answer.words,
      ...(answer.about === "table" ? { isTableUnknown: true } : {}),
      ...(answer.about === "unread" ? { isUnread: true } : {}),
      charged: total,
      logs: [],
      slot: Math.max(...slots),
      isOfOneSlot: true
    }
    return refused
  }
  const { context, value } = answer
  const isSuccess = value.err === null
  const [after, ...others] = value.accounts ?? []
  const pairs = tokens.flatMap((address, index) => {
    const [former, later] = [before.get(address), others[index]]
    if (former === undefined) return []
    const isOpen = later && Accounts.stateOf(later)._tag === "Token"
    return [[address, { before: tokenStateOf(former), ...(isOpen ? { after: tokenStateOf(later) } : {}) }] as const]
  })
  const found: OneSimulation = {
    unitsConsumed: value.unitsConsumed,
    ...(isSuccess ? {} : { error: JSON.stringify(value.err) }),
    ...present("fee", value.fee ?? undefined),
    charged: value.fee ?? total,
    ...(isSuccess
      ? {
          accounts: {
            before: stateOf(before.get(relayer)),
            after: stateOf(after ?? undefined),
            tokens: new Map(pairs),
            closed: closedBy(wire, loaded)
          }
        }
      : {}),
    logs: value.logs ?? [],
    slot: context.slot,
    isOfOneSlot: slots.every((slot) => slot === context.slot)
  }
  return found
})

export interface Simulation {
  readonly verdict: "Succeeds" | "Fails" | "Disagrees" | "FailsAlone" | "TableUnknown" | "Unknown"
  readonly found?: OneSimulation
}

/**
 * A failure needs a second opinion: a node may lag behind what the message needs. `loaded`: what the tables of the message load.
 */
export const simulate = Effect.fnUntraced(function* (
  providers: SolanaProviders,
  wire: WireTransaction,
  loaded: ReadonlyArray<string>
) {
  const asked = yield* Effect.result(
    providers.first((node) => Effect.map(simulateAt(node, wire, loaded), (found) => ({ node, found })))
  )
  if (Result.isFailure(asked)) return { verdict: "Unknown" } satisfies Simulation
  const { node, found } = asked.success
  if (found.error === undefined) return { verdict: "Succeeds", found } satisfies Simulation
  const other = yield* providers.second(node, (second) => simulateAt(second, wire, loaded))
  const isOtherSuccess = other !== "not_configured" && other !== undefined && other.error === undefined
  // What an older release does not read is a matter of that node: the one that executes it decides, as if it had been asked first.
  if (isOtherSuccess && found.isUnread === true) return { verdict: "Succeeds", found: other } satisfies Simulation
  const verdictOf = (): Simulation["verdict"] => {
    if (isOtherSuccess) return "Disagrees"
    const isOtherAnswer = other !== "not_configured" && other !== undefined
    if (found.isTableUnknown === true || (isOtherAnswer && other.isTableUnknown === true)) return "TableUnknown"
    // A node that does not read the message confirms nothing.
    if (isOtherAnswer && other.isUnread === true && found.isUnread !== true) return "FailsAlone"
    return other === undefined ? "FailsAlone" : "Fails"
  }
  const simulation: Simulation = { verdict: verdictOf(), found }
  return simulation
})

/** What a message may take from the relayer, and what it has to give. */
export interface Expected {
  /** Lamports that the message declares to take besides the fee. */
  readonly out: bigint
  /** Absent: the relayer pays the fee itself. */
  readonly paid?: { readonly payment: Payment; readonly least: bigint }
}

/** The first rule that a simulated message breaks (S11, S12, V7). The fee is that of the bytes that were simulated. */
export const brokenAfter = (
  { accounts, charged }: Pick<OneSimulation, "accounts" | "charged">,
  { out, paid }: Expected
): Refusal | undefined => {
  if (accounts === undefined) return undefined
  const broken = brokenSimulation(accounts, charged + out)
  if (broken !== undefined || paid === undefined) return broken
  return isPaymentKept(paid.payment, paid.least, charged, accounts)
    ? undefined
    : refusal(
        "payment_missing",
        "the simulation leaves the relayer less than the payment, so another instruction takes it back"
      )
}

/**
 * `brokenBefore`: the slot in which it broke a rule before; another transaction may have changed the account meanwhile, so a rule
 * has to be broken in two blocks, each time beside accounts of the same slot.
 */
export const judge = (
  { verdict, found }: Simulation,
  expected: Expected,
  brokenBefore: number | undefined
): SimulationVerdict => {
  if (verdict === "Fails") return { _tag: "Fails", error: found?.error ?? "" }
  if (verdict !== "Succeeds" || found === undefined) return { _tag: verdict === "Succeeds" ? "Unknown" : verdict }
  const broken = brokenAfter(found, expected)
  if (broken === undefined) return { _tag: "Succeeds" }
  const { code } = broken
  if (!isSimulatedRule(code)) return { _tag: "Unknown" }
  const isRepeated = found.isOfOneSlot && brokenBefore !== undefined && brokenBefore < found.slot
  return isRepeated ? { _tag: "Broken", code } : { _tag: "BrokenOnce" }
}

// Verifies the payment of a sponsored message against the chain and the present price. Lanes do it before every signature, and
// requests before they answer with a transaction that a lane would refuse.

/** Payments of one message that are read on the chain. A message needs one. */
const maxRead = 4

/** `Unreadable`: no provider gives its accounts. `NoPrice`: there is no price that may be used now. */
type PaymentVerdict =
  | { readonly _tag: "Paid"; readonly payment: Payment; readonly least: bigint }
  | { readonly _tag: "Unpaid"; readonly problem: string }
  | { readonly _tag: "NoPrice"; readonly problem: string }
  | { readonly _tag: "Unreadable" }

/** The price of a token for a relayer. SOL has one without any source. */
export const tokenPriceOf = (
  prices: PriceSource["Service"],
  target: SolanaTarget,
  { mint, price, price_bounds }: FeeToken
) =>
  mint === nativeToken
    ? Effect.succeed(nativePrice)
    : prices.rate({
        network: target.network.id,
        source: paymentTermsOf(target).priceSource,
        token: { id: mint, ...present("price", price), ...present("bounds", price_bounds) }
      })

interface Verifying {
  readonly providers: SolanaProviders
  readonly prices: PriceSource["Service"]
  readonly target: SolanaTarget
  readonly transaction: WireTransaction
  /** Lamports that the message costs. */
  readonly fee: bigint
  /** What the tables of the message load. */
  readonly loaded: ReadonlyArray<string>
}

const verifyOne = Effect.fnUntraced(function* (
  { providers, prices, target, fee }: Verifying,
  terms: PaymentTerms,
  payment: Payment
) {
  const { token, program, source, destination } = payment
  if (program !== systemProgram) {
    const addresses = [source, destination, token.mint]
    const read = yield* Effect.result(providers.first((node) => Accounts.readMany(node, addresses, maxMintBytes)))
    if (Result.isFailure(read)) return { _tag: "Unreadable" } satisfies PaymentVerdict
    const found = read.success
    const problem = paymentProblem(
      payment,
      {
        source: Accounts.stateOf(found.get(source)),
        destination: Accounts.stateOf(found.get(destination)),
        mint: Accounts.mintOf(found.get(token.mint))
      },
      terms
    )
    if (problem !== undefined) return { _tag: "Unpaid", problem } satisfies PaymentVerdict
  }
  const price = yield* Effect.result(tokenPriceOf(prices, target, token))
  if (Result.isFailure(price)) return { _tag: "NoPrice", problem: price.failure.reason } satisfies PaymentVerdict
  const least = leastPayment(fee, price.success, terms)
  const problem = paymentTooLow(payment, least)
  const verdict: PaymentVerdict = problem === undefined ? { _tag: "Paid", payment, least } : { _tag: "Unpaid", problem }
  return verdict
})

/** The first payment that counts. If none counts: why the first one does not. */
export const verifyPayment = Effect.fn("SolanaSimulations.verify")(function* (verifying: Verifying) {
  const { target, transaction, loaded } = verifying
  const { message } = transaction
  const terms = paymentTermsOf(target)
  const signers = new Set(message.keys.slice(0, message.signers))
  const payments = paymentsOf(instructionsOf(message, loaded), signers, terms, derivations)
  let first: PaymentVerdict | undefined
  for (const payment of payments.slice(0, maxRead)) {
    const verdict = yield* verifyOne(verifying, terms, payment)
    if (verdict._tag === "Paid") return verdict
    first ??= verdict
  }
  const none: PaymentVerdict = { _tag: "Unpaid", problem: missingPayment(terms) }
  return first ?? none
})

// The prices of compute units, and the fee of a message.

/** The accounts that set the price of a message. */
export const writtenBy = ({ message }: WireTransaction): ReadonlyArray<string> =>
  message.keys.filter((_, index) => isWritable(message, index)).slice(0, Numbers.maxPricedAccounts)

/**
 * What recent blocks took for the accounts that the message writes, in micro-lamports per compute unit, the lowest first. Nodes keep the
 * newest blocks that had a transaction, of whatever age: those long before `slot` count for nothing.
 */
export const unitPricesOf = (providers: SolanaProviders, wire: WireTransaction, slot: number) =>
  Effect.map(
    providers.first((node) => node.call(Calls.prioritizationFees(writtenBy(wire)))),
    (fees) =>
      fees
        .filter((fee) => fee.slot + Numbers.pricedSlots >= slot)
        .map(({ prioritizationFee }) => prioritizationFee)
        .toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  )

/**
 * Lamports that a message costs. If its bytes leave the limit of compute units to the runtime, a node names them: `named` by its
 * simulation, or when it is asked. Without an answer, the most that they can be.
 */
export const feeCharged = Effect.fnUntraced(function* (
  providers: SolanaProviders,
  { message, messageBytes }: WireTransaction,
  named?: bigint
) {
  const { computeUnitPrice, isBound, signatures, total } = feeOf(message)
  if (isBound !== true) return total
  // One provider says it, so that it counts only within what the rules of the runtime allow.
  const least = totalFee(signatures, computeUnitPrice, Numbers.builtinComputeUnits * message.instructions.length)
  const believed = (lamports: bigint): bigint => (lamports < least ? least : lamports > total ? total : lamports)
  if (named !== undefined) return believed(named)
  const call = Calls.feeForMessage(base64Of(messageBytes))
  const asked = yield* Effect.result(providers.first((node) => node.call(call)))
  return Result.isSuccess(asked) ? believed(asked.success.value ?? total) : total
})
