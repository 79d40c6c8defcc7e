// Worlds in which episodes are played, and worlds in which one rule is missing.
import { cause } from "../../../../../src/networks/core/Cause.ts"
import { Command } from "../../../../../src/networks/core/Rules.ts"
import type { Commands, Situation } from "../../../../../src/networks/core/Rules.ts"
import { currentAttempts } from "../../../../../src/networks/core/Transaction.ts"
import type { Stellar } from "../../../../../src/networks/stellar/rules/Stellar.ts"
import type { Setting } from "./Episode.ts"
import type { Decide } from "./Process.ts"

export const settings: ReadonlyArray<Setting> = [
  { name: "one provider", providers: 1 },
  { name: "one provider behind a balancer", providers: 1, isBalanced: true },
  { name: "two providers", providers: 2 },
  { name: "a channel", providers: 1, isBalanced: true, hasChannel: true },
  { name: "two providers behind balancers", providers: 2, isBalanced: true },
  { name: "two providers, one of which lies", providers: 2, isLiar: true },
  { name: "restores of backups, a channel", providers: 1, restores: true, hasChannel: true },
  { name: "restores of backups, two providers", providers: 2, restores: true, isBalanced: true },
  { name: "an index that is behind", providers: 1, indexBehind: "each" },
  {
    name: "an index that is behind, a channel, restores",
    providers: 1,
    indexBehind: "each",
    hasChannel: true,
    restores: true
  },
  { name: "two providers, one with an index that is behind", providers: 2, indexBehind: "second" },
  { name: "two URLs of one gateway with an index that is behind", providers: 2, indexBehind: "each", isBalanced: true },
  {
    name: "two providers with indexes that are behind, one of which lies",
    providers: 2,
    indexBehind: "each",
    isLiar: true
  }
]

type InFlight = Situation<Stellar>

/** Back to pending, as if nothing of it could be applied any more. */
const moveOn = (next: bigint): Commands<Stellar> => [
  Command.Requeue({ restored: false, requeues: 0, cause: cause("queued"), frees: { next, isProven: true } })
]

const sequencesOf = ({ view }: InFlight): ReadonlyArray<bigint> =>
  view._tag === "Seen" ? view.looks.flatMap(({ testimony }) => testimony.account?.sequence ?? []) : []

const highest = (situation: InFlight): bigint =>
  sequencesOf(situation).reduce((most, one) => (one > most ? one : most), 0n) + 1n

const isOwnInFlight = ({ transaction }: InFlight): boolean =>
  transaction.place?.sequence !== undefined && transaction.state !== "pending"

/** `txBAD_SEQ` counts as a proof. */
const badSequenceMoves = (decide: Decide, situation: InFlight): Commands<Stellar> => {
  const isBad = situation.transaction.attempts.at(-1)?.refusal?.class === "look"
  return isOwnInFlight(situation) && isBad && sequencesOf(situation).length > 0
    ? moveOn(highest(situation))
    : decide(situation)
}

const lastMaxTime = ({ transaction }: InFlight): number =>
  Math.max(0, ...currentAttempts(transaction).map(({ offer }) => offer.maxTime))

/** The clock counts as a proof. */
const clockMoves = (decide: Decide, situation: InFlight): Commands<Stellar> =>
  isOwnInFlight(situation) && sequencesOf(situation).length > 0 && situation.now > lastMaxTime(situation) * 1000
    ? moveOn(highest(situation))
    : decide(situation)

/** That a hash is not found at a late ledger counts as a proof. */
const absenceMoves = (decide: Decide, situation: InFlight): Commands<Stellar> => {
  const { view } = situation
  if (!isOwnInFlight(situation) || view._tag !== "Seen" || view.isProofAsked !== true) return decide(situation)
  const isAbsent = view.looks.every(({ testimony }) => testimony.found === undefined && testimony.account !== undefined)
  return isAbsent ? moveOn(highest(situation)) : decide(situation)
}

/** That the ledgers show no transaction which used the sequence counts as a proof that it was not ours. */
const emptyLedgersMove = (decide: Decide, situation: InFlight): Commands<Stellar> => {
  const { view } = situation
  if (!isOwnInFlight(situation) || view._tag !== "Seen" || view.isProofAsked !== true) return decide(situation)
  const isEmpty = view.looks.every(({ testimony: { scan } }) => scan !== undefined && scan.use === undefined)
  return isEmpty ? moveOn(highest(situation)) : decide(situation)
}

export const mutants: ReadonlyArray<Setting> = [
  {
    name: "txBAD_SEQ is no proof",
    providers: 1,
    isBalanced: true,
    hasChannel: true,
    without: { decide: badSequenceMoves }
  },
  { name: "the clock is no proof", providers: 1, isBalanced: true, without: { decide: clockMoves } },
  { name: "a hash that is not found is no proof", providers: 1, isBalanced: true, without: { decide: absenceMoves } },
  {
    name: "ledgers in which nothing is found are no proof",
    providers: 1,
    indexBehind: "each",
    without: { decide: emptyLedgersMove }
  },
  {
    name: "ledgers in which nothing is found are no proof at two URLs of one gateway",
    providers: 2,
    indexBehind: "each",
    without: { decide: emptyLedgersMove }
  },
  {
    name: "an operator waits until lost envelopes are dead",
    providers: 1,
    restores: true,
    hasChannel: true,
    without: { waitAfterRestore: true }
  },
  { name: "one of two providers is not believed", providers: 2, isLiar: true, without: { secondOpinion: true } },
  { name: "envelopes are committed before they are sent", providers: 1, without: { commitFirst: true } }
]
