// Answers what a signature needs to know: the accounts that the rules read, the price, the limit of compute units, and the life of
// the blockhash. It passes every rule again, for first signatures and refreshes alike.
import { Effect, Result } from "effect"
import { feeOf } from "../../../domain/transaction/solana/Fee.ts"
import { brokenRule, spendingOf } from "../../../domain/transaction/solana/Guard.ts"
import type { Guarded, ReadAccounts } from "../../../domain/transaction/solana/Guard.ts"
import type { WireTransaction } from "../../../domain/transaction/solana/Message.ts"
import { listsFeePayer } from "../../../domain/transaction/solana/Message.ts"
import type { Accounts as ReadState, Lifetime, Preparation } from "../../../domain/transaction/solana/Preparation.ts"
import type { Solana, SolanaRequest } from "../../../domain/transaction/solana/Solana.ts"
import { extensionUsed, loadedBy } from "../../../domain/transaction/solana/Instruction.ts"
import { formOf, guardTermsOf } from "../../../domain/transaction/solana/SolanaTerms.ts"
import * as Numbers from "../../../domain/transaction/solana/SolanaNumbers.ts"
import { isRefusal } from "../../../domain/transaction/solana/Spending.ts"
import { addedTo, draftOf, hasOwnBudget, unsignedOf } from "../../../domain/transaction/solana/Unsigned.ts"
import type { Chosen } from "../../../domain/transaction/solana/Unsigned.ts"
import { base64Of } from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import { readAccounts, readRent, readTables } from "../../chains/solana/SolanaStates.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import { derivations } from "../../chains/solana/SolanaKeys.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { newestRequest } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { Inquiry } from "../LaneNetwork.ts"
import { providersOf, shared } from "./SolanaContext.ts"
import type { SolanaContext } from "./SolanaContext.ts"
import * as Lifetimes from "./SolanaLifetimes.ts"
import { chargeOf, limitOf, percentileOf, pricesOf, within, writtenBy } from "./SolanaPrices.ts"
import { verify as verifyPayment } from "./SolanaPayments.ts"
import * as Simulations from "./SolanaSimulations.ts"

interface Work {
  readonly context: SolanaContext
  readonly providers: SolanaProviders
  readonly inquiry: Inquiry<Solana>
  readonly request: SolanaRequest
  readonly now: Moment
}

/** The highest slot that a provider has finalized in this poll. */
const finalizedSlot = ({ inquiry: { seen } }: Work): number =>
  Math.max(0, ...(seen?.looks ?? []).map(({ finalized }) => finalized?.slot ?? 0))

/** Micro-lamports per compute unit: a percentile of what recent blocks took for the accounts that it writes. */
const marketPrice = Effect.fnUntraced(function* (work: Work, wire: WireTransaction) {
  const { context, providers, request, now } = work
  const key = writtenBy(wire).join()
  const sorted = yield* Effect.orElseSucceed(
    shared(context.memory.prices, key, Numbers.sharedFor.prices, now, pricesOf(providers, wire, finalizedSlot(work))),
    (): ReadonlyArray<bigint> => []
  )
  return percentileOf(sorted, request.speed)
})

/** A refresh offers at least one and a half times what the attempt before it offered. */
const priceOf = Effect.fnUntraced(function* (work: Work, wire: WireTransaction) {
  const { request, inquiry } = work
  if (request.compute_unit_price !== undefined) return request.compute_unit_price
  const market = yield* marketPrice(work, wire)
  const former = inquiry.row.transaction.attempts.at(-1)?.offer.computeUnitPrice ?? 0n
  const raised = (former * Numbers.priceRise.numerator) / Numbers.priceRise.denominator
  return market > raised ? market : raised
})

const balanceOf = ({ context, providers, now }: Work) =>
  Effect.map(
    Effect.result(
      shared(
        context.memory.balances,
        context.address,
        Numbers.sharedFor.blockhash,
        now,
        Effect.map(
          providers.first((node) => node.call(Calls.balanceOf(context.address))),
          ({ value }) => value
        )
      )
    ),
    Result.getOrUndefined
  )

const rentOf = ({ context, providers, inquiry, now }: Work) =>
  Effect.map(
    Effect.result(
      shared(context.memory.rents, inquiry.row.relayer.urlsKey, Numbers.sharedFor.rent, now, readRent(providers))
    ),
    Result.getOrUndefined
  )

const lifetimeOf = ({ context, providers, inquiry, now }: Work, wire: WireTransaction): Effect.Effect<Lifetime> => {
  const { transaction, relayer } = inquiry.row
  return transaction.facts.isPrebuilt && transaction.attempts.length === 0
    ? Lifetimes.ofRequest(context, providers, transaction.number, wire.message.blockhash, now)
    : Lifetimes.fresh(context, relayer, providers, now)
}

/**
 * Which open transaction has which message of a blockhash. A process that has just taken the lane finds those that the former
 * one has signed.
 */
const messagesOf = ({ memory, address }: SolanaContext, blockhash: string) => {
  if (memory.messages.blockhash === blockhash) return memory.messages
  const owners = new Map<string, number>()
  for (const { number, attempts, request } of memory.signed) {
    for (const { offer } of attempts.filter((attempt) => attempt.offer.blockhash === blockhash)) {
      const wire = unsignedOf(request, { payer: address, tables: memory.tables }, offer)
      if (Result.isSuccess(wire)) owners.set(base64Of(wire.success.messageBytes), number)
    }
  }
  memory.messages = { blockhash, owners, changes: new Map() }
  return memory.messages
}

/**
 * Equal requests within one blockhash would have one signature, and the chain would execute one of them. The limit of compute
 * units makes them differ; if the request has its own, it waits for the next blockhash. Undefined: it has to wait. It asks nothing,
 * so transactions that are prepared at the same time see each other's bytes.
 */
const distinct = ({ context, inquiry, request }: Work, build: (chosen: Chosen) => WireTransaction, chosen: Chosen) => {
  const { number, facts } = inquiry.row.transaction
  const { owners, changes } = messagesOf(context, chosen.blockhash)
  const { computeUnitLimit: limit } = chosen
  const take = (tried: Chosen) => {
    const wire = build(tried)
    const key = base64Of(wire.messageBytes)
    const owner = owners.get(key) ?? number
    const isTaken = owner !== number
    if (isTaken && !facts.isPrebuilt) return { key, found: undefined }
    owners.set(key, owner)
    return { key, found: { wire, chosen: tried, isRepeated: isTaken } }
  }
  const { key, found } = take(chosen)
  if (found !== undefined || limit === undefined || facts.isPrebuilt || hasOwnBudget(request)) return found
  // The equals that came before have the limits next to it.
  for (let more = (changes.get(key) ?? 0) + 1; more <= Numbers.maxEqualMessages; more++) {
    const step = limit + more > Numbers.maxComputeUnits ? -more : more
    changes.set(key, more)
    const other = take({ ...chosen, computeUnitLimit: limit + step })
    if (other.found !== undefined) return other.found
  }
  return undefined
}

const nothingRead: Omit<Preparation, "accounts"> = {
  lifetime: "unavailable",
  fee: { floor: 0n, offered: 0n, cap: 0n },
  price: { computeUnitPrice: 0n },
  out: 0n
}

const failed = (accounts: ReadState, more: Pick<Preparation, "extendedIn"> = {}): Preparation => ({
  ...nothingRead,
  accounts,
  ...more
})

const prepareIn = Effect.fnUntraced(function* (work: Work) {
  const { context, providers, inquiry, request } = work
  const { transaction, relayer } = inquiry.row
  const { memory, address } = context
  const { facts } = transaction
  const account = { payer: address, tables: memory.tables }
  const named = yield* readTables(providers, request.address_lookup_tables ?? [])
  if (typeof named === "string") return failed(named)
  for (const [table, state] of named) if (state._tag === "Active") memory.tables.set(table, state.addresses)
  const build = (chosen: Chosen): WireTransaction => Result.getOrThrow(unsignedOf(request, account, chosen))

  // The bytes of the request as they came, or a draft that shows what the message costs.
  const draft = Result.getOrThrow(draftOf(request, account))
  const tables = yield* readTables(
    providers,
    draft.message.tables.map(({ table }) => table)
  )
  if (typeof tables === "string") return failed(tables)
  const extendedIn = extensionUsed(draft.message, tables)
  if (extendedIn !== undefined && extendedIn > finalizedSlot(work)) return failed("young_table", { extendedIn })
  const resolved = loadedBy(draft.message, tables)
  const loaded = isRefusal(resolved) ? [] : resolved
  const accounts = yield* readAccounts(providers, draft, loaded)

  const terms = guardTermsOf(relayer.target, request)
  const form = formOf(relayer.target, request)
  const isSimulated = form === "sponsored" || request.simulate !== false || listsFeePayer(draft.message)
  const [price, simulation, lifetime, balance, rent] = yield* Effect.all(
    [
      facts.isPrebuilt || hasOwnBudget(request) ? Effect.succeed(0n) : priceOf(work, draft),
      isSimulated ? Simulations.simulate(providers, draft, loaded) : Effect.undefined,
      lifetimeOf(work, draft),
      balanceOf(work),
      rentOf(work)
    ],
    { concurrency: "unbounded" }
  )
  const read: ReadAccounts = { tables, accounts, ...present("rent", rent) }
  const blockhash = typeof lifetime === "string" ? draft.message.blockhash : lifetime.blockhash
  const isFixed = facts.isPrebuilt || hasOwnBudget(request)
  const limit = isFixed ? undefined : limitOf(request, simulation?.found?.unitsConsumed)
  const floor = feeOf(build({ blockhash, computeUnitLimit: limit, computeUnitPrice: 0n }).message).total
  const units = limit ?? Numbers.maxComputeUnits
  const computeUnitPrice = within(price, terms.maxFee, floor, units)
  const found = distinct(work, build, { blockhash, computeUnitLimit: limit, computeUnitPrice })
  if (found === undefined) return { ...failed("read"), lifetime: "unavailable" } satisfies Preparation
  const { wire, chosen, isRepeated } = found
  // Bytes with a fixed price are those that were simulated, so the fee that the simulation names is theirs.
  const charge = yield* chargeOf(providers, wire, isFixed ? simulation?.found?.fee : undefined)
  const guarded: Guarded = {
    transaction: wire,
    fee: charge,
    form,
    added: addedTo(request, wire.message),
    // A floor above the cap is held, not refused: the policy may change.
    terms: facts.isPrebuilt || floor <= terms.maxFee ? terms : { ...terms, maxFee: charge },
    derivations,
    read
  }
  const broken = brokenRule(guarded)
  const spending = broken === undefined ? spendingOf(guarded) : undefined
  const out = spending === undefined || isRefusal(spending) ? 0n : spending.out
  const paid =
    form === "sponsored" && broken === undefined
      ? yield* verifyPayment({
          providers,
          prices: context.prices,
          target: relayer.target,
          transaction: wire,
          fee: charge,
          loaded
        })
      : undefined
  const expected = { out, ...(paid?._tag === "Paid" ? { paid } : {}) }
  const simulated = simulation && Simulations.judge(simulation, expected, memory.brokenAt.get(transaction.number))
  if (simulated?._tag === "Succeeds") memory.brokenAt.delete(transaction.number)
  if (simulated?._tag === "BrokenOnce" && simulation?.found?.isOfOneSlot === true) {
    memory.brokenAt.set(transaction.number, memory.brokenAt.get(transaction.number) ?? simulation.found.slot)
  }
  const isUnreadable = broken?.code === "account_unavailable" || paid?._tag === "Unreadable"
  const isUnpaid = paid?._tag === "Unpaid"
  const preparation: Preparation = {
    lifetime,
    accounts: isUnreadable ? "account_unavailable" : paid?._tag === "NoPrice" ? "price_unavailable" : "read",
    fee: {
      floor: isFixed ? charge : floor,
      offered: charge,
      cap: terms.maxFee
    },
    price: {
      computeUnitPrice: isFixed ? feeOf(wire.message).computeUnitPrice : chosen.computeUnitPrice,
      ...present("computeUnitLimit", chosen.computeUnitLimit ?? feeOf(wire.message).computeUnitLimit)
    },
    out,
    ...(isRepeated
      ? { broken: "already_accepted" as const }
      : isUnreadable
        ? {}
        : isUnpaid
          ? { broken: "payment_missing" as const }
          : present("broken", broken?.code)),
    ...(paid !== undefined && "problem" in paid ? { problem: paid.problem } : {}),
    ...present("rent", rent),
    ...present("balance", balance),
    ...present("simulated", simulated)
  }
  return preparation
})

export const prepare = Effect.fn("SolanaPreparing.prepare")(function* (
  context: SolanaContext,
  inquiry: Inquiry<Solana>,
  now: Moment
) {
  const providers = yield* providersOf(context, inquiry.row.relayer)
  const request = newestRequest(inquiry.row.transaction)
  return yield* prepareIn({ context, providers, inquiry, request, now })
})
