// What the chain says about bytes now: every rule with the accounts that it reads, and the simulation. For bytes that callers get
// signed or simulated at once; lanes do the same before their signatures (`lanes/solana/SolanaPreparing.ts`).
import { Effect, Result } from "effect"
import { brokenRule, spendingOf } from "../../../domain/transaction/solana/Guard.ts"
import type { Guarded } from "../../../domain/transaction/solana/Guard.ts"
import { extensionUsed, loadedBy } from "../../../domain/transaction/solana/Instruction.ts"
import type { SolanaTarget } from "../../../domain/transaction/solana/Solana.ts"
import { isRefusal } from "../../../domain/transaction/solana/Spending.ts"
import type { Spending } from "../../../domain/transaction/solana/Spending.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { readAccounts, readRent, readTables } from "../../chains/solana/SolanaStates.ts"
import { verify } from "../../lanes/solana/SolanaPayments.ts"
import { chargeOf } from "../../lanes/solana/SolanaPrices.ts"
import type { PriceSource } from "../../prices/PriceSource.ts"
import * as Simulations from "../../lanes/solana/SolanaSimulations.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { priceUnavailable } from "../Exchanges.ts"
import { unanswered } from "../Senders.ts"

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

const nothing: Spending = { out: 0n, spent: 0n, receivers: [] }

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
const simulate = Effect.fnUntraced(function* (
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
const payment = Effect.fnUntraced(function* (
  examiner: Examiner,
  { form, transaction }: Guarded,
  loaded: ReadonlyArray<string>,
  fee: bigint
) {
  if (form !== "sponsored") return undefined
  const verdict = yield* verify({ ...examiner, transaction, loaded, fee })
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
  if (tables === "missing_table") return { broken: missingTable, spending: nothing } satisfies Examined
  const extendedIn = extensionUsed(transaction.message, tables)
  if (extendedIn !== undefined) {
    const epoch = yield* Effect.result(providers.first((node) => node.call(Calls.epochInfo)))
    if (Result.isFailure(epoch)) return yield* unanswered("says which slot is finalized")
    if (extendedIn > epoch.success.absoluteSlot) {
      return { broken: youngTable(extendedIn), spending: nothing } satisfies Examined
    }
  }
  const resolved = loadedBy(transaction.message, tables)
  const loaded = isRefusal(resolved) ? [] : resolved
  const [accounts, rent] = yield* Effect.all(
    [readAccounts(providers, transaction, loaded), Effect.result(readRent(providers))],
    { concurrency: "unbounded" }
  )
  const read = { tables, accounts, ...present("rent", Result.getOrUndefined(rent)) }
  const fee = yield* chargeOf(providers, transaction)
  const broken = brokenRule({ ...guarded, read, fee })
  if (broken?.code === "account_unavailable") return yield* unanswered("has the accounts that it spends from")
  const declared = spendingOf({ ...guarded, read })
  const spending = isRefusal(declared) ? nothing : declared
  if (broken !== undefined) return { broken, spending, fee } satisfies Examined
  const paid = yield* payment(examiner, guarded, loaded, fee)
  if (paid?._tag === "Unpaid") {
    return { broken: { code: "payment_missing", message: paid.problem }, spending, fee } satisfies Examined
  }
  const expected = { out: spending.out, ...present("paid", paid) }
  const simulated = yield* simulate(providers, guarded, loaded, expected)
  const examined: Examined = {
    spending,
    fee,
    simulation: simulated.simulation,
    ...(simulated.broken === undefined ? {} : { broken: simulated.broken })
  }
  return examined
})
