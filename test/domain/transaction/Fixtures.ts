// Transactions, lanes and views for tests of single decisions. Each test names only what it is about.
import type { Attempt, Receipt } from "../../../src/domain/transaction/Attempt.ts"
import type { Command } from "../../../src/domain/transaction/Command.ts"
import { decide } from "../../../src/domain/transaction/Decision.ts"
import type { LaneSituation, Others, Terms } from "../../../src/domain/transaction/Lane.ts"
import type { Request, Transaction } from "../../../src/domain/transaction/Transaction.ts"
import type { Seen, View } from "../../../src/domain/transaction/View.ts"
import { ether, gwei, network, newLane, receiver } from "./simulation/World.ts"

export const now = 1_800_000_000_000
export const hour = 3_600_000

export const request = (over: Partial<Request> = {}): Request => ({
  to: receiver,
  value: 1n,
  gas_limit: 21_000n,
  ...over
})

export const attempt = (ordinal: number, over: Partial<Attempt> = {}): Attempt => ({
  ordinal,
  kind: ordinal === 1 ? "original" : "bump",
  generation: 0,
  requestVersion: 1,
  hash: `hash-${ordinal}`,
  nonce: 5,
  fees: { type: "eip1559", maxFee: (10n + BigInt(ordinal)) * gwei, tip: BigInt(ordinal) * gwei },
  gasLimit: 21_000n,
  signedAt: now,
  sends: 1,
  firstSent: { at: now, block: 100 },
  lastSentAt: now,
  outcome: "accepted",
  ...over
})

export const pending = (over: Partial<Transaction> = {}): Transaction => ({
  number: 1,
  relayerNumber: 1,
  origin: "request",
  generation: 0,
  versions: [request()],
  intent: "execute",
  state: "pending",
  causeSince: now,
  priority: 0,
  restored: false,
  validUntil: now + 8 * hour,
  requeues: 0,
  createdAt: now,
  attempts: [],
  ...over
})

/** At nonce 5, accepted by a node. */
export const submitted = (over: Partial<Transaction> = {}): Transaction =>
  pending({ state: "submitted", nonce: 5, attempts: [attempt(1)], ...over })

export const receiptIn = (block: number, over: Partial<Receipt> = {}): Receipt => ({
  blockNumber: block,
  blockHash: `block-${block}`,
  isSuccess: true,
  gasUsed: 20_000n,
  effectiveGasPrice: gwei,
  ...over
})

/** In block 100, by its newest attempt. */
export const mined = (over: Partial<Transaction> = {}, ordinal = 1, receipt: Partial<Receipt> = {}): Transaction =>
  submitted({ state: "mined", mined: { ordinal, receipt: receiptIn(100, receipt) }, ...over })

export const others = (over: Partial<Others> = {}): Others => ({
  inFlight: 0,
  reserved: 0n,
  urgency: "safeLow",
  isPendingBefore: false,
  arePredecessorsAccepted: true,
  ...over
})

export const terms = (over: Partial<Terms> = {}): Terms => ({
  isPaused: false,
  minBalance: 0n,
  isEip1559: true,
  isAllowed: true,
  ...over
})

/** A lane whose next nonce is 5. */
export const lane = (over: Partial<LaneSituation> = {}): LaneSituation => ({
  lane: { ...newLane(), nextNonce: 5, chainNonce: 5, settledNonce: 5, chainBlock: { number: 100, hash: "block-100" } },
  network,
  terms: terms(),
  others: others(),
  isDeepReorg: false,
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
  ...over
})

/** The receipt is in block 100, which both providers have deep. */
export const agreed = (hash = "block-100"): NonNullable<Seen["minedAt"]> => ({
  first: hash,
  second: { hash, finalHeight: 200 }
})

export const commandsOf = (
  transaction: Transaction,
  situation: LaneSituation = lane(),
  view: View = seen(),
  at = now
): ReadonlyArray<Command> => decide(transaction, situation, view, at)

/** The command of a kind, which has to be there. */
export const only = <Tag extends Command["_tag"]>(commands: ReadonlyArray<Command>, tag: Tag) => {
  const found = commands.find((command): command is Extract<Command, { _tag: Tag }> => command._tag === tag)
  if (found === undefined) throw new Error(`no ${tag} in ${commands.map(({ _tag }) => _tag).join(", ")}`)
  return found
}

export const tagsOf = (commands: ReadonlyArray<Command>): ReadonlyArray<string> => commands.map(({ _tag }) => _tag)

export { ether, gwei, network }
