// Situations for tests of decisions: a transaction that can be signed, and one whose bytes are alive, dead or landed.
import { assert, it } from "@effect/vitest"
import type { Situation } from "../../../../src/networks/core/Rules.ts"
import type { Attempt, Lane, Mined, Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Solana } from "../../../../src/networks/solana/rules/Solana.ts"
import { decide } from "../../../../src/networks/solana/rules/SolanaDecision.ts"
import type {
  Look,
  Preparation,
  SignatureStatus,
  SolanaSeen
} from "../../../../src/networks/solana/rules/SolanaSeen.ts"

export const now = 1_000_000

const relayer = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"

export const attempt: Attempt<Solana> = {
  ordinal: 1,
  kind: "original",
  generation: 1,
  requestVersion: 1,
  hash: "s1",
  place: { account: relayer, sequence: 0n },
  offer: { blockhash: "h1", bound: 300, signedSlot: 100, computeUnitPrice: 0n, fee: 5000n, out: 0n },
  maxFee: 5000n,
  signedAt: now - 60_000,
  sends: 1,
  lastSentAt: now - 60_000,
  outcome: "accepted"
}

export const pending: Transaction<Solana> = {
  number: 1,
  relayerNumber: 1,
  origin: "request",
  generation: 1,
  versions: [{ instructions: [] }],
  facts: { isRefreshable: true, isPrebuilt: false },
  intent: "execute",
  state: "pending",
  causeSince: now,
  priority: 0,
  restored: false,
  validUntil: now + 600_000,
  requeues: 0,
  createdAt: now,
  attempts: []
}

export const submitted: Transaction<Solana> = {
  ...pending,
  state: "submitted",
  place: { account: relayer, sequence: 0n },
  attempts: [attempt]
}

/** What `landed` shows, as the ledger has it. */
export const mined: Mined<Solana> = {
  ordinal: 1,
  receipt: { height: 222, isSuccess: true, paid: 5000n, details: {} }
}

export const preparation: Preparation = {
  lifetime: { blockhash: "h2", bound: 700, signedSlot: 480 },
  accounts: "read",
  fee: { floor: 5000n, offered: 7000n, cap: 1_000_000n },
  price: { computeUnitLimit: 20_000, computeUnitPrice: 100_000n },
  out: 0n,
  balance: 10_000_000n
}

const look = (status: SignatureStatus | null, finalizedHeight: number): Look => ({
  finalized: { slot: finalizedHeight + 50, height: finalizedHeight },
  statuses: {
    slot: finalizedHeight + 80,
    of: new Map([["s1", status]]),
    indexed: [{ fromSlot: 0, toHeight: finalizedHeight - 1 }]
  },
  listed: { from: 0, signatures: status?.level === "finalized" ? new Set(["s1"]) : new Set() },
  blockhashes: { slot: finalizedHeight + 80, valid: new Map([["h1", finalizedHeight <= 300]]) },
  firstAvailable: 0
})

/** Looks of one provider: its bytes are not seen yet, can land no more, or are in a block. */
export const alive = look(null, 200)
export const dead = look(null, 301)
export const landed = (level: SignatureStatus["level"], isSuccess = true): Look =>
  look({ slot: 222, level, isSuccess }, 210)

export const seen = (looks: ReadonlyArray<Look>, more: Partial<SolanaSeen> = {}): SolanaSeen => ({
  _tag: "Seen",
  configured: 2,
  looks,
  known: [],
  ...more
})

/** `slot`: up to where the list of the address was read after a restore. Absent: it was not read. */
export const laneAfter = (restore: { readonly bound: number; readonly slot?: number }): Lane<Solana> => ({
  generation: 1,
  windowSize: 64,
  accounts: [{ address: relayer, nextSequence: 0n, chainSequence: 0n, settledSequence: 0n, counters: { restore } }]
})

type More = Partial<Omit<Situation<Solana>, "terms" | "rest">> & {
  readonly terms?: Partial<Situation<Solana>["terms"]>
  readonly rest?: Partial<Situation<Solana>["rest"]>
}

export const situation = (
  transaction: Transaction<Solana>,
  view: Situation<Solana>["view"],
  { terms, rest, ...more }: More = {}
): Situation<Solana> => ({
  transaction,
  lane: laneAfter({ bound: 90, slot: 95 }),
  isDeepReorg: false,
  terms: {
    isPaused: false,
    isAllowed: true,
    minBalance: 0n,
    blockTime: 400,
    finalityByOne: 3_600_000,
    isSponsored: false,
    guard: { relayer, maxFee: 1_000_000n, authority: "own_instructions", authorityPrograms: [], feeMints: [] },
    ...terms
  },
  rest: { inFlight: 0, reserved: 0n, isPendingBefore: false, survey: undefined, ...rest },
  view,
  now,
  ...more
})

/** The first command in short: its tag, then what it says. */
const first = (decided: Situation<Solana>): string => {
  const [command] = decide(decided)
  switch (command._tag) {
    case "Hold":
      return `Hold ${command.cause.code}`
    case "Finish":
      return `Finish ${command.state} ${command.cause.code}${command.confirmedBy === 1 ? " by one" : ""}`
    case "Mine":
      return `Mine ${command.state} ${command.cause.code}`
    case "Sign":
      // Bytes that exist already are taken over as if they were signed now.
      return command.offer.taken === undefined ? `Sign ${command.kind} ${command.maxFee}` : "Adopt"
    case "Ask":
      return `Ask ${command.question}`
    default:
      return command._tag
  }
}

type Case = readonly [name: string, situation: Situation<Solana>, expected: string]

/** A test for each case. None is decided about again at a moment that has passed. */
export const check = (cases: ReadonlyArray<Case>) => {
  for (const [name, decided, expected] of cases) {
    it(name, () => {
      assert.strictEqual(first(decided), expected)
      for (const command of decide(decided)) {
        if (command._tag === "PollAt") assert.isAtLeast(command.at, decided.now)
      }
    })
  }
}
