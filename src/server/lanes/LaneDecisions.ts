// Decides about the open transactions of a lane from one poll, those that wait for a place included, and carries the decisions out.
import { Clock, Effect } from "effect"
import type { Array as Arr } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { plan } from "../../networks/core/Queue.ts"
import type { Candidate, PlannedSignature } from "../../networks/core/Queue.ts"
import type { Command, Commands, Sign } from "../../networks/core/Rules.ts"
import { grown } from "../../networks/core/Transaction.ts"
import { maxSignaturesPerCommit } from "../../networks/core/TransactionValues.ts"
import type { Place } from "../../networks/core/TransactionValues.ts"
import type { Decided, StoredTransaction } from "../ledger/LedgerEntries.ts"
import type { Inquiry } from "./LaneNetwork.ts"
import {
  countFinal,
  countSignatures,
  measureFirstSends,
  reach,
  send,
  sendAgain,
  sign,
  traceFinal
} from "./LaneSending.ts"
import type { OpenRow, StepState } from "./StepState.ts"

/** The most decisions about one transaction in one poll: a decision can require another one at once. */
const maxRounds = 3

/** Questions about one transaction before it is decided. Each network answers every question at once, so that few follow. */
const maxQuestions = 4

/**
 * Asks the chain what decisions need to know besides a poll. Returns what is seen of each row with its answer, by number. Each foreign
 * transaction that the chain shows meanwhile marks the requests that it could be, before any of these is decided.
 */
const inquire = Effect.fnUntraced(function* (
  { context: { chain, ledger, hold }, storedLane, lane, update }: StepState,
  inquiries: Arr.NonEmptyReadonlyArray<Inquiry>
) {
  const found = yield* chain.inquire(lane(), inquiries)
  for (const { foreign = [] } of found) {
    for (const one of foreign) update(yield* ledger.markRestored(hold, storedLane.chain, one))
  }
  return new Map(inquiries.map(({ row, seen }, index) => [row.transaction.number, found[index]?.seen ?? seen] as const))
})

/** Commands that change the ledger by themselves. */
const isChange = ({ _tag }: Command): boolean =>
  _tag === "Hold" ||
  _tag === "Intend" ||
  _tag === "Mine" ||
  _tag === "Unmine" ||
  _tag === "Requeue" ||
  _tag === "Reroute" ||
  _tag === "Finish"

export interface Judged {
  readonly row: OpenRow
  readonly commands: Commands
}

/** Decides about rows. Those that ask the chain are decided again with the answers. */
const judgeAll = Effect.fnUntraced(function* (step: StepState, given: ReadonlyArray<OpenRow>) {
  const { rules, memory } = step.context
  const totals = step.totals()
  const judged: Array<Judged> = []
  const found = new Map<number, unknown>()
  let waiting = given
  for (let round = 0; round <= maxQuestions && waiting.length > 0; round++) {
    const inquiries: Array<Inquiry & { readonly row: OpenRow }> = []
    for (const before of waiting) {
      const { number } = before.transaction
      // The row itself may have been marked by an answer.
      const row = step.row(number) ?? before
      const view = found.get(number) ?? memory.poll?.seenOf(row, step.now)
      const commands = rules.decide(step.situationOf(row, totals, view))
      const [first] = commands
      if (first._tag === "Ask") inquiries.push({ row, seen: view, question: first.question })
      else judged.push({ row, commands })
    }
    if (!isReadonlyArrayNonEmpty(inquiries)) break
    for (const [number, seen] of yield* inquire(step, inquiries)) found.set(number, seen)
    waiting = inquiries.map(({ row }) => row)
  }
  return judged
})

const signatures = Effect.fnUntraced(function* (step: StepState, judged: ReadonlyArray<Judged>) {
  const due = judged.flatMap(({ row, commands }) => {
    const command = commands.find((command): command is Sign => command._tag === "Sign")
    const { place } = row.transaction
    return command === undefined || place === undefined ? [] : [{ row, place, command }]
  })
  const signed = yield* sign(step, due)
  if (!isReadonlyArrayNonEmpty(signed)) return
  const committed = yield* step.context.ledger.commitSignatures(step.context.hold, signed)
  yield* reach("committed")
  step.update(committed)
  yield* countSignatures(signed)
  const raw = new Map(signed.map((signature) => [signature.stored.id, signature.raw]))
  const relayers = new Map(due.map(({ row }) => [row.stored.id, row.relayer]))
  const sendings = committed.flatMap((stored) => {
    const relayer = relayers.get(stored.id)
    const newest = stored.transaction.attempts.at(-1)
    return relayer === undefined || newest === undefined ? [] : [{ stored, relayer, ordinals: [newest.ordinal] }]
  })
  yield* send(step, sendings, ({ id }) => raw.get(id))
})

/** The window grows by one per block in which a transaction was mined. */
const growWindow = ({ context: { memory, rules }, lane }: StepState, judged: ReadonlyArray<Judged>): void => {
  const blocks = new Set(
    judged.flatMap(({ commands }) =>
      commands.flatMap((command) => (command._tag === "Mine" ? [command.mined.receipt.height] : []))
    )
  )
  const [first] = judged
  const ofNetwork = first === undefined ? 0 : rules.laneOf(first.row.relayer.target).window
  const limit = Math.min(memory.poll?.reading?.windowLimit ?? ofNetwork, ofNetwork)
  const size = memory.window ?? lane().windowSize
  if (blocks.size > 0 && size < limit) memory.window = grown(size, blocks.size, limit)
}

/** Writes decisions. */
const applyChanges = Effect.fnUntraced(function* (step: StepState, judged: ReadonlyArray<Judged>) {
  const { context } = step
  const decided = judged.flatMap(({ row: { stored }, commands }): ReadonlyArray<Decided> =>
    commands.filter(isChange).map((command) => ({ stored, command }))
  )
  if (!isReadonlyArrayNonEmpty(decided)) return
  growWindow(step, judged)
  const changed = yield* context.ledger.apply(context.hold, decided)
  step.update(changed)
  const written = new Set(changed.map(({ id }) => id))
  for (const { stored, command } of decided) {
    const frees = command._tag === "Finish" || command._tag === "Requeue" ? command.frees : undefined
    if (frees !== undefined && stored.transaction.place !== undefined && written.has(stored.id)) {
      step.free(stored.transaction.place, frees)
    }
  }
  yield* countFinal(context.chain, changed)
  yield* traceFinal(changed)
})

const resend = Effect.fnUntraced(function* (step: StepState, judged: ReadonlyArray<Judged>) {
  const sendings = judged.flatMap(({ row, commands }) => {
    const broadcast = commands.find((command) => command._tag === "Broadcast")
    const { stored, relayer } = step.row(row.transaction.number) ?? row
    return broadcast?._tag === "Broadcast" ? [{ stored, relayer, ordinals: broadcast.ordinals }] : []
  })
  yield* sendAgain(step, sendings)
})

/** A decision that is due now is made in this step. */
const noteMoments = (step: StepState, { commands }: Judged): void => {
  for (const command of commands) if (command._tag === "PollAt" && command.at > step.now) step.wakeAt(command.at)
}

const asksAgain = ({ commands }: Judged, now: number): boolean =>
  commands.some((command) => command._tag === "PollAt" && command.at <= now)

export const decideAll = Effect.fn("LaneDecisions.decideAll")(function* (
  step: StepState,
  given: ReadonlyArray<StoredTransaction>
) {
  let numbers = given.map(({ transaction }) => transaction.number)
  const originals = new Map(given.map((stored) => [stored.transaction.number, stored]))
  for (let round = 0; round < maxRounds && numbers.length > 0; round++) {
    const rows = numbers.flatMap((number) => step.row(number) ?? step.rowOf(originals.get(number)) ?? [])
    const judged = yield* judgeAll(
      step,
      rows.filter(({ transaction }) => transaction.state !== "pending")
    )
    yield* reach("seen")
    yield* applyChanges(step, judged)
    yield* resend(step, judged)
    yield* signatures(step, judged)
    for (const one of judged) noteMoments(step, one)
    numbers = judged.filter((one) => asksAgain(one, step.now)).map(({ row }) => row.transaction.number)
  }
})

// Gives places to pending transactions: decisions, signatures, one commit, then the broadcast.

/** What can be signed now, and what is decided about the others. Questions are answered first, all at once. */
const planAll = Effect.fnUntraced(function* (step: StepState, pending: ReadonlyMap<number, OpenRow>) {
  const { rules, memory } = step.context
  const found = new Map<number, unknown>()
  const planNow = () => {
    const candidates = [...pending.keys()].flatMap((number): ReadonlyArray<Candidate> => {
      const row = step.row(number)
      if (row === undefined || row.transaction.state !== "pending") return []
      const view = found.get(number) ?? memory.poll?.seenOf(row, step.now)
      return [
        {
          transaction: row.transaction,
          terms: step.termsOf(row),
          view,
          providers: row.relayer.urlsKey,
          doubt: step.doubtOf(row)
        }
      ]
    })
    return plan(rules, candidates, step.base(), step.totals(), step.now, maxSignaturesPerCommit)
  }
  let planned = planNow()
  for (let round = 0; round < maxQuestions; round++) {
    const inquiries = planned.questions.flatMap(({ transaction, question }) => {
      const row = step.row(transaction.number)
      const seen = found.get(transaction.number) ?? (row && memory.poll?.seenOf(row, step.now))
      return row === undefined ? [] : [{ row, seen, question }]
    })
    if (!isReadonlyArrayNonEmpty(inquiries)) break
    for (const [number, seen] of yield* inquire(step, inquiries)) found.set(number, seen)
    planned = planNow()
  }
  return planned
})

/** The place after this one on the same account. */
const following = ({ account, sequence = 0n }: Place): Place => ({ account, sequence: sequence + 1n })

const commit = Effect.fnUntraced(function* (step: StepState, signings: ReadonlyArray<PlannedSignature>) {
  const { context, now } = step
  const due = signings.flatMap(({ transaction, place, sign }) => {
    const row = step.row(transaction.number)
    return row === undefined ? [] : [{ row, place, command: sign }]
  })
  const signed = yield* sign(step, due)
  if (!isReadonlyArrayNonEmpty(signed)) return 0
  const committed = yield* context.ledger.commitSignatures(context.hold, signed)
  yield* reach("committed")
  step.update(committed)
  step.give(
    signed.flatMap(({ attempt: { place }, next }) => (next === undefined ? [place] : [place, following(place)]))
  )
  context.memory.lastSignedAt = now
  context.pulse.signed(yield* Clock.currentTimeMillis)
  yield* countSignatures(signed)
  const raw = new Map(signed.map((signature) => [signature.stored.id, signature.raw]))
  const sendings = committed.flatMap((stored) => {
    const relayer = step.rowOf(stored)?.relayer
    const newest = stored.transaction.attempts.at(-1)
    return relayer === undefined || newest === undefined ? [] : [{ stored, relayer, ordinals: [newest.ordinal] }]
  })
  yield* send(step, sendings, ({ id }) => raw.get(id))
  yield* measureFirstSends(sendings.map(({ stored }) => stored))
  return signed.length
})

/** Returns how many got a place: if these are as many as one commit takes, there may be more. */
export const assign = Effect.fn("LaneDecisions.assign")(function* (step: StepState) {
  const pending = new Map(step.pending().map((row) => [row.transaction.number, row]))
  if (pending.size === 0) return 0
  const planned = yield* planAll(step, pending)
  const judged = planned.decided.flatMap(({ transaction, commands }) => {
    const row = step.row(transaction.number)
    return row === undefined ? [] : [{ row, commands }]
  })
  yield* applyChanges(step, judged)
  for (const { commands } of judged) {
    for (const command of commands) if (command._tag === "PollAt") step.wakeAt(command.at)
  }
  return yield* commit(step, planned.signings)
})
