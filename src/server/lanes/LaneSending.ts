// Sends committed bytes, in the order of their nonces, and records what nodes answer. A process that dies in between sends
// them again: they are the same bytes.
import { Clock, Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { Hex } from "effect/encoding"
import type { Attempt } from "../../domain/transaction/Attempt.ts"
import type { NodeAnswer } from "../../domain/transaction/Refusal.ts"
import { classify } from "../../domain/transaction/Refusal.ts"
import { record } from "../../domain/transaction/Sending.ts"
import { withSent } from "../../domain/transaction/Transition.ts"
import { halved } from "../../domain/transaction/Window.ts"
import type { Decided, SentAttempt } from "../ledger/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { reach } from "./CrashPoints.ts"
import { update } from "./LaneContext.ts"
import type { Work } from "./LaneContext.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"
import { inTrace } from "./LaneTraces.ts"
import * as Providers from "./LaneProviders.ts"

/**
 * Transactions of a lane that are on their way to a node at once, in one JSON-RPC batch; one if the node keeps no gaps. A step
 * has at most 64, which eight at a time took eight exchanges: 32 take a tenth less processor time per transaction.
 */
const inParallel = 32

export interface Sending {
  readonly stored: StoredTransaction
  readonly relayer: LaneRelayer
  /** The first that a node takes is enough. */
  readonly ordinals: ReadonlyArray<number>
}

type RawOf = (stored: StoredTransaction, ordinal: number) => Uint8Array | undefined

const logged = new Set<string>()

/** Texts that the table of refusals does not know are logged once: they may need a line there. */
const logUnknown = (answers: ReadonlyArray<NodeAnswer>) =>
  Effect.forEach(
    answers.filter((answer) => classify(answer) === "unknown"),
    (answer) => {
      const text = "message" in answer ? (answer.message ?? "").slice(0, 200) : ""
      if (logged.has(text) || logged.size > 1000) return Effect.void
      logged.add(text)
      return Effect.annotateLogs(Effect.logWarning("answer of a node is not known"), { answer: text })
    },
    { discard: true }
  )

const broadcast = Effect.fnUntraced(function* (work: Work, { stored, relayer, ordinals }: Sending, rawOf: RawOf) {
  const providers = yield* Providers.of(work, relayer)
  const head = work.context.memory.polls.get(relayer.urlsKey)?.base.head.number ?? 0
  const sent: Array<SentAttempt> = []
  let transaction = stored.transaction
  for (const ordinal of ordinals) {
    const attempt: Attempt | undefined = transaction.attempts.find((one) => one.ordinal === ordinal)
    const raw = rawOf(stored, ordinal)
    if (attempt === undefined || raw === undefined) continue
    const answers = yield* providers.broadcast(`0x${Hex.encode(raw)}`)
    yield* logUnknown(answers)
    const outcome = record(transaction, attempt, answers, { now: yield* Clock.currentTimeMillis, head })
    transaction = withSent(transaction, outcome)
    sent.push({ id: stored.id, sent: outcome })
    if (outcome.isAccepted || !outcome.triesOlder) break
  }
  return sent
})

const sendOne = (work: Work, sending: Sending, rawOf: RawOf) =>
  inTrace("transaction.broadcast", sending.stored)(broadcast(work, sending, rawOf))

/** A chain without a mempool drops what comes after one that it refused. */
const inTurn = Effect.fnUntraced(function* (work: Work, sendings: ReadonlyArray<Sending>, rawOf: RawOf) {
  const all: Array<SentAttempt> = []
  for (const sending of sendings) {
    const sent = yield* sendOne(work, sending, rawOf)
    all.push(...sent)
    if (!sending.relayer.numbers.hasMempool && !sent.some(({ sent }) => sent.isAccepted)) break
  }
  return all
})

const byNonce = (one: Sending, other: Sending): number =>
  (one.stored.transaction.nonce ?? 0) - (other.stored.transaction.nonce ?? 0)

export const send = Effect.fn("LaneSending.send")(function* (work: Work, given: ReadonlyArray<Sending>, rawOf: RawOf) {
  const sendings = given.toSorted(byNonce)
  const queues = sendings.every(({ relayer }) => relayer.numbers.hasMempool)
  const sent = queues
    ? (yield* Effect.forEach(sendings, (sending) => sendOne(work, sending, rawOf), { concurrency: inParallel })).flat()
    : yield* inTurn(work, sendings, rawOf)
  yield* reach("sent")
  if (!isReadonlyArrayNonEmpty(sent)) return
  if (sent.some(({ sent }) => sent.isWindowFull)) work.context.memory.window = halved(work.lane.windowSize)
  const { hold, ledger } = work.context
  update(work, yield* ledger.recordSends(hold, sent))
  const hopeless = sent.flatMap(({ id, sent: { intend } }): ReadonlyArray<Decided> => {
    const stored = [...work.rows.values()].find((row) => row.id === id)
    return stored === undefined || intend === undefined ? [] : [{ stored, command: intend }]
  })
  if (isReadonlyArrayNonEmpty(hopeless)) update(work, yield* ledger.apply(hold, hopeless))
})

/** The same with bytes that the ledger has. */
export const sendAgain = Effect.fnUntraced(function* (work: Work, sendings: ReadonlyArray<Sending>) {
  if (sendings.length === 0) return
  const keys = sendings.flatMap(({ stored, ordinals }) => ordinals.map((ordinal) => ({ id: stored.id, ordinal })))
  const bytes = yield* work.context.ledger.bytes(keys)
  const raw = new Map(bytes.map((one) => [`${one.id} ${one.ordinal}`, one.raw]))
  yield* send(work, sendings, ({ id }, ordinal) => raw.get(`${id} ${ordinal}`))
})
