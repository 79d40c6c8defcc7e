// Transactions, lanes and views for tests of single decisions. Each test names only what it is about.
import * as Queue from "../../../../src/networks/core/Queue.ts"
import type { Command, LaneSituation, Situation, Unreachable } from "../../../../src/networks/core/Rules.ts"
import type {
  Attempt,
  LaneAccount,
  Receipt,
  RestOfLane,
  Terms,
  Transaction
} from "../../../../src/networks/core/Transaction.ts"
import { maxFeesOf, paidOf } from "../../../../src/networks/evm/rules/Costs.ts"
import { decide } from "../../../../src/networks/evm/rules/Decision.ts"
import { laneOf } from "../../../../src/networks/evm/rules/Evm.ts"
import type { Evm, ReceiptDetails, Request, Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../../src/networks/evm/rules/EvmRules.ts"
import type { Fees } from "../../../../src/networks/evm/rules/Market.ts"
import { address, ether, gwei, network, newLane, receiver } from "./simulation/World.ts"

export const now = 1_800_000_000_000
export const hour = 3_600_000

export const request = (over: Partial<Request> = {}): Request => ({
  to: receiver,
  value: 1n,
  gas_limit: 21_000n,
  ...over
})

/** What a test names of an attempt: its nonce and its offer stand beside the other fields. */
type AttemptFields = Partial<Attempt<Evm>> & {
  readonly nonce?: number
  readonly fees?: Fees
  readonly gasLimit?: bigint
  readonly rollupFee?: bigint
}

/** The place of a nonce of the account. */
export const at = (nonce: number) => ({ account: address, sequence: BigInt(nonce) })

export const attempt = (ordinal: number, over: AttemptFields = {}): Attempt<Evm> => {
  const { nonce = 5, fees, gasLimit = 21_000n, rollupFee, ...others } = over
  const offer = {
    fees: fees ?? {
      type: "eip1559" as const,
      maxFee: (10n + BigInt(ordinal)) * gwei,
      tip: BigInt(ordinal) * gwei
    },
    gasLimit,
    ...(rollupFee === undefined ? {} : { rollupFee })
  }
  return {
    ordinal,
    kind: ordinal === 1 ? "original" : "bump",
    generation: 0,
    requestVersion: 1,
    hash: `hash-${ordinal}`,
    place: at(nonce),
    offer,
    maxFee: maxFeesOf(offer),
    signedAt: now,
    sends: 1,
    firstSent: { at: now, height: 100 },
    lastSentAt: now,
    outcome: "accepted",
    ...others
  }
}

/** What a test names of a transaction. */
type TransactionFields = Partial<Transaction<Evm>> & { readonly nonce?: number; readonly requiredNonce?: number }

export const pending = ({ nonce, requiredNonce, ...over }: TransactionFields = {}): Transaction<Evm> => ({
  number: 1,
  relayerNumber: 1,
  origin: "request",
  generation: 0,
  versions: [request()],
  facts: {},
  intent: "execute",
  state: "pending",
  causeSince: now,
  priority: 0,
  restored: false,
  validUntil: now + 8 * hour,
  requeues: 0,
  createdAt: now,
  attempts: [],
  ...(nonce === undefined ? {} : { place: at(nonce) }),
  ...(requiredNonce === undefined ? {} : { requiredSequence: BigInt(requiredNonce) }),
  ...over
})

/** At nonce 5, accepted by a node. */
export const submitted = (over: TransactionFields = {}): Transaction<Evm> =>
  pending({ state: "submitted", nonce: 5, attempts: [attempt(1)], ...over })

type ReceiptFields = Partial<ReceiptDetails> & { readonly isSuccess?: boolean; readonly blockHash?: string }

export const receiptIn = (block: number, over: ReceiptFields = {}): Receipt<Evm> => {
  const { isSuccess = true, blockHash = `block-${block}`, ...others } = over
  const details = { gasUsed: 20_000n, effectiveGasPrice: gwei, ...others }
  return { height: block, blockHash, isSuccess, paid: paidOf(details), details }
}

/** In block 100, by its newest attempt. */
export const mined = (over: TransactionFields = {}, ordinal = 1, receipt: ReceiptFields = {}): Transaction<Evm> =>
  submitted({ state: "mined", mined: { ordinal, receipt: receiptIn(100, receipt) }, ...over })

// Many calls of an account that delegates.

export const delegate = `0x${"de".repeat(20)}`

export const delegationCode = `0xef0100${delegate.slice(2)}`

/** Two calls, which send 3 wei. */
export const batch: Transaction<Evm> = pending({
  versions: [
    {
      value: 3n,
      gas_limit: 100_000n,
      calls: [
        { to: "0x01", value: 1n },
        { to: "0x02", value: 2n, data: "0x01020304" }
      ]
    }
  ]
})

/** What a test names of the rest of the lane. */
type RestFields = Partial<RestOfLane<Evm>> & Partial<Evm["survey"]> & { readonly arePredecessorsAccepted?: boolean }

export const others = (over: RestFields = {}): RestOfLane<Evm> => {
  const { urgency = "safeLow", open = 1, arePredecessorsAccepted = true, delegation, placed, ...fields } = over
  return {
    inFlight: 0,
    reserved: 0n,
    isPendingBefore: false,
    survey: {
      urgency,
      open,
      ...(arePredecessorsAccepted ? {} : { lowestUnaccepted: 0 }),
      ...(delegation === undefined ? {} : { delegation }),
      ...(placed === undefined ? {} : { placed })
    },
    ...fields
  }
}

export const terms = (over: Partial<Terms<Evm>> = {}): Terms<Evm> => ({
  isPaused: false,
  address,
  minBalance: 0n,
  isEip1559: true,
  isAllowed: true,
  estimatesGas: true,
  isPrivate: false,
  hasPrivateProviders: true,
  estimatesPrivately: true,
  wantsRevertReason: false,
  network,
  ...over
})

/** What is the same for decisions in one test. */
export interface LaneFields extends Pick<
  Situation<Evm>,
  "stop" | "ownStop" | "unsettledBefore" | "isDeepReorg" | "signerRetry" | "terms"
> {
  readonly lane: ReturnType<typeof newLane>
  readonly others: RestOfLane<Evm>
  /** What the lane remembers of its account besides nonces, and what a check has found. */
  readonly account?: Pick<LaneAccount<Evm>, "counters" | "watched">
}

/** A lane whose next nonce is 5. */
export const lane = (over: Partial<LaneFields> = {}): LaneFields => ({
  lane: { ...newLane(), nextNonce: 5, chainNonce: 5, settledNonce: 5, chainBlock: { number: 100, hash: "block-100" } },
  terms: terms(),
  others: others(),
  isDeepReorg: false,
  ...over
})

/** A lane whose account has delegated at nonce 1. */
export const delegated = (account: LaneFields["account"] = {}, over: Partial<LaneFields> = {}): LaneFields =>
  lane({
    account: { counters: { delegation: { delegate, takesSignatures: true, nonce: 1, generation: 0 } }, ...account },
    ...over
  })

/** The chain at block 100, final up to 98, with 5 transactions of the account. */
export const seen = (over: Partial<Seen> = {}): Seen => ({
  _tag: "Seen",
  head: { number: 100, hash: "block-100" },
  finalHeight: 98,
  count: 5,
  countAtFinal: 5,
  market: { baseFee: gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } },
  balance: ether,
  sights: new Map(),
  noopGas: 21_000n,
  chargesForData: false,
  isInquired: true,
  ...over
})

/** The receipt is in block 100, which both providers have deep. */
export const agreed = (hash = "block-100", isSuccess = true): NonNullable<Seen["minedAt"]> => ({
  first: hash,
  second: { hash, finalHeight: 200, receipt: { blockHash: hash, isSuccess } }
})

export const commandsOf = (
  transaction: Transaction<Evm>,
  { lane: nonces, others: rest, account = {}, ...situation }: LaneFields = lane(),
  view: Seen | Unreachable = seen(),
  moment = now
): ReadonlyArray<Command<Evm>> => {
  const found = laneOf(nonces)
  const [own] = found.accounts
  const remembering = { ...found, accounts: [{ ...own, ...account }] as const }
  return decide({ ...situation, lane: remembering, rest, transaction, view, now: moment })
}

/** The neutral functions with the rules of evm. */
export const totalsOf = (
  transactions: ReadonlyArray<Transaction<Evm>>,
  since: Pick<Queue.Totals, "lastSignedAt" | "quietSince">
) => Queue.totalsOf<Evm>(evmRules, transactions, since)

export const othersOf = (transaction: Transaction<Evm>, totals: Queue.Totals<Evm>, isPendingBefore: boolean) =>
  Queue.restOf<Evm>(evmRules, transaction, totals, isPendingBefore)

export const plan = (
  candidates: ReadonlyArray<Queue.Candidate<Evm>>,
  base: LaneSituation<Evm>,
  totals: Queue.Totals<Evm>,
  moment: number,
  limit: number
) => Queue.plan<Evm>(evmRules, candidates, base, totals, moment, limit)

/** The command of a kind, which has to be there. */
export const only = <Tag extends Command<Evm>["_tag"]>(commands: ReadonlyArray<Command<Evm>>, tag: Tag) => {
  const found = commands.find((command): command is Extract<Command<Evm>, { _tag: Tag }> => command._tag === tag)
  if (found === undefined) throw new Error(`no ${tag} in ${commands.map(({ _tag }) => _tag).join(", ")}`)
  return found
}

export const tagsOf = (commands: ReadonlyArray<Command<Evm>>): ReadonlyArray<string> => commands.map(({ _tag }) => _tag)

export { ether, gwei, network }

/** Another transaction of the account that used the nonce of `submitted()`, as the only provider shows it. */
export const taker = {
  _tag: "Fetched",
  hash: "foreign",
  sender: lane().lane.address,
  nonce: 5,
  call: { to: "0x01", value: 9n, data: "0x" },
  block: 90,
  blockHash: "block-90",
  second: "not_configured"
} as const
