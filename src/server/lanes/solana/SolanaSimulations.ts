// Simulations of a message before it is signed. They protect users from transactions that fail; for the relayer they are a second
// line behind the rules, because the chain can change between simulation and execution.
import { Effect, Result } from "effect"
import { base64Of } from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import { feeOf } from "../../../domain/transaction/solana/Fee.ts"
import { aboutMessage } from "../../../domain/transaction/solana/SendAnswer.ts"
import type { Simulated } from "../../../domain/transaction/solana/Preparation.ts"
import { systemProgram, tokenProgram, token2022Program } from "../../../domain/transaction/solana/Programs.ts"
import { instructionsOf, refusal } from "../../../domain/transaction/solana/Instruction.ts"
import type { Refusal } from "../../../domain/transaction/solana/Instruction.ts"
import { isKept } from "../../../domain/transaction/solana/Payment.ts"
import type { Payment } from "../../../domain/transaction/solana/Payment.ts"
import type { RuleCode } from "../../../domain/transaction/solana/SolanaCode.ts"
import { brokenSimulation } from "../../../domain/transaction/solana/SimulatedRules.ts"
import type { SimulatedAccounts } from "../../../domain/transaction/solana/SimulatedRules.ts"
import type { WireTransaction } from "../../../domain/transaction/solana/Message.ts"
import { isWritable } from "../../../domain/transaction/solana/Message.ts"
import { transactionBytes } from "../../../domain/transaction/solana/WireEncoding.ts"
import * as Accounts from "../../chains/solana/SolanaAccounts.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import type { AccountInfo } from "../../chains/solana/SolanaCalls.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"

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

type SimulatedRule = Extract<Simulated, { readonly _tag: "Broken" }>["code"]

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
  return isKept(paid.payment, paid.least, charged, accounts)
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
): Simulated => {
  if (verdict === "Fails") return { _tag: "Fails", error: found?.error ?? "" }
  if (verdict !== "Succeeds" || found === undefined) return { _tag: verdict === "Succeeds" ? "Unknown" : verdict }
  const broken = brokenAfter(found, expected)
  if (broken === undefined) return { _tag: "Succeeds" }
  const { code } = broken
  if (!isSimulatedRule(code)) return { _tag: "Unknown" }
  const isRepeated = found.isOfOneSlot && brokenBefore !== undefined && brokenBefore < found.slot
  return isRepeated ? { _tag: "Broken", code } : { _tag: "BrokenOnce" }
}
