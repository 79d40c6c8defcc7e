// Sends committed bytes, in the order of their sequences, and records what nodes answer. A process that dies in between sends
// them again: they are the same bytes.
import { Clock, Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import type { Attempt } from "../../domain/transaction/Attempt.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { rebroadcastAfter } from "../../domain/transaction/Numbers.ts"
import { bySequence } from "../../domain/transaction/Place.ts"
import { withSent } from "../../domain/transaction/Transition.ts"
import { halved } from "../../domain/transaction/Lane.ts"
import type { Decided, SentAttempt } from "../ledger/hold/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { reach } from "./CrashPoints.ts"
import type { LaneRelayer } from "./LaneNetwork.ts"
import { inTrace } from "./LaneTraces.ts"
import type { StepState } from "./StepState.ts"

export interface Sending {
  readonly stored: StoredTransaction
  readonly relayer: LaneRelayer
  /** The first that a node takes is enough. */
  readonly ordinals: ReadonlyArray<number>
}

type RawOf = (stored: StoredTransaction, ordinal: number) => Uint8Array | undefined

/**
 * Bytes that the relayer's own providers do not accept for this long also go through those of the lane's other relayers, so that
 * they do not hold what comes after them. Every provider proves that it is on the chain before it gets bytes.
 */
const isStranded = ({ firstSent }: Attempt, now: Moment): boolean =>
  firstSent !== undefined && now - firstSent.at >= rebroadcastAfter

const broadcast = Effect.fnUntraced(function* (step: StepState, { stored, relayer, ordinals }: Sending, rawOf: RawOf) {
  const { chain, rules, memory } = step.context
  const height = memory.poll?.heightOf(relayer) ?? 0
  const sent: Array<SentAttempt> = []
  let transaction = stored.transaction
  for (const ordinal of ordinals) {
    const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
    const raw = rawOf(stored, ordinal)
    if (attempt === undefined || raw === undefined) continue
    const answers = [...(yield* chain.broadcast(relayer, raw, attempt.sends))]
    const hear = Effect.fnUntraced(function* () {
      return rules.hear(transaction, attempt, answers, { at: yield* Clock.currentTimeMillis, height })
    })
    let heard = yield* hear()
    if (!heard.isAccepted && isStranded(attempt, step.now)) {
      for (const other of step.withOtherProviders(relayer)) {
        answers.push(...(yield* chain.broadcast(other, raw, attempt.sends)))
      }
      heard = yield* hear()
    }
    transaction = withSent(transaction, heard)
    sent.push({ id: stored.id, sent: heard })
    if (heard.isAccepted || !heard.triesOlder) break
  }
  return sent
})

const sendOne = (step: StepState, sending: Sending, rawOf: RawOf) =>
  inTrace("transaction.broadcast", sending.stored)(broadcast(step, sending, rawOf))

/** Nodes drop what comes after one that they refused. */
const inTurn = Effect.fnUntraced(function* (step: StepState, sendings: ReadonlyArray<Sending>, rawOf: RawOf) {
  const all: Array<SentAttempt> = []
  for (const sending of sendings) {
    const sent = yield* sendOne(step, sending, rawOf)
    all.push(...sent)
    const needsFormer = step.context.chain.broadcastsAtOnce([sending.relayer]) === 1
    if (needsFormer && !sent.some(({ sent }) => sent.isAccepted)) break
  }
  return all
})

const byPlace = (one: Sending, other: Sending): number =>
  bySequence(one.stored.transaction.place, other.stored.transaction.place)

export const send = Effect.fn("LaneSending.send")(function* (
  step: StepState,
  given: ReadonlyArray<Sending>,
  rawOf: RawOf
) {
  const { chain, hold, ledger, memory } = step.context
  const sendings = given.toSorted(byPlace)
  const concurrency = chain.broadcastsAtOnce(sendings.map(({ relayer }) => relayer))
  const sent =
    concurrency > 1
      ? (yield* Effect.forEach(sendings, (sending) => sendOne(step, sending, rawOf), { concurrency })).flat()
      : yield* inTurn(step, sendings, rawOf)
  yield* reach("sent")
  if (!isReadonlyArrayNonEmpty(sent)) return
  if (sent.some(({ sent }) => sent.isWindowFull)) memory.window = halved(step.lane().windowSize)
  step.update(yield* ledger.recordSends(hold, sent))
  const following = sent.flatMap(({ id, sent: { follows } }): ReadonlyArray<Decided> => {
    const stored = step.stored().find((row) => row.id === id)
    return stored === undefined || follows === undefined ? [] : [{ stored, command: follows }]
  })
  if (isReadonlyArrayNonEmpty(following)) step.update(yield* ledger.apply(hold, following))
})

/** The same with bytes that the ledger has. */
export const sendAgain = Effect.fnUntraced(function* (step: StepState, sendings: ReadonlyArray<Sending>) {
  if (sendings.length === 0) return
  const keys = sendings.flatMap(({ stored, ordinals }) => ordinals.map((ordinal) => ({ id: stored.id, ordinal })))
  const bytes = yield* step.context.ledger.bytes(keys)
  const raw = new Map(bytes.map((one) => [`${one.id} ${one.ordinal}`, one.raw]))
  yield* send(step, sendings, ({ id }, ordinal) => raw.get(`${id} ${ordinal}`))
})
