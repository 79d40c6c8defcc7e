// Situations for tests of decisions: a transaction that can be signed, and one whose envelope is alive, dead, applied or taken.
import { assert, it } from "@effect/vitest"
import type { Situation } from "../../../../src/networks/core/Rules.ts"
import type { Attempt, Lane, Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Stellar } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { decide } from "../../../../src/networks/stellar/rules/StellarDecision.ts"
import type {
  AccountEntry,
  Applied,
  Preparation,
  ProviderLook,
  SequenceUse,
  StellarSeen
} from "../../../../src/networks/stellar/rules/StellarSeen.ts"

/** The address of a relayer, and that of a channel of it. */
const own = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
const channel = "GAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEARIHQ"
const user = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"

/** The sequence of the place. */
export const n = 257_698_037_760_000_001n

/** Milliseconds, and the same in unix seconds. */
export const now = 1_000_000_000
export const clock = now / 1000

/** The newest ledger, and when the envelope below dies. */
export const newest = { number: 500, closeTime: clock - 2 }
const maxTime = clock + 50

export const entry: AccountEntry = {
  balance: 1_000_000_000n,
  sellingLiabilities: 0n,
  subentries: 0,
  sponsoring: 0,
  sponsored: 0,
  masterWeight: 1,
  mediumThreshold: 0
}

export const attempt: Attempt<Stellar> = {
  ordinal: 1,
  kind: "original",
  generation: 0,
  requestVersion: 1,
  hash: "aa",
  place: { account: own, sequence: n },
  offer: { fee: 200n, rate: 200n, out: 10n, maxTime, seenLedger: 490 },
  maxFee: 200n,
  signedAt: now - 10_000,
  sends: 1,
  firstSent: { at: now - 2000, height: 499 },
  lastSentAt: now - 2000,
  outcome: "accepted"
}

export const pending: Transaction<Stellar> = {
  number: 1,
  relayerNumber: 1,
  origin: "request",
  generation: 0,
  versions: [{ operations: [] }],
  facts: {},
  intent: "execute",
  state: "pending",
  causeSince: now,
  priority: 0,
  restored: false,
  validUntil: now + 120_000,
  requeues: 0,
  createdAt: now - 20_000,
  attempts: []
}

export const submitted: Transaction<Stellar> = {
  ...pending,
  state: "submitted",
  place: { account: own, sequence: n },
  attempts: [attempt]
}

/** With changes of its newest attempt. */
export const withAttempt = (over: Partial<Attempt<Stellar>>, more: Partial<Transaction<Stellar>> = {}) => ({
  ...submitted,
  attempts: [{ ...attempt, ...over }],
  ...more
})

/** A restored row of a guest's envelope. */
export const guest = { account: user, sequence: 70n, innerHash: "bb", maxTime: clock + 100 }
export const guestPending: Transaction<Stellar> = {
  ...pending,
  facts: { guest },
  versions: [{ transaction_xdr: "AAAA" }],
  validUntil: guest.maxTime * 1000
}
export const guestSubmitted: Transaction<Stellar> = {
  ...guestPending,
  state: "submitted",
  place: { account: user },
  attempts: [
    {
      ...attempt,
      place: { account: user },
      offer: { ...attempt.offer, innerHash: "bb", maxTime: guest.maxTime }
    }
  ]
}

/** The account of the lane, and a channel that is ready. */
const account = (address: string, next: bigint, isTaken: boolean) => ({
  address,
  nextSequence: isTaken ? next + 1n : next,
  chainSequence: next,
  settledSequence: next
})
export const lane = (isTaken = false, channels: Lane<Stellar>["accounts"][0][] = []): Lane<Stellar> => ({
  generation: 0,
  windowSize: 165,
  accounts: [account(own, n, isTaken), ...channels]
})
export const ready = (isTaken = false) => ({ ...account(channel, 90n, isTaken), counters: { stage: "ready" as const } })

/** One provider that shows the account with a sequence. */
export const look = (
  sequence: bigint | undefined,
  more: Partial<ProviderLook> = {},
  ledger = newest
): ProviderLook => ({
  host: "https://one.example",
  isStalled: false,
  newest: ledger,
  payer: entry,
  ...more,
  testimony: {
    account: { ledger, ...(sequence === undefined ? {} : { sequence }) },
    oldestLedger: 1,
    ...more.testimony
  }
})

export const applied: Applied = {
  hash: "aa",
  ledger: 499,
  isSuccess: true,
  result: "AAAA",
  code: "txSuccess",
  operations: ["paymentSuccess"],
  fee: 100n
}

/** The ledger after which the envelope cannot be applied any more. */
export const past = { number: 512, closeTime: maxTime + 1 }

/** What one provider says of the envelope of `submitted`. */
export const alive = look(n - 1n)
export const dead = look(n - 1n, {}, past)
export const found = (over: Partial<Applied> = {}) => look(n, { testimony: { found: { ...applied, ...over } } })
/** Another transaction that used the sequence. */
export const foreign = "ff"
export const taken = (over: Partial<SequenceUse> = {}, sequence = n) =>
  look(sequence, { testimony: { scan: { use: { hashes: [foreign], ...over } } } })
/** The sequence is used, and the ledgers that were read do not show by what. */
export const unseen = look(n, { testimony: { scan: {} } })
export const forgotten = look(n, { testimony: { oldestLedger: 495 } })

export const preparation: Preparation = { operations: 1, out: 10n, stats: { p95: 150n, p99: 300n } }

/** After the question `proof`. */
export const proven = { isProofAsked: true } as const

export const seen = (looks: ReadonlyArray<ProviderLook>, more: Partial<StellarSeen> = {}): StellarSeen => ({
  _tag: "Seen",
  configured: looks.length,
  looks,
  newestSince: now - 2000,
  polledSince: 0,
  ...more
})

/** What can be signed now. */
export const prepared = (more: Partial<Preparation> = {}, looks = [look(n - 1n), look(n - 1n)]) =>
  seen(looks, { preparation: { ...preparation, ...more } })

type More = Partial<Omit<Situation<Stellar>, "terms" | "rest">> & {
  readonly terms?: Partial<Situation<Stellar>["terms"]>
  readonly rest?: Partial<Situation<Stellar>["rest"]>
}

export const situation = (
  transaction: Transaction<Stellar>,
  view: Situation<Stellar>["view"],
  { terms, rest, ...more }: More = {}
): Situation<Stellar> => ({
  transaction,
  lane: lane(transaction.place?.account === own),
  isDeepReorg: false,
  terms: {
    isPaused: false,
    isAllowed: true,
    minBalance: 0n,
    cap: 1_000_000n,
    timeout: 60,
    finalityByOne: 3_600_000,
    usesChannels: false,
    ...terms
  },
  rest: {
    inFlight: 0,
    reserved: 0n,
    isPendingBefore: false,
    survey: { taken: new Map(), guests: 0, hasPendingGuests: false },
    ...rest
  },
  view,
  now,
  ...more
})

/** The first command in short: its tag, then what it says. */
export const first = (decided: Situation<Stellar>): string => {
  const [command] = decide(decided)
  switch (command._tag) {
    case "Hold":
      return `Hold ${command.cause.code}`
    case "Finish": {
      const by = command.confirmedBy === 1 ? " by one" : ""
      const next = command.frees === undefined ? "" : ` next ${command.frees.next - n}`
      return `Finish ${command.state} ${command.cause.code}${by}${next}`
    }
    case "Requeue": {
      const next = command.frees === undefined ? "" : ` next ${command.frees.next - n}`
      return `Requeue ${command.cause.code} ${command.requeues}${command.restored ? " restored" : ""}${next}`
    }
    case "Sign":
      return `Sign ${command.kind} ${command.maxFee}`
    case "Ask":
      return `Ask ${command.question}`
    default:
      return command._tag
  }
}

export type Case = readonly [name: string, situation: Situation<Stellar>, expected: string]

/** A test for each case. */
export const check = (cases: ReadonlyArray<Case>) => {
  for (const [name, decided, expected] of cases) it(name, () => assert.strictEqual(first(decided), expected))
}
