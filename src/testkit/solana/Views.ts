// What a poll sees of the cluster in memory: a look of each provider that is not away, and what a signature needs to know.
import { Result } from "effect"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { present } from "../../networks/core/Presentation.ts"
import { neededOf } from "../../networks/core/Rows.ts"
import type { Unreachable } from "../../networks/core/Rules.ts"
import { newestRequest } from "../../networks/core/Transaction.ts"
import type { Attempt, Transaction } from "../../networks/core/Transaction.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { brokenRule, spendingOf } from "../../networks/solana/rules/Guard.ts"
import type { Guarded, ReadAccounts } from "../../networks/solana/rules/Guard.ts"
import type { WireTransaction } from "../../networks/solana/rules/Message.ts"
import { feeOf, loadedBy } from "../../networks/solana/rules/Programs.ts"
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
} from "../../networks/solana/rules/RequestBytes.ts"
import type { Account as Payer } from "../../networks/solana/rules/RequestBytes.ts"
import type { Solana, SolanaRequest, SolanaTarget } from "../../networks/solana/rules/Solana.ts"
import { deadAfter, maxComputeUnits, rentMinimum } from "../../networks/solana/rules/SolanaNumbers.ts"
import { conclude, rememberConclusion } from "../../networks/solana/rules/SolanaSeen.ts"
import type {
  EarlierConclusion,
  KnownSignature,
  Landing,
  Lifetime,
  Look,
  Preparation,
  SignatureStatus,
  SimulationVerdict,
  SolanaSeen
} from "../../networks/solana/rules/SolanaSeen.ts"
import { formOf, guardTermsOf } from "../../networks/solana/rules/SolanaTerms.ts"
import { isRefusal } from "../../networks/solana/rules/Spending.ts"
import { headOf } from "../chain/Blocks.ts"
import { derivations, errorOf, readOf } from "./Bytes.ts"
import type { Read } from "./Bytes.ts"
import { findIn, life, occupiedIn, slotOf } from "./Chain.ts"
import type { Chain, Provider } from "./Chain.ts"

/** Compute units of an instruction of the System program, and of any other one of the kit. */
const unitsOfInstruction = 150

/** One account on the cluster, as polls ask about it. */
export interface Account {
  readonly chain: Chain
  readonly address: string
  /** Blocks on top of a block that make it final. */
  readonly finality: number
  /** When the block at a height was made. */
  timeOf(height: number): Moment
}

/** What a lane remembers from poll to poll. */
interface Memory {
  /** What each provider concluded, by number of the transaction and URL. */
  readonly earlier: Map<string, EarlierConclusion>
  /** Own signatures that are finalized. */
  readonly known: Array<KnownSignature>
  /** Since when providers call the blockhash of a request dead, by number of the transaction. */
  readonly deadSince: Map<number, Moment>
  /** Which transaction has which message, as base64. */
  readonly owners: Map<string, number>
  /** Since when only one of two providers answers. */
  aloneSince: Moment | undefined
}

export const makeMemory = (): Memory => ({
  earlier: new Map(),
  known: [],
  deadSince: new Map(),
  owners: new Map(),
  aloneSince: undefined
})

const heardIn = ({ chain }: Account): ReadonlyArray<Provider> => chain.providers.filter(({ isAway }) => !isAway)

const heightsOf = ({ chain, finality }: Account, provider: Provider) => {
  const blocks = chain.shownBy(provider)
  const head = headOf(blocks).number
  return { blocks, head, final: Math.max(head - finality, 0) }
}

const statusOf = (account: Account, provider: Provider, hash: string): SignatureStatus | null => {
  const { blocks, final } = heightsOf(account, provider)
  const found = findIn(blocks, (bytes) => bytes.hash === hash)
  if (found === undefined) return null
  const { block, bytes, isSuccess } = found
  return {
    slot: slotOf(block.number),
    level: block.number <= final ? "finalized" : "confirmed",
    isSuccess,
    ...(isSuccess ? {} : { error: JSON.stringify(errorOf(bytes)) })
  }
}

/** The whole answer of a provider, whose index never lags and which keeps all blocks. */
const lookOf = (account: Account, provider: Provider, attempts: ReadonlyArray<Attempt<Solana>>): Look => {
  const { chain, address } = account
  const { blocks, final, head } = heightsOf(account, provider)
  const own = occupiedIn(blocks).flatMap(({ number, transactions }) =>
    number > final ? [] : transactions.filter(({ bytes }) => bytes.wire.message.keys.includes(address))
  )
  return {
    finalized: { slot: slotOf(final), height: final },
    statuses: {
      slot: slotOf(head),
      of: new Map(attempts.map(({ hash }) => [hash, statusOf(account, provider, hash)])),
      indexed: [{ fromSlot: 0, toHeight: final }]
    },
    listed: { from: 0, signatures: new Set(own.map(({ bytes }) => bytes.hash)), isWhole: true },
    blockhashes: {
      slot: slotOf(head),
      valid: new Map(attempts.map(({ offer }) => [offer.blockhash, chain.isAlive(blocks, offer.blockhash)]))
    },
    firstAvailable: 0,
    keptFrom: 0,
    host: maskUrl(provider.url)
  }
}

/** Fees and times of attempts that the first provider has finalized. */
const landingsOf = (account: Account, { attempts }: Transaction<Solana>): ReadonlyMap<string, Landing> => {
  const [first] = heardIn(account)
  const landings = new Map<string, Landing>()
  if (first === undefined) return landings
  const { blocks, final } = heightsOf(account, first)
  for (const { hash } of attempts) {
    const found = findIn(blocks, (bytes) => bytes.hash === hash)
    if (found === undefined || found.block.number > final) continue
    // Blocks name whole seconds.
    const at = Math.floor(account.timeOf(found.block.number) / 1000) * 1000
    landings.set(hash, { paid: found.bytes.fee, at })
  }
  return landings
}

/** `retryAt`: when the lane is polled again. */
export const see = (
  account: Account,
  transaction: Transaction<Solana>,
  memory: Memory,
  { now, retryAt }: { readonly now: Moment; readonly retryAt: Moment }
): SolanaSeen | Unreachable => {
  const heard = heardIn(account)
  const configured = account.chain.providers.length
  memory.aloneSince = heard.length === 1 && configured > 1 ? (memory.aloneSince ?? now) : undefined
  if (heard.length === 0) {
    memory.earlier.clear()
    return { _tag: "Unreachable", code: "providers_unavailable", retryAt }
  }
  const { attempts, number } = transaction
  const all = heard.map((provider) => ({ provider, look: lookOf(account, provider, attempts) }))
  const known = memory.known.filter(({ hash }) => all.some(({ look }) => look.listed?.signatures.has(hash) !== true))
  const looks = account.chain.providers.flatMap((provider): ReadonlyArray<Look> => {
    const key = `${number} ${provider.url}`
    const found = all.find((one) => one.provider === provider)
    const look = found && { ...found.look, ...present("earlier", memory.earlier.get(key)) }
    const kept = look && rememberConclusion(look, conclude(look, attempts, known), now)
    // A provider that did not answer in between begins its conclusions anew.
    if (kept === undefined) memory.earlier.delete(key)
    else memory.earlier.set(key, kept)
    return look === undefined ? [] : [look]
  })
  return {
    _tag: "Seen",
    configured,
    looks,
    ...present("aloneSince", memory.aloneSince),
    known,
    landings: landingsOf(account, transaction),
    isProofAsked: true
  }
}

// The life of the blockhash of the next bytes.

const isKnownTo = (account: Account, blockhash: string, provider: Provider): boolean =>
  account.chain.isAlive(heightsOf(account, provider).blocks, blockhash)

/** The newest blockhash of a provider, as another one checks it. Undefined: that one does not know it. */
const checked = (account: Account, from: Provider, by: Provider): Exclude<Lifetime, string> | undefined => {
  const { blocks, head } = heightsOf(account, from)
  const blockhash = account.chain.blockhashOf(headOf(blocks))
  const second = { isValid: isKnownTo(account, blockhash, by), height: heightsOf(account, by).head, life }
  const bound = boundOf({ lastValid: head + life, height: head }, [second])
  return bound === undefined ? undefined : { blockhash, bound, signedSlot: slotOf(head) }
}

/** A blockhash that two providers agree about, if two answer. */
const newestLifetime = (account: Account): Lifetime => {
  const [first, second = first] = heardIn(account)
  if (first === undefined || second === undefined) return "unavailable"
  return checked(account, first, second) ?? checked(account, second, first) ?? "unavailable"
}

/** A blockhash that a request brings counts as dead if it stays so for some seconds. */
const lifetimeOfRequest = (
  account: Account,
  { deadSince }: Memory,
  number: number,
  blockhash: string,
  now: Moment
): Lifetime => {
  const answers = heardIn(account).map((provider) => {
    const { head } = heightsOf(account, provider)
    return { isValid: isKnownTo(account, blockhash, provider), slot: slotOf(head), height: head, life }
  })
  const lifetime = boundOfOwn(blockhash, answers, neededOf({ configured: account.chain.providers.length }))
  if (lifetime !== "dead") {
    deadSince.delete(number)
    return lifetime
  }
  const since = deadSince.get(number) ?? now
  deadSince.set(number, since)
  return now >= since + deadAfter ? lifetime : "unavailable"
}

// What a signature needs to know: the life of the blockhash, the price, the rules, and a simulation.

const simulatedOf = ({ chain }: Account, bytes: Read): SimulationVerdict =>
  chain.fails(bytes, chain.refusing) ? { _tag: "Fails", error: JSON.stringify(errorOf(bytes)) } : { _tag: "Succeeds" }

export const unitsOf = ({ wire: { message } }: Pick<Read, "wire">): number =>
  unitsOfInstruction * message.instructions.length

interface Preparing {
  readonly account: Account
  readonly memory: Memory
  readonly target: SolanaTarget
  readonly transaction: Transaction<Solana>
  readonly now: Moment
}

/** Equal messages have one signature, so each of them belongs to one transaction. */
const isOwn = ({ memory, transaction }: Preparing, { wire }: Pick<Read, "wire">): boolean => {
  const key = Buffer.from(wire.messageBytes).toString("base64")
  const owner = memory.owners.get(key) ?? transaction.number
  if (owner === transaction.number) memory.owners.set(key, owner)
  return owner === transaction.number
}

/** The limit of compute units makes equal requests differ. */
const distinctLimit = (preparing: Preparing, limit: number, build: (units: number) => WireTransaction): number => {
  let units = limit
  while (!isOwn(preparing, { wire: build(units) })) units += 1
  return units
}

/** The kit has no lookup tables, and accounts without data. */
const read: ReadAccounts = { tables: new Map(), accounts: new Map(), rent: rentMinimum }

const noPreparation = (accounts: Preparation["accounts"]): Preparation => ({
  accounts,
  lifetime: "unavailable",
  fee: { floor: 0n, offered: 0n, cap: 0n },
  price: { computeUnitPrice: 0n },
  out: 0n
})

export const prepare = (preparing: Preparing): Preparation => {
  const { account, memory, now, target, transaction } = preparing
  const request: SolanaRequest = newestRequest(transaction)
  const payer: Payer = { payer: account.address, tables: new Map() }
  const { isPrebuilt } = transaction.facts
  const draft = Result.getOrThrow(draftOf(request, payer))
  if ((request.address_lookup_tables ?? []).length > 0 || isRefusal(loadedBy(draft.message, new Map()))) {
    return noPreparation("missing_table")
  }
  const lifetime =
    isPrebuilt && transaction.attempts.length === 0
      ? lifetimeOfRequest(account, memory, transaction.number, draft.message.blockhash, now)
      : newestLifetime(account)
  const blockhash = typeof lifetime === "string" ? draft.message.blockhash : lifetime.blockhash
  const build = (computeUnitLimit: number | undefined, computeUnitPrice: bigint) =>
    Result.getOrThrow(unsignedOf(request, payer, { blockhash, computeUnitLimit, computeUnitPrice }))

  const isFixed = isPrebuilt || hasOwnBudget(request)
  const former = transaction.attempts.at(-1)?.offer.computeUnitPrice
  const market = percentileOf([account.chain.price], request.speed)
  const wanted = isFixed ? 0n : (request.compute_unit_price ?? raisedPrice(market, former))
  const simulatedUnits = request.simulate === false ? undefined : unitsOf({ wire: draft })
  const limit = isFixed ? undefined : unitLimitOf(request, simulatedUnits)
  const terms = guardTermsOf(target, request)
  const floor = feeOf(build(limit, 0n).message).total
  const price = priceWithin(wanted, terms.maxFee, floor, limit ?? maxComputeUnits)
  const chosen = limit === undefined ? undefined : distinctLimit(preparing, limit, (units) => build(units, price))
  const wire = build(chosen, price)
  const charge = feeOf(wire.message).total
  const guarded: Guarded = {
    transaction: wire,
    fee: charge,
    form: formOf(target, request),
    added: addedTo(request, wire.message),
    // A floor above the cap is held, not refused: the policy may change.
    terms: isPrebuilt || floor <= terms.maxFee ? terms : { ...terms, maxFee: charge },
    derivations,
    read
  }
  const broken = brokenRule(guarded)
  const spending = spendingOf(guarded)
  const { computeUnitLimit, computeUnitPrice } = feeOf(wire.message)
  return {
    lifetime,
    accounts: "read",
    fee: { floor: isFixed ? charge : floor, offered: charge, cap: terms.maxFee },
    price: {
      computeUnitPrice: isFixed ? computeUnitPrice : price,
      ...present("computeUnitLimit", chosen ?? computeUnitLimit)
    },
    out: broken !== undefined || isRefusal(spending) ? 0n : spending.out,
    ...(isOwn(preparing, { wire }) ? present("broken", broken?.code) : { broken: "already_accepted" as const }),
    rent: rentMinimum,
    balance: account.chain.balanceOf(account.address),
    ...(request.simulate === false ? {} : { simulated: simulatedOf(account, readOf(wire)) })
  }
}
