// Checks of bytes for requests: what the message itself says, then all rules with the accounts that they read, then the simulation.
import { Effect, Option, Result } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import type { PriceSource } from "../../../server/prices/PriceSource.ts"
import { priceUnavailable } from "../../../server/transactions/Exchanges.ts"
import { makeRelayerProviders, unanswered } from "../../../server/transactions/Intake.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import { present } from "../../core/Presentation.ts"
import { exceeded, TransactionLimitExceeded } from "../../core/TransactionLimits.ts"
import type { NetworkLimits } from "../../core/TransactionLimits.ts"
import { derivations, isSignedBy, readAccounts, readRent, readTables } from "../chain/SolanaAccounts.ts"
import * as Calls from "../chain/SolanaCalls.ts"
import { SolanaNodes } from "../chain/SolanaCalls.ts"
import type { SolanaProviders } from "../chain/SolanaCalls.ts"
import * as Simulations from "../lane/SolanaSimulations.ts"
import { feeCharged, verifyPayment } from "../lane/SolanaSimulations.ts"
import { brokenRule, brokenSignature, missingPayment, paymentsOf, spendingOf } from "../rules/Guard.ts"
import type { Form, Guarded } from "../rules/Guard.ts"
import { extensionUsed, instructionsOf, isTokenProgram, loadedBy, refusal } from "../rules/Programs.ts"
import type { Refusal } from "../rules/Programs.ts"
import { addedTo, brokenPrice, draftOf } from "../rules/RequestBytes.ts"
import type { SolanaRequest, SolanaTarget } from "../rules/Solana.ts"
import { guardTermsOf, paymentTermsOf, paysFees } from "../rules/SolanaTerms.ts"
import { isRefusal } from "../rules/Spending.ts"
import type { Spending } from "../rules/Spending.ts"

export interface Allowance {
  readonly limits: NetworkLimits | undefined
  readonly prefix: string
}

const fieldOf = ({ transaction }: SolanaRequest): string => (transaction === undefined ? "instructions" : "transaction")

const refused = (request: SolanaRequest, prefix: string, { code, message }: { code: string; message: string }) =>
  BadRequest.of([{ field: `${prefix}${fieldOf(request)}`, message: `${code}: ${message}` }])

/** Tables are resolved before the signature: until then, a transfer of tokens whose accounts they load may be a payment. */
const brokenPayment = ({ transaction: { message } }: Guarded, target: SolanaTarget): Refusal | undefined => {
  const terms = paymentTermsOf(target)
  const instructions = instructionsOf(message)
  const isOpen = instructions.some(({ program, accounts }) => isTokenProgram(program) && accounts.includes(""))
  if (isOpen && terms.tokens.length > 0) return undefined
  const signers = new Set(message.keys.slice(0, message.signers))
  return paymentsOf(instructions, signers, terms, derivations).length > 0
    ? undefined
    : refusal("payment_missing", missingPayment(terms))
}

/**
 * What the message spends from the relayer, against the limits of the API key. `spending`: with the accounts that were read. Absent:
 * what the message itself says.
 */
export const limitViolation = (
  guarded: Guarded,
  field: string,
  limits: NetworkLimits | undefined,
  spending = spendingOf(guarded)
): Violation | undefined => {
  if (limits === undefined) return undefined
  const { max_value, receivers } = limits
  if (isRefusal(spending)) return undefined
  const value = max_value === undefined ? {} : { max_value }
  const found = exceeded("solana", { value: spending.spent, receivers: [] }, value)
  if (found !== undefined) return { ...found, field }
  const terms = { ...guarded.terms, ...(receivers === undefined ? {} : { receivers }) }
  const broken = brokenRule({ ...guarded, terms })
  return broken === undefined ? undefined : { field, message: `${broken.code}: ${broken.message}` }
}

/** The bytes of a request, or a draft of them, that break no rule which needs no chain. */
export const checkBytes = Effect.fnUntraced(function* (
  request: SolanaRequest,
  target: SolanaTarget,
  { form, limits, prefix }: Allowance & { readonly form: Form }
) {
  const drafted = draftOf(request, { payer: target.relayer.address, tables: new Map() })
  if (Result.isFailure(drafted)) return yield* refused(request, prefix, drafted.failure)
  const transaction = drafted.success
  const added = addedTo(request, transaction.message)
  const guarded: Guarded = { transaction, form, added, terms: guardTermsOf(target, request), derivations }
  const broken =
    brokenRule(guarded) ??
    brokenPrice(request, transaction, guarded.terms) ??
    (paysFees(target) || request.transaction === undefined ? undefined : brokenPayment(guarded, target)) ??
    (request.transaction === undefined ? undefined : brokenSignature(drafted.success, isSignedBy))
  if (broken !== undefined) return yield* refused(request, prefix, broken)
  const limit = limitViolation(guarded, fieldOf(request), limits)
  if (limit !== undefined) return yield* TransactionLimitExceeded.of(limit, prefix)
  return guarded
})

// The providers of a solana relayer, for requests.

export const makeSolanaProvidersOf = Effect.gen(function* () {
  const nodes = yield* SolanaNodes
  const ledger = yield* Ledger
  const { first, of } = yield* makeRelayerProviders((urls, genesis: string | undefined) =>
    nodes.providers(urls, genesis)
  )
  return {
    first,
    /** A relayer that has sent nothing has no lane yet, which would know the first block. */
    of: ({ relayer, account }: Sender) =>
      Effect.flatMap(ledger.laneOf(account), (lane) => of(relayer.id, Option.getOrUndefined(lane)?.genesis))
  }
})

// What the chain says about bytes now: every rule with the accounts that it reads, and the simulation. For bytes that callers get
// signed or simulated at once; lanes do the same before their signatures (`lanes/solana/SolanaPreparing.ts`).

interface Broken {
  readonly code: string
  readonly message: string
}

interface Examined {
  /** The first thing that keeps it from being signed. Absent: nothing. */
  readonly broken?: Broken
  readonly spending: Spending
  /** Lamports that the message costs. Absent: it was not asked for. */
  readonly fee?: bigint
  readonly simulation?: Simulations.Simulation
}

const unspent: Spending = { out: 0n, spent: 0n, receivers: [] }

const missingTable: Broken = {
  code: "lookup_table_unresolved",
  message: "a lookup table does not exist, is deactivated, or is too short"
}

const disagreement: Broken = { code: "providers_disagree", message: "it fails at one provider and succeeds at another" }

const youngTable = (slot: number): Broken => ({
  code: "lookup_table_unavailable",
  message: `it uses an entry of a lookup table that was extended in slot ${slot}, which is not finalized yet; try again in some seconds`
})

const unknownEntry: Broken = {
  code: "lookup_table_unavailable",
  message: "a provider does not know an entry of a lookup table yet; try again in some seconds"
}

/** Undefined: the simulation allows the signature. */
const brokenBy = ({ verdict, found }: Simulations.Simulation, expected: Simulations.Expected): Broken | undefined => {
  if (verdict === "Disagrees") return disagreement
  if (verdict === "TableUnknown") return unknownEntry
  if (verdict !== "Succeeds") {
    const { error = "unknown" } = found ?? {}
    return { code: "would_fail", message: `the simulation fails with ${error}` }
  }
  return found && Simulations.brokenAfter(found, expected)
}

/** Simulations of one message until one compares accounts of one slot. A slot takes 400 ms, so a second one mostly suffices. */
const maxLooks = 5

/**
 * A broken rule is looked at once more, because a provider may be behind, and again while other transactions may have changed the
 * accounts between the two reads of a simulation.
 */
const simulateBytes = Effect.fnUntraced(function* (
  providers: SolanaProviders,
  { transaction }: Guarded,
  loaded: ReadonlyArray<string>,
  expected: Simulations.Expected
) {
  const look = Effect.map(Simulations.simulate(providers, transaction, loaded), (simulation) => ({
    simulation,
    broken: brokenBy(simulation, expected)
  }))
  let looks = 1
  let found = yield* look
  const isOpen = () => looks < 2 || (looks < maxLooks && found.simulation.found?.isOfOneSlot === false)
  while (found.simulation.verdict === "Succeeds" && found.broken !== undefined && isOpen()) {
    found = yield* look
    looks++
  }
  return found.simulation.verdict === "Unknown" ? yield* unanswered("simulates the transaction") : found
})

interface Examiner {
  readonly providers: SolanaProviders
  readonly prices: PriceSource["Service"]
  readonly target: SolanaTarget
}

/** Undefined: the message may break the rule, or the relayer pays the fee itself. */
const examinePayment = Effect.fnUntraced(function* (
  examiner: Examiner,
  { form, transaction }: Guarded,
  loaded: ReadonlyArray<string>,
  fee: bigint
) {
  if (form !== "sponsored") return undefined
  const verdict = yield* verifyPayment({ ...examiner, transaction, loaded, fee })
  if (verdict._tag === "Unreadable") return yield* unanswered("has the accounts of the payment")
  if (verdict._tag === "NoPrice") return yield* priceUnavailable(verdict.problem)
  return verdict
})

/** Fails if no provider answers what the rules need, or if there is no price for a payment. */
export const examine = Effect.fnUntraced(function* (examiner: Examiner, guarded: Guarded) {
  const { transaction } = guarded
  const { providers } = examiner
  const tables = yield* readTables(
    providers,
    transaction.message.tables.map(({ table }) => table)
  )
  if (tables === "table_unavailable") return yield* unanswered("has the lookup tables")
  if (tables === "missing_table") return { broken: missingTable, spending: unspent } satisfies Examined
  const extendedIn = extensionUsed(transaction.message, tables)
  if (extendedIn !== undefined) {
    const epoch = yield* Effect.result(providers.first((node) => node.call(Calls.epochInfo)))
    if (Result.isFailure(epoch)) return yield* unanswered("says which slot is finalized")
    if (extendedIn > epoch.success.absoluteSlot) {
      return { broken: youngTable(extendedIn), spending: unspent } satisfies Examined
    }
  }
  const resolved = loadedBy(transaction.message, tables)
  const loaded = isRefusal(resolved) ? [] : resolved
  const [accounts, rent] = yield* Effect.all(
    [readAccounts(providers, transaction, loaded), Effect.result(readRent(providers))],
    { concurrency: "unbounded" }
  )
  const read = { tables, accounts, ...present("rent", Result.getOrUndefined(rent)) }
  const fee = yield* feeCharged(providers, transaction)
  const broken = brokenRule({ ...guarded, read, fee })
  if (broken?.code === "account_unavailable") return yield* unanswered("has the accounts that it spends from")
  const declared = spendingOf({ ...guarded, read })
  const spending = isRefusal(declared) ? unspent : declared
  if (broken !== undefined) return { broken, spending, fee } satisfies Examined
  const paid = yield* examinePayment(examiner, guarded, loaded, fee)
  if (paid?._tag === "Unpaid") {
    return { broken: { code: "payment_missing", message: paid.problem }, spending, fee } satisfies Examined
  }
  const expected = { out: spending.out, ...present("paid", paid) }
  const simulated = yield* simulateBytes(providers, guarded, loaded, expected)
  const examined: Examined = {
    spending,
    fee,
    simulation: simulated.simulation,
    ...(simulated.broken === undefined ? {} : { broken: simulated.broken })
  }
  return examined
})
