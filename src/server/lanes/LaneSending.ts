// From decisions to nodes: signs attempts for a commit, sends committed bytes in the order of their sequences, and records what nodes
// answer. A process that dies in between sends them again: they are the same bytes.
import { Clock, Context, Effect, Metric, Tracer } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import type { Sign } from "../../networks/core/Rules.ts"
import { halved, isFinal, newestRequest } from "../../networks/core/Transaction.ts"
import type { Attempt, Lane, Transaction } from "../../networks/core/Transaction.ts"
import { bySequence, rebroadcastAfter } from "../../networks/core/TransactionValues.ts"
import type { Moment, Place } from "../../networks/core/TransactionValues.ts"
import { withSent } from "../../networks/core/Transition.ts"
import type { Decided, SentAttempt, Signature, StoredTransaction } from "../ledger/LedgerEntries.ts"
import { lanePollsTotal } from "./LaneNetwork.ts"
import type { LaneChain, LaneRelayer, SigningFailed } from "./LaneNetwork.ts"
import type { OpenRow, StepState } from "./StepState.ts"

// The metrics of lanes that this instance holds, and the traces of their transactions.

const seconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800]

const lanesHeld = Metric.gauge("lanes_held", { description: "Lanes that this instance holds." })

const total = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const duration = (name: string, description: string) => Metric.histogram(name, { description, boundaries: seconds })

const transactionSignaturesTotal = total(
  "transaction_signatures_total",
  "Committed signatures of transactions, by kind. `bump` and `noop` replace earlier ones."
)

const transactionsFinalTotal = total("transactions_final_total", "Transactions that became final, by state.")

const transactionFirstSendSeconds = duration(
  "transaction_first_send_seconds",
  "Time from the acceptance of a transaction to the end of its first broadcast, in seconds."
)

const transactionConfirmationSeconds = duration(
  "transaction_confirmation_seconds",
  "Time from the acceptance of a transaction to its confirmation, in seconds."
)

export const metrics = [
  lanesHeld,
  lanePollsTotal,
  transactionSignaturesTotal,
  transactionsFinalTotal,
  transactionFirstSendSeconds,
  transactionConfirmationSeconds
]

export const showHeld = (count: number) => Metric.update(lanesHeld, count)

export const countSignatures = (signatures: ReadonlyArray<Signature>) =>
  Effect.forEach(
    signatures,
    ({ attempt: { kind } }) => Metric.update(Metric.withAttributes(transactionSignaturesTotal, { kind }), 1),
    { discard: true }
  )

const age = (now: number, { transaction }: StoredTransaction): number => (now - transaction.createdAt) / 1000

export const measureFirstSends = Effect.fnUntraced(function* (stored: ReadonlyArray<StoredTransaction>) {
  const now = yield* Clock.currentTimeMillis
  for (const one of stored) yield* Metric.update(transactionFirstSendSeconds, age(now, one))
})

const countOne = Effect.fnUntraced(function* (chain: LaneChain, now: number, stored: StoredTransaction) {
  const { state, origin } = stored.transaction
  if (state !== "confirmed" && state !== "failed" && state !== "canceled" && state !== "expired") return
  if (origin === "request") yield* Metric.update(Metric.withAttributes(transactionsFinalTotal, { state }), 1)
  if (state === "confirmed") yield* Metric.update(transactionConfirmationSeconds, age(now, stored))
  yield* chain.noteFinal(stored.transaction, stored.apiKeyId)
})

/** `chain`: counts what only its network has. */
export const countFinal = Effect.fnUntraced(function* (chain: LaneChain, changed: ReadonlyArray<StoredTransaction>) {
  const now = yield* Clock.currentTimeMillis
  for (const stored of changed) yield* countOne(chain, now, stored)
})

// The trace of a transaction: what the driver does about it is in the trace of the request that sent it, in whichever process
// that happens. Spans are linked to the step of the lane that made them.

/** W3C Trace Context: version, trace id, span id, flags. */
const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** Bit of the flags. */
const sampled = 1

/** The span of the request. Undefined: it was accepted without a trace. */
const requestOf = ({ trace }: StoredTransaction): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags = "00"] = traceparent.exec(trace ?? "") ?? []
  return traceId === undefined || spanId === undefined
    ? undefined
    : Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & sampled) !== 0 })
}

/** Runs work about a transaction in a span that is a child of its request's. */
const inTrace =
  (name: string, stored: StoredTransaction) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const parent = requestOf(stored)
    if (parent === undefined) return work
    const { place, state } = stored.transaction
    const sequence = place?.sequence === undefined ? undefined : String(place.sequence)
    const attributes = { "transaction.id": stored.id, "transaction.nonce": sequence, "transaction.state": state }
    return Effect.flatMap(Effect.option(Effect.currentSpan), (step) =>
      Effect.withSpan(work, name, {
        parent,
        attributes,
        links: step._tag === "None" ? [] : [{ span: step.value, attributes: {} }]
      })
    )
  }

/** Shows in their traces when transactions became final. */
export const traceFinal = (changed: ReadonlyArray<StoredTransaction>) =>
  Effect.forEach(
    changed.filter(({ transaction }) => isFinal(transaction)),
    (stored) => inTrace(`transaction.${stored.transaction.state}`, stored)(Effect.void),
    { discard: true }
  )

// Named points of the driver between two effects on the outside. Tests make a process die there; a service does nothing.

/**
 * - `woken`: something was accepted for a held lane, and its step has not begun.
 * - `signed`: signatures are in memory, nothing is committed.
 * - `committed`: nonce and bytes are committed, nothing is sent.
 * - `sent`: nodes have the bytes, their answers are not recorded.
 * - `seen`: a poll is done, and its consequences are not recorded yet.
 */
export type CrashPoint = "woken" | "signed" | "committed" | "sent" | "seen"

export const CrashPoints = Context.Reference<(point: CrashPoint) => Effect.Effect<void>>(
  "effect-relayer/server/lanes/LaneSending/CrashPoints",
  { defaultValue: () => () => Effect.void }
)

export const reach = (point: CrashPoint): Effect.Effect<void> => Effect.flatMap(CrashPoints, (at) => at(point))

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

const isHeldBack = (
  { context: { rules }, lane, totals }: StepState,
  transaction: Transaction,
  attempt: Attempt
): boolean =>
  transaction.route !== undefined && rules.isHeldBack?.(transaction, attempt, lane(), totals().survey) === true

const broadcast = Effect.fnUntraced(function* (step: StepState, { stored, relayer, ordinals }: Sending, rawOf: RawOf) {
  const { chain, rules, memory } = step.context
  const height = memory.poll?.heightOf(relayer) ?? 0
  const sent: Array<SentAttempt> = []
  let transaction = stored.transaction
  for (const ordinal of ordinals) {
    const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
    const raw = rawOf(stored, ordinal)
    if (attempt === undefined || raw === undefined || isHeldBack(step, transaction, attempt)) continue
    const destination = rules.destinationOf?.(transaction, attempt) ?? "public"
    const answers = [...(yield* chain.broadcast(relayer, raw, attempt.sends, destination))]
    const hear = Effect.fnUntraced(function* () {
      return rules.hear(transaction, attempt, answers, { at: yield* Clock.currentTimeMillis, height })
    })
    let heard = yield* hear()
    // No provider of another relayer gets private bytes, not even a private one.
    if (!heard.isAccepted && destination !== "private" && isStranded(attempt, step.now)) {
      for (const other of step.withOtherProviders(relayer)) {
        answers.push(...(yield* chain.broadcast(other, raw, attempt.sends, "public")))
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

// Decides when a lane asks its signer again after a failure.

/** Milliseconds until a signer that failed is asked again: doubles up to a minute. */
const firstRetry = 1000
const longestRetry = 60_000

/** The longest pause, in milliseconds, that a signer may ask for: after a longer one, the lane would seem to be lost. */
const longestAsked = 300_000

/** Logs only the first failure since the last signature. */
export const noteSignerFailure = Effect.fnUntraced(function* ({ context }: StepState, failure: SigningFailed) {
  const { memory, hold } = context
  const { code, message, requestId, retryAfter = 0 } = failure
  const failures = memory.signerFailures++
  const pause = Math.min(firstRetry * 2 ** failures, longestRetry)
  const at = (yield* Clock.currentTimeMillis) + Math.max(pause, Math.min(retryAfter, longestAsked))
  memory.signerRetry = { code, at }
  if (failures > 0) return
  yield* Effect.annotateLogs(Effect.logWarning("transactions of a lane cannot be signed"), {
    lane_id: hold.laneId,
    code,
    reason: message,
    ...(requestId === undefined ? {} : { key_service_request_id: requestId })
  })
})

// From decisions to signatures of the attempts that a commit stores.

/**
 * Signatures that a lane makes at the same time. A KMS takes about 150 ms for a signature, so this is about 200 signatures per
 * second and lane.
 */
export const inParallel = 32

/** `transaction`: absent for a filler. */
export const attemptOf = (
  transaction: Transaction | undefined,
  lane: Lane,
  { kind, offer, maxFee }: Pick<Sign, "kind" | "offer" | "maxFee">,
  at: { readonly place: Place; readonly hash: string; readonly now: Moment }
): Attempt => ({
  ordinal: (transaction?.attempts.at(-1)?.ordinal ?? 0) + 1,
  kind,
  generation: lane.generation,
  requestVersion: transaction?.versions.length ?? 1,
  hash: at.hash,
  place: at.place,
  offer,
  maxFee,
  signedAt: at.now,
  sends: 0,
  outcome: "unknown"
})

/** A signature that is due: of a row, at a place. */
export interface DueSignature {
  readonly row: OpenRow
  readonly place: Place
  readonly command: Sign
}

const signOne = Effect.fnUntraced(function* (step: StepState, { row, place, command }: DueSignature) {
  const { stored, relayer, transaction } = row
  const request = command.kind === "noop" ? undefined : newestRequest(transaction)
  const unsigned = { lane: step.lane(), relayer, request, place, sign: command }
  const { hash, raw, offer = command.offer } = yield* step.context.chain.sign(unsigned)
  const now = yield* Clock.currentTimeMillis
  const signature: Signature = {
    stored,
    attempt: attemptOf(transaction, step.lane(), { ...command, offer }, { place, hash, now }),
    raw,
    cause: command.cause,
    feeLimits: step.feeLimitsOf(stored),
    ...(command.next === undefined ? {} : { next: { ...command.next, id: yield* step.context.newId } })
  }
  return signature
})

/** Signs in parallel, and keeps the signatures before the first failure. After a failure, no later signature is begun. */
const signPrefix = Effect.fnUntraced(function* (step: StepState, due: ReadonlyArray<DueSignature>) {
  let end = due.length
  const results = yield* Effect.forEach(
    due,
    (one, index) =>
      Effect.suspend(() => {
        if (index > end) return Effect.undefined
        const signed = inTrace("transaction.sign", one.row.stored)(signOne(step, one))
        const failed = Effect.sync(() => void (end = Math.min(end, index)))
        return Effect.result(Effect.tapError(signed, () => failed))
      }),
    { concurrency: inParallel }
  )
  const signed = results.slice(0, end).flatMap((result) => (result?._tag === "Success" ? [result.success] : []))
  const last = results[end]
  return { signed, failure: last?._tag === "Failure" ? last.failure : undefined }
})

/** If the signer failed last time, it is asked for one signature before it is asked for the others. */
const signNext = Effect.fnUntraced(function* (step: StepState, due: ReadonlyArray<DueSignature>) {
  if (step.context.memory.signerFailures === 0) return yield* signPrefix(step, due)
  const first = yield* signPrefix(step, due.slice(0, 1))
  if (first.failure !== undefined) return first
  const others = yield* signPrefix(step, due.slice(1))
  return { ...others, signed: [...first.signed, ...others.signed] }
})

/**
 * Returns the signatures to commit: those before the first failure, because a place without bytes would hold all later ones.
 * It holds no connection to the database.
 */
export const sign = Effect.fn("LaneSending.sign")(function* (step: StepState, due: ReadonlyArray<DueSignature>) {
  const { signed, failure } = yield* signNext(step, due)
  if (failure !== undefined) yield* noteSignerFailure(step, failure)
  // A step without anything to sign says nothing about the signer.
  else if (signed.length > 0) step.context.memory.signerFailures = 0
  yield* reach("signed")
  return signed
})
