// Decides about every transaction that has a nonce, from one poll, and carries the decisions out.
import { Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { isNoop } from "../../domain/transaction/Attempt.ts"
import type { Command, Commands } from "../../domain/transaction/Command.ts"
import { decide } from "../../domain/transaction/Decision.ts"
import type { Totals } from "../../domain/transaction/Totals.ts"
import { currentAttempts, requestOf } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { Seen, View } from "../../domain/transaction/View.ts"
import { verdictOf } from "../../domain/transaction/Taker.ts"
import { grown } from "../../domain/transaction/Window.ts"
import { callAt } from "../chains/evm/EvmCalls.ts"
import * as EvmTaker from "../chains/evm/EvmTaker.ts"
import * as RevertReason from "../chains/evm/RevertReason.ts"
import type { Decided } from "../ledger/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { reach } from "./CrashPoints.ts"
import { situationOf, totals, update } from "./LaneContext.ts"
import type { Work } from "./LaneContext.ts"
import * as Estimates from "./LaneEstimates.ts"
import * as Metrics from "./LaneMetrics.ts"
import * as Providers from "./LaneProviders.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"
import { send, sendAgain } from "./LaneSending.ts"
import { sign } from "./LaneSigning.ts"
import * as LaneTraces from "./LaneTraces.ts"
import type { Sign } from "./LaneSigning.ts"

/** The most decisions about one transaction in one poll: a decision can require another one at once. */
const maxRounds = 3

/** Commands that change the ledger by themselves. */
const isChange = ({ _tag }: Command): boolean =>
  _tag === "Hold" ||
  _tag === "Intend" ||
  _tag === "Mine" ||
  _tag === "Unmine" ||
  _tag === "Requeue" ||
  _tag === "Finish"

export interface Judged {
  readonly stored: StoredTransaction
  readonly relayer: LaneRelayer
  readonly commands: Commands
}

/** Who used the nonce. What is in no attempt marks the requests that it could be, before any of them gets a new nonce. */
const findTaker = Effect.fnUntraced(function* (work: Work, relayer: LaneRelayer, transaction: Transaction, view: Seen) {
  const providers = yield* Providers.of(work, relayer)
  const { address } = work.lane
  const hashes = currentAttempts(transaction).map(({ hash }) => hash)
  const wanted = { address, nonce: transaction.nonce ?? 0, hashes, finality: relayer.numbers.finality }
  const find = providers.first((node) => EvmTaker.find(providers, node, wanted, view.head.number))
  const taker = yield* Effect.orElseSucceed(find, () => ({ _tag: "NotFound" }) as const)
  const verdict = verdictOf(transaction, address, { ...view, taker })
  if (verdict._tag === "Taken") {
    update(work, yield* work.context.ledger.markRestored(work.context.hold, verdict.effect))
  }
  return taker
})

/** A newer version of a request is estimated before it is signed. */
const withEstimate = Effect.fnUntraced(function* (
  work: Work,
  relayer: LaneRelayer,
  transaction: Transaction,
  view: Seen
) {
  const newest = currentAttempts(transaction).at(-1)
  const isNewer = newest !== undefined && newest.requestVersion < transaction.versions.length
  if (!isNewer || transaction.intent !== "execute" || !Estimates.isDue(work, relayer, transaction)) return view
  return { ...view, ...(yield* Estimates.of(work, relayer, transaction)) }
})

/** Why a call failed in its block, if the policy wants it: what it does at the state after the block. */
const withRevertReason = Effect.fnUntraced(function* (
  work: Work,
  relayer: LaneRelayer,
  transaction: Transaction,
  command: Command
) {
  if (command._tag !== "Mine" || command.mined.receipt.isSuccess) return command
  if (relayer.policy.include_revert_data !== true) return command
  const { receipt, ordinal } = command.mined
  const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
  if (attempt === undefined || isNoop(attempt)) return command
  const providers = yield* Providers.of(work, relayer)
  const call = { ...requestOf(transaction, attempt), from: work.lane.address, gas: attempt.gasLimit }
  const answer = yield* Effect.orElseSucceed(
    providers.first((node) => node.ask(callAt(call, receipt.blockNumber))),
    () => undefined
  )
  const revertReason = answer?._tag === "RpcError" ? RevertReason.ofError(answer) : undefined
  return revertReason === undefined
    ? command
    : { ...command, mined: { ordinal, receipt: { ...receipt, revertReason } } }
})

const judge = Effect.fnUntraced(function* (
  work: Work,
  relayer: LaneRelayer,
  stored: StoredTransaction,
  given: View,
  lane: Totals
) {
  const { transaction } = stored
  const situation = situationOf(work, relayer, stored, lane)
  const view = given._tag === "Seen" ? yield* withEstimate(work, relayer, transaction, given) : given
  const [first, ...others] = decide(transaction, situation, view, work.now)
  const commands: Commands = [yield* withRevertReason(work, relayer, transaction, first), ...others]
  if (view._tag !== "Seen" || !commands.some(({ _tag }) => _tag === "FindTaker")) return commands
  const taker = yield* findTaker(work, relayer, transaction, view)
  // The transaction itself may have been marked.
  const current = work.rows.get(transaction.number)?.transaction ?? transaction
  return decide(current, situation, { ...view, taker }, work.now)
})

const signatures = Effect.fnUntraced(function* (work: Work, judged: ReadonlyArray<Judged>) {
  const wanted = judged.flatMap(({ stored, relayer, commands }) => {
    const command = commands.find((command): command is Sign => command._tag === "Sign")
    const { nonce } = stored.transaction
    return command === undefined || nonce === undefined ? [] : [{ stored, relayer, nonce, command }]
  })
  const signed = yield* sign(work, wanted)
  if (!isReadonlyArrayNonEmpty(signed)) return
  const committed = yield* work.context.ledger.commitSignatures(work.context.hold, signed)
  yield* reach("committed")
  update(work, committed)
  yield* Metrics.countSignatures(signed)
  const raw = new Map(signed.map((signature) => [signature.stored.id, signature.raw]))
  const relayers = new Map(wanted.map(({ stored, relayer }) => [stored.id, relayer]))
  const sendings = committed.flatMap((stored) => {
    const relayer = relayers.get(stored.id)
    const newest = stored.transaction.attempts.at(-1)
    return relayer === undefined || newest === undefined ? [] : [{ stored, relayer, ordinals: [newest.ordinal] }]
  })
  yield* send(work, sendings, ({ id }) => raw.get(id))
})

/** Writes decisions. The window grows by one per block in which a transaction was mined. */
export const applyChanges = Effect.fnUntraced(function* (work: Work, judged: ReadonlyArray<Judged>) {
  const { context, lane } = work
  const decided = judged.flatMap(({ stored, commands }): ReadonlyArray<Decided> =>
    commands.filter(isChange).map((command) => ({ stored, command }))
  )
  if (!isReadonlyArrayNonEmpty(decided)) return
  const blocks = new Set(
    decided.flatMap(({ command }) => (command._tag === "Mine" ? [command.mined.receipt.blockNumber] : []))
  )
  const window = judged[0]?.relayer.numbers.window ?? lane.windowSize
  const size = context.memory.window ?? lane.windowSize
  if (blocks.size > 0 && size < window) context.memory.window = grown(size, blocks.size, window)
  const changed = yield* context.ledger.apply(context.hold, decided)
  update(work, changed)
  yield* Metrics.countFinal(changed)
  yield* LaneTraces.showFinal(changed)
})

const resend = Effect.fnUntraced(function* (work: Work, judged: ReadonlyArray<Judged>) {
  const sendings = judged.flatMap(({ stored, relayer, commands }) => {
    const broadcast = commands.find((command) => command._tag === "Broadcast")
    const current = work.rows.get(stored.transaction.number) ?? stored
    return broadcast?._tag === "Broadcast" ? [{ stored: current, relayer, ordinals: broadcast.ordinals }] : []
  })
  yield* sendAgain(work, sendings)
})

const notePolls = (work: Work, { commands }: Judged): void => {
  for (const command of commands) {
    if (command._tag === "PollAt" && command.at > work.now) work.nextPollAt = Math.min(work.nextPollAt, command.at)
  }
}

const asksAgain = ({ commands }: Judged, now: number): boolean =>
  commands.some((command) => command._tag === "PollAt" && command.at <= now)

/** `viewOf`: what the poll has seen about a transaction. */
export const decideAll = Effect.fn("LaneDecisions.decideAll")(function* (
  work: Work,
  given: ReadonlyArray<StoredTransaction>,
  viewOf: (transaction: Transaction, relayer: LaneRelayer) => View
) {
  let numbers = given.map(({ transaction }) => transaction.number)
  const originals = new Map(given.map((stored) => [stored.transaction.number, stored]))
  for (let round = 0; round < maxRounds && numbers.length > 0; round++) {
    const judged: Array<Judged> = []
    const lane = totals(work)
    for (const number of numbers) {
      const stored = work.rows.get(number) ?? originals.get(number)
      const relayer = stored && work.relayers.get(stored.relayerId)
      if (stored === undefined || relayer === undefined || stored.transaction.state === "pending") continue
      const commands = yield* judge(work, relayer, stored, viewOf(stored.transaction, relayer), lane)
      judged.push({ stored: work.rows.get(number) ?? stored, relayer, commands })
    }
    yield* reach("seen")
    yield* applyChanges(work, judged)
    yield* resend(work, judged)
    yield* signatures(work, judged)
    for (const one of judged) notePolls(work, one)
    numbers = judged.filter((one) => asksAgain(one, work.now)).map(({ stored }) => stored.transaction.number)
  }
})
