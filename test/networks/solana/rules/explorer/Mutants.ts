// The state machine and its driver without one of their rules each. A rule that nothing needs would be noticed here.
import { cause } from "../../../../../src/networks/core/Cause.ts"
import { finish } from "../../../../../src/networks/core/Rules.ts"
import type { Situation } from "../../../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Solana } from "../../../../../src/networks/solana/rules/Solana.ts"
import { conclude } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"
import type { Look, SolanaSeen } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"
import { base } from "./Setting.ts"
import type { Decide, Setting, Without } from "./Setting.ts"

/** Later than every slot of an episode. */
const later = 1e9

const noList = (look: Look): Look => ({ ...look, listed: { from: 0, signatures: new Set() } })
const noFirstBlock = (look: Look): Look => ({ ...look, firstAvailable: 0 })
const noBlockhashes = (look: Look): Look => {
  const hashes = [...(look.blockhashes?.valid.keys() ?? [])]
  return { ...look, blockhashes: { slot: later, valid: new Map(hashes.map((hash) => [hash, false])) } }
}
const anySlot = (look: Look): Look =>
  look.statuses === undefined ? look : { ...look, statuses: { ...look.statuses, slot: later } }

/** Every index is taken for complete. */
const anyIndex = (look: Look): Look =>
  look.statuses === undefined
    ? look
    : { ...look, statuses: { ...look.statuses, indexed: [{ fromSlot: 0, toHeight: later }] } }

const confirmedIsFinal = (look: Look): Look => {
  if (look.statuses === undefined) return look
  const of = [...look.statuses.of].map(
    ([hash, status]) =>
      [hash, status?.level === "confirmed" ? { ...status, level: "finalized" as const } : status] as const
  )
  return { ...look, statuses: { ...look.statuses, of: new Map(of) } }
}

const tooEarly = (look: Look): Look =>
  look.finalized === undefined ? look : { ...look, finalized: { ...look.finalized, height: look.finalized.height + 2 } }

const all =
  (...changes: ReadonlyArray<(look: Look) => Look>) =>
  (look: Look): Look =>
    changes.reduce((changed, change) => change(changed), look)

/** Decides by the first look that concludes as wanted, as if no other provider were configured. */
const alone =
  (tag: "Landed" | "Dead") =>
  (decide: Decide): Decide =>
  (situation) => {
    const { view, transaction } = situation
    if (view._tag === "Unreachable") return decide(situation)
    for (const look of view.looks) {
      const conclusion = conclude(look, transaction.attempts, view.known)
      if (conclusion?._tag !== tag) continue
      const seen: SolanaSeen = { ...view, configured: 1, looks: [{ ...look, earlier: { at: -later, conclusion } }] }
      return decide({ ...situation, view: seen })
    }
    return decide(situation)
  }

const finishing =
  (isDue: (situation: Situation<Solana>) => boolean, state: "expired" | "canceled") =>
  (decide: Decide): Decide =>
  (situation) => {
    const { transaction } = situation
    return !isFinal(transaction) && !transaction.restored && transaction.attempts.length > 0 && isDue(situation)
      ? [finish({ state, cause: cause(state === "expired" ? "deadline_passed" : "canceled") })]
      : decide(situation)
  }

const onlyNewest =
  (decide: Decide): Decide =>
  (situation) =>
    decide({
      ...situation,
      transaction: { ...situation.transaction, attempts: situation.transaction.attempts.slice(-1) }
    })

const notTaken =
  (decide: Decide): Decide =>
  (situation) => {
    const { given: _, ...facts } = situation.transaction.facts
    return decide({ ...situation, transaction: { ...situation.transaction, facts } })
  }

export interface Mutant extends Setting {
  /** Whether the explorer finds that the rule is missing. */
  readonly isCaught: boolean
  /** Seeds with which a rare violation comes early. */
  readonly salt: number
}

const mutant = (
  name: string,
  isCaught: boolean,
  without: Without,
  changed: Partial<Setting> = {},
  salt = 0
): Mutant => ({
  ...base,
  ...changed,
  name,
  isCaught,
  salt,
  without
})

/** The two looks of a provider that decides alone would hide most of what a missing rule lets pass. */
const inOneLook = alone("Dead")
const one = { providers: 1 } as const
const oneLies = { liar: true } as const

/** In the order of the design's table. Two rules are second lines of defence: the others hold without them. */
export const mutants: ReadonlyArray<Mutant> = [
  mutant(
    "no search in history",
    true,
    { decide: inOneLook, history: true, look: all(noList, noFirstBlock, anyIndex) },
    one
  ),
  mutant(
    "confirmed instead of finalized",
    true,
    { decide: inOneLook, finality: true, look: all(noList, anyIndex) },
    one,
    1
  ),
  mutant(
    "an error counts as absent",
    true,
    { decide: inOneLook, errors: true, look: all(noList, anySlot, anyIndex) },
    one
  ),
  mutant("stored after the send", true, { storage: true }),
  mutant(
    "only the reported height, one lies",
    true,
    { secondBound: true, look: all(noBlockhashes, anyIndex) },
    oneLies
  ),
  mutant(
    "only the reported height, the blockhash is checked, one lies",
    true,
    { secondBound: true, look: anyIndex },
    oneLies,
    3
  ),
  mutant("one of two providers proves, one lies", true, { decide: alone("Dead") }, oneLies),
  mutant("no margin", true, { decide: inOneLook, look: all(tooEarly, noBlockhashes, anyIndex) }, one, 2),
  mutant("only the newest attempt is asked", false, { decide: onlyNewest }),
  mutant("no list of the address", true, { decide: inOneLook, look: all(noList, anyIndex) }, one),
  mutant(
    "no list of the address, the blockhash is not checked",
    true,
    { decide: inOneLook, look: all(noList, noBlockhashes, anyIndex) },
    one
  ),
  mutant(
    "the first block is not asked, no list",
    true,
    { decide: inOneLook, look: all(noList, noFirstBlock, anyIndex) },
    { ...one, pruned: 0.5 }
  ),
  mutant("a deadline needs no proof", true, {
    decide: finishing(({ transaction, now }) => now >= transaction.validUntil, "expired")
  }),
  mutant("a cancel needs no proof", true, {
    decide: finishing(({ transaction }) => transaction.intent === "cancel", "canceled")
  }),
  mutant("confirmed is final", true, { decide: inOneLook, look: confirmedIsFinal }, one),
  mutant("one provider's word for a verdict, one lies", true, { decide: alone("Landed") }, oneLies),
  mutant("restored rows are sent at once", true, { restoreMarks: true }, { restores: true }),
  mutant("equal requests share a signature", true, { unique: true }, { equal: true, rows: 3 }),
  mutant("no fence", false, { fence: true }),
  mutant("no fence and no version", true, { fence: true, version: true })
]

/** Rules that the design's table does not have. */
export const moreMutants: ReadonlyArray<Mutant> = [
  mutant("a given signature is not taken over", true, { decide: notTaken }, { given: 3 }),
  mutant(
    "the bound of a restore is read from a provider that lags",
    true,
    { freshBound: true, index: true },
    { ...one, restores: true },
    3
  ),
  mutant("an index is taken for complete", true, { look: anyIndex }, { indexLag: 0.9, errors: 0.02 }),
  mutant(
    "an index is taken for complete, one provider",
    true,
    { look: anyIndex },
    { ...one, indexLag: 0.9, errors: 0.02 }
  ),
  mutant(
    "a list after a restore is taken for complete",
    true,
    { index: true },
    { ...one, restores: true, indexLag: 0.9, errors: 0.02 },
    5
  ),
  mutant("one provider proves in one look", false, { decide: inOneLook }, one)
]
