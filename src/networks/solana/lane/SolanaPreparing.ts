// Answers what a signature needs to know: accounts that the rules read, price, limit of compute units, and the life of the blockhash.
import { Effect, Result } from "effect"
import { answersIn } from "../../../server/chains/Providers.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { Inquiry } from "../../../server/lanes/LaneNetwork.ts"
import { present } from "../../core/Presentation.ts"
import { neededOf } from "../../core/Rows.ts"
import { newestRequest } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { derivations, readAccounts, readRent, readTables } from "../chain/SolanaAccounts.ts"
import * as Calls from "../chain/SolanaCalls.ts"
import type { SolanaProviders } from "../chain/SolanaCalls.ts"
import { brokenRule, spendingOf } from "../rules/Guard.ts"
import type { Guarded, ReadAccounts } from "../rules/Guard.ts"
import { listsFeePayer } from "../rules/Message.ts"
import type { WireTransaction } from "../rules/Message.ts"
import { extensionUsed, feeOf, loadedBy } from "../rules/Programs.ts"
import {
  addedTo,
  boundOf,
  boundOfOwn,
  draftOf,
  hasOwnBudget,
  percentileOf,
  priceWithin,
  raisedPrice,
  unitLimitOf,
  unsignedOf
} from "../rules/RequestBytes.ts"
import type { Chosen, OwnAnswer } from "../rules/RequestBytes.ts"
import type { Solana, SolanaRequest } from "../rules/Solana.ts"
import { base64Of } from "../rules/SolanaExchanges.ts"
import * as Numbers from "../rules/SolanaNumbers.ts"
import { deadAfter, maxAskedProviders, sharedFor } from "../rules/SolanaNumbers.ts"
import type { Lifetime, Preparation, ReadState } from "../rules/SolanaSeen.ts"
import { formOf, guardTermsOf } from "../rules/SolanaTerms.ts"
import { isRefusal } from "../rules/Spending.ts"
import { providersOf, sharedValue } from "./SolanaPolls.ts"
import type { SolanaContext, SolanaRelayer } from "./SolanaPolls.ts"
import * as Simulations from "./SolanaSimulations.ts"
import { feeCharged, unitPricesOf, verifyPayment, writtenBy } from "./SolanaSimulations.ts"

// The life of the blockhash of the next bytes: a new one that two providers agree about, or that of a prebuilt request.

const both = { concurrency: 2 } as const

/** The newest blockhash of a node, with the height that its life counts from. */
export const reportedBy = Effect.fnUntraced(function* (node: RpcNode) {
  const { context, value } = yield* node.call(Calls.latestBlockhash)
  const height = yield* node.call(Calls.blockHeight(Calls.readCommitment, context.slot))
  return { blockhash: value.blockhash, lastValid: value.lastValidBlockHeight, height, slot: context.slot }
})
type Reported = Effect.Success<ReturnType<typeof reportedBy>>

/** What another node says about a blockhash. */
const secondBy = Effect.fnUntraced(function* (
  node: RpcNode,
  { blockhash, slot }: Pick<Reported, "blockhash" | "slot">
) {
  const [validity, height, own] = yield* Effect.all(
    [
      node.call(Calls.isBlockhashValid(blockhash, Calls.readCommitment, slot)),
      node.call(Calls.blockHeight("processed")),
      reportedBy(node)
    ],
    { concurrency: "unbounded" }
  )
  return { isValid: validity.value, height, life: own.lastValid - own.height }
})

interface Pair {
  readonly reported: Reported
  readonly second: Effect.Success<ReturnType<typeof secondBy>>
}

/**
 * Another node checks a blockhash. If it does not know it, because it is behind, its own newest blockhash is one that the first node
 * can check.
 */
const checkedBy = Effect.fnUntraced(function* (other: RpcNode, node: RpcNode, reported: Reported) {
  const checked = yield* Effect.result(secondBy(other, reported))
  if (Result.isSuccess(checked) && checked.success.isValid) return { reported, second: checked.success } satisfies Pair
  const own = yield* reportedBy(other)
  return { reported: own, second: yield* secondBy(node, own) } satisfies Pair
})

const newestLifetime = Effect.fnUntraced(function* (providers: SolanaProviders) {
  const asked = yield* Effect.result(
    providers.first((node) => Effect.map(reportedBy(node), (reported) => ({ node, reported })))
  )
  if (Result.isFailure(asked)) return "unavailable" as const
  const { node, reported } = asked.success
  const others = yield* providers.others(
    node,
    (other) => checkedBy(other, node, reported),
    () => true
  )
  const pair = answersIn(others).at(-1)
  // A node that answers, and confirms nothing, is not away: a provider cannot do without it by naming a slot that nobody has.
  const isAlone = others.every(({ result }) => Result.isFailure(result) && !result.failure.answered)
  if (pair === undefined && !isAlone) return "unavailable" as const
  // A provider that no other one can check: its own newest height counts.
  const alone = Effect.map(secondBy(node, reported), (second): Pair => ({ reported, second }))
  const found = yield* Effect.result(pair === undefined ? alone : Effect.succeed(pair))
  if (Result.isFailure(found)) return "unavailable" as const
  const { reported: counted, second } = found.success
  const bound = boundOf(counted, [second])
  const { blockhash, slot } = counted
  return bound === undefined ? ("unavailable" as const) : { blockhash, bound, signedSlot: slot }
})

/** For bytes that the service builds. The transactions of a lane share it for two seconds. */
const freshLifetime = Effect.fnUntraced(function* (
  { memory }: SolanaContext,
  { urlsKey }: SolanaRelayer,
  providers: SolanaProviders,
  now: Moment
) {
  const found: Lifetime = yield* sharedValue(
    memory.blockhashes,
    urlsKey,
    sharedFor.blockhash,
    now,
    newestLifetime(providers)
  )
  if (found === "unavailable") memory.blockhashes.delete(urlsKey)
  return found
})

/** What a node says about the blockhash that a request brings. */
export const ownAnswerBy = Effect.fnUntraced(function* (node: RpcNode, blockhash: string) {
  const [validity, height, own] = yield* Effect.all(
    [
      node.call(Calls.isBlockhashValid(blockhash, Calls.readCommitment)),
      node.call(Calls.blockHeight("processed")),
      reportedBy(node)
    ],
    both
  )
  return {
    isValid: validity.value,
    slot: validity.context.slot,
    height,
    life: own.lastValid - own.height
  } satisfies OwnAnswer
})

/**
 * For the blockhash that a request brings. A node that lags does not know it yet, so it only counts as dead if it stays so for
 * some seconds.
 */
export const lifetimeOfRequest = Effect.fnUntraced(function* (
  { memory }: SolanaContext,
  providers: SolanaProviders,
  number: number,
  blockhash: string,
  now: Moment
) {
  const answers = yield* providers.answers(maxAskedProviders, (node) => ownAnswerBy(node, blockhash))
  const lifetime = boundOfOwn(blockhash, answers, neededOf(providers))
  if (lifetime !== "dead") {
    memory.deadSince.delete(number)
    return lifetime
  }
  const since = memory.deadSince.get(number) ?? now
  memory.deadSince.set(number, since)
  return now >= since + deadAfter ? lifetime : ("unavailable" as const)
})

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
  const { context, inquiry, providers, request, now } = work
  const key = [inquiry.row.relayer.urlsKey, ...writtenBy(wire)].join()
  const sorted = yield* Effect.orElseSucceed(
    sharedValue(
      context.memory.prices,
      key,
      Numbers.sharedFor.prices,
      now,
      unitPricesOf(providers, wire, finalizedSlot(work))
    ),
    (): ReadonlyArray<bigint> => []
  )
  return percentileOf(sorted, request.speed)
})

/** A refresh offers at least one and a half times what the attempt before it offered. */
const priceOf = Effect.fnUntraced(function* (work: Work, wire: WireTransaction) {
  const { request, inquiry } = work
  if (request.compute_unit_price !== undefined) return request.compute_unit_price
  const market = yield* marketPrice(work, wire)
  return raisedPrice(market, inquiry.row.transaction.attempts.at(-1)?.offer.computeUnitPrice)
})

const balanceOf = ({ context, inquiry, providers, now }: Work) =>
  Effect.map(
    Effect.result(
      sharedValue(
        context.memory.balances,
        inquiry.row.relayer.urlsKey,
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
      sharedValue(context.memory.rents, inquiry.row.relayer.urlsKey, Numbers.sharedFor.rent, now, readRent(providers))
    ),
    Result.getOrUndefined
  )

const lifetimeOf = ({ context, providers, inquiry, now }: Work, wire: WireTransaction): Effect.Effect<Lifetime> => {
  const { transaction, relayer } = inquiry.row
  return transaction.facts.isPrebuilt && transaction.attempts.length === 0
    ? lifetimeOfRequest(context, providers, transaction.number, wire.message.blockhash, now)
    : freshLifetime(context, relayer, providers, now)
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
  const limit = isFixed ? undefined : unitLimitOf(request, simulation?.found?.unitsConsumed)
  const floor = feeOf(build({ blockhash, computeUnitLimit: limit, computeUnitPrice: 0n }).message).total
  const units = limit ?? Numbers.maxComputeUnits
  const computeUnitPrice = priceWithin(price, terms.maxFee, floor, units)
  const found = distinct(work, build, { blockhash, computeUnitLimit: limit, computeUnitPrice })
  if (found === undefined) return { ...failed("read"), lifetime: "unavailable" } satisfies Preparation
  const { wire, chosen, isRepeated } = found
  // Bytes with a fixed price are those that were simulated, so the fee that the simulation names is theirs.
  const charge = yield* feeCharged(providers, wire, isFixed ? simulation?.found?.fee : undefined)
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
