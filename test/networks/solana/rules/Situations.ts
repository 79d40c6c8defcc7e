// Situations for tests of decisions: a transaction that can be signed, and one whose bytes are alive, dead or landed.
import { assert, it } from "@effect/vitest"
import { decideSolana } from "../../../../src/networks/solana/rules/SolanaDecision.ts"
import type {
  Look,
  Preparation,
  SignatureStatus,
  SolanaAttempt,
  SolanaSeen,
  SolanaSituation,
  SolanaTransaction
} from "../../../../src/networks/solana/rules/SolanaSituation.ts"

export const now = 1_000_000

export const attempt: SolanaAttempt = {
  ordinal: 1,
  kind: "original",
  hash: "s1",
  offer: { blockhash: "h1", bound: 300, signedSlot: 100, computeUnitPrice: 0n },
  maxFee: 5000n,
  sends: 1,
  lastSentAt: now - 60_000,
  isRefused: false
}

export const pending: SolanaTransaction = {
  generation: 1,
  facts: { isRefreshable: true, isPrebuilt: false },
  intent: "execute",
  state: "pending",
  causeSince: now,
  restored: false,
  validUntil: now + 600_000,
  waitsForFunds: false,
  attempts: []
}

export const submitted: SolanaTransaction = { ...pending, state: "submitted", attempts: [attempt] }

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

export const situation = (
  transaction: SolanaTransaction,
  view: SolanaSituation["view"],
  more: Partial<SolanaSituation> = {}
): SolanaSituation => ({
  transaction,
  lane: { generation: 1, windowSize: 64, isRestoreRead: true },
  terms: { isPaused: false, isAllowed: true, minBalance: 0n, finalityByOne: 3_600_000, isSponsored: false },
  rest: { inFlight: 0, reserved: 0n },
  view,
  now,
  ...more
})

/** The first command in short: its tag, then what it says. */
const first = (decided: SolanaSituation): string => {
  const [command] = decideSolana(decided)
  switch (command._tag) {
    case "Hold":
      return `Hold ${command.cause.code}`
    case "Finish":
      return `Finish ${command.state} ${command.cause.code}${command.confirmedBy === 1 ? " by one" : ""}`
    case "Mine":
      return `Mine ${command.state} ${command.cause.code}`
    case "Sign":
      return `Sign ${command.kind} ${command.maxFee}`
    case "Ask":
      return `Ask ${command.question}`
    default:
      return command._tag
  }
}

type Case = readonly [name: string, situation: SolanaSituation, expected: string]

/** A test for each case. None is decided about again at a moment that has passed. */
export const check = (cases: ReadonlyArray<Case>) => {
  for (const [name, decided, expected] of cases) {
    it(name, () => {
      assert.strictEqual(first(decided), expected)
      for (const command of decideSolana(decided)) {
        if (command._tag === "PollAt") assert.isAtLeast(command.at, decided.now)
      }
    })
  }
}
