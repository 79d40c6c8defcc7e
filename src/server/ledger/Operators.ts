// Commands of operators about the nonces of a lane. They lock the lane first, then its transactions.
import { Array, Clock, Effect, Option, Result } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { cause } from "../../networks/core/Cause.ts"
import { Command, TransactionConflict } from "../../networks/core/Rules.ts"
import type { Answer, Rules } from "../../networks/core/Rules.ts"
import type * as Transactions from "../../networks/core/Transaction.ts"
import { isInFlight, isYielding } from "../../networks/core/Transaction.ts"
import type { Lane } from "../../networks/core/Transaction.ts"
import { TransactionNotFound } from "../../networks/core/TransactionValues.ts"
import type { Moment, TransactionId } from "../../networks/core/TransactionValues.ts"
import { apply, isUnproven, onNewGeneration, resolve } from "../../networks/core/Transition.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { retryDeadlock } from "../../sql/Transaction.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import * as LaneContentsRepo from "./LaneContentsRepo.ts"
import * as LanesRepo from "./LanesRepo.ts"
import { LedgerRules } from "./LedgerEntries.ts"
import type { Account, LaneId, StoredTransaction } from "./LedgerEntries.ts"
import * as Writing from "./TransactionWrites.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"

/** What an operator says about transactions whose fate cannot be proven. */
export interface Decision<E = never> {
  readonly answer?: Answer
  /** Fails if the caller may not decide about this transaction: then nothing is changed. Absent: it may decide about all. */
  check?(row: StoredTransaction): Effect.Effect<void, E>
  /** As for `resolve`. Absent: no provider was asked, so every sequence is open. */
  readonly usedBelow?: bigint
  /** Absent: all of the lane. */
  readonly id?: TransactionId
}

/** Sequences that nothing is to happen at. */
export interface Clearing<E> {
  readonly from: bigint
  readonly to: bigint
  /** As in `Transaction`. Absent: the rules of the network decide. */
  readonly price?: bigint
  /** Fails if the caller may not clear this transaction: then nothing is changed. */
  check(row: StoredTransaction): Effect.Effect<void, E>
}

export interface Cleared {
  /** The relayer's open transactions in the range, as they are now. */
  readonly rows: ReadonlyArray<StoredTransaction>
  readonly changed: ReadonlySet<TransactionId>
}

/** What was to happen at its place anyway stays, but may cost another price. Empty: its receipt decides. */
export const clearedBy = (transaction: Transactions.Transaction, price: bigint | undefined): ReadonlyArray<Command> => {
  if (!isInFlight(transaction)) return []
  const isWanted = transaction.intent === "execute" || isYielding(transaction)
  return [
    ...(isWanted ? [Command.Intend({ intent: "clear", clearCode: "canceled", cause: cause("canceling") })] : []),
    ...(price === undefined ? [] : [Command.Price({ clearPrice: price })])
  ]
}

/** The message names no relayer, because the caller may not use the other relayers. */
export const isShared = new TransactionConflict({
  error: "other relayers have open transactions of this account; use an API key that may use all of them"
})

/** What an operator's answer makes of these transactions, or why it cannot be given about one of them. */
export const resolutionsOf = (
  rules: Rules,
  rows: ReadonlyArray<StoredTransaction>,
  { answer, id, usedBelow = 0n }: Omit<Decision, "check">,
  { lane, now }: { readonly lane: Lane; readonly now: Moment }
): Result.Result<ReadonlyMap<TransactionId, Command>, TransactionConflict> => {
  if (answer === undefined) return Result.succeed(new Map())
  const resolved = rows.map(({ id, transaction }) => ({
    id,
    isAsked: isUnproven(transaction),
    result: rules.resolve?.(transaction, answer, { lane, now, usedBelow }) ?? resolve(transaction, answer, usedBelow)
  }))
  const decided = new Map(
    resolved.flatMap(({ id, result }) => (Result.isSuccess(result) ? [[id, result.success] as const] : []))
  )
  const [failure] = resolved.flatMap(({ isAsked, result }) =>
    Result.isFailure(result) && (id !== undefined || isAsked) ? [result.failure] : []
  )
  return failure !== undefined && decided.size === 0 ? Result.fail(failure) : Result.succeed(decided)
}

export const make = Effect.gen(function* () {
  const lanes = yield* LanesRepo.make
  const contents = yield* LaneContentsRepo.make
  const transactions = yield* TransactionsRepo.make
  const networks = yield* LedgerRules
  const { writeHeld } = yield* Writing.make
  const record = yield* Writing.auditingCommands
  const work = yield* commitSignalOf("lanes")
  const transaction = yield* Transaction.make

  const held = Effect.fnUntraced(function* (ids: ReadonlyArray<TransactionId>) {
    yield* transactions.lock(ids)
    return yield* transactions.find(ids)
  })

  const applyAll = Effect.fnUntraced(function* (
    rows: ReadonlyArray<StoredTransaction>,
    commandsOf: (row: StoredTransaction) => ReadonlyArray<Command>
  ) {
    const now = yield* Clock.currentTimeMillis
    const changes = rows.flatMap((before) => {
      const commands = commandsOf(before)
      const after = commands.reduce((changed, command) => apply(changed, command, now), before.transaction)
      return commands.length === 0 ? [] : [{ before, after }]
    })
    return yield* writeHeld(changes, now)
  })

  const idsOf = (rows: ReadonlyArray<StoredTransaction>) => rows.map(({ id }) => id)

  /** Fails if the lane has open transactions of relayers that the caller may not use. The lane must be locked. */
  const checkShared = Effect.fnUntraced(function* (lane: LaneId) {
    const caller = yield* Caller.current
    if (caller.relayerIds === undefined) return
    const open = yield* transactions.find(yield* contents.open(lane))
    if (open.some(({ relayerId }) => !Caller.mayUseRelayer(caller, relayerId))) return yield* isShared
  })

  const resync = Effect.fn("Ledger.resync")(
    function* <E>(account: Account, decision: Decision<E>) {
      const { answer, check, id } = decision
      const lane = yield* lanes.findLocked(account)
      if (Option.isNone(lane)) return id === undefined ? [] : yield* new TransactionNotFound({})
      yield* checkShared(lane.value.id)
      yield* lanes.trustCount(account)
      const { rules } = networks.of(account.chain)
      const now = yield* Clock.currentTimeMillis
      const isOwn = ({ laneId, transaction: { relayerNumber } }: StoredTransaction) =>
        relayerNumber === account.relayerNumber && laneId === lane.value.id
      const found =
        answer === undefined && id === undefined
          ? []
          : yield* held(id === undefined ? yield* contents.open(lane.value.id) : [id])
      const rows = found.filter(isOwn)
      const [only] = rows
      if (id !== undefined && only === undefined) return yield* new TransactionNotFound({})
      const resolved = yield* Effect.fromResult(resolutionsOf(rules, rows, decision, { lane: lane.value.lane, now }))
      if (check !== undefined) {
        yield* Effect.forEach(
          rows.filter((row) => resolved.has(row.id)),
          (row) => check(row),
          { discard: true }
        )
      }
      const decided = yield* applyAll(rows, (row) => {
        const command = resolved.get(row.id)
        return command === undefined ? [] : [command]
      })
      yield* record("nonce.resynced", account, { answer, transaction_ids: idsOf(decided) })
      yield* work.afterCommit
      return decided
    },
    transaction,
    retryDeadlock
  )

  const clear = Effect.fn("Ledger.clear")(
    function* <E>(account: Account, { from, to, price, check }: Clearing<E>) {
      const lane = yield* lanes.findLocked(account)
      const ids = Option.isNone(lane) ? [] : yield* contents.openBetween(lane.value.id, from, to)
      const found = yield* held(ids)
      const rows = found.filter(({ transaction }) => transaction.relayerNumber === account.relayerNumber)
      const changing = rows.filter(({ transaction }) => clearedBy(transaction, price).length > 0)
      yield* Effect.forEach(changing, check, { discard: true })
      const decided = new Map(
        (yield* applyAll(changing, ({ transaction }) => clearedBy(transaction, price))).map((row) => [row.id, row])
      )
      yield* record("nonce.cleared", account, {
        from: Writing.sequenceOf(from),
        to: Writing.sequenceOf(to),
        ...(price === undefined ? {} : { price: String(price) }),
        transaction_ids: [...decided.keys()]
      })
      yield* work.afterCommit
      const cleared: Cleared = {
        rows: rows.map((row) => decided.get(row.id) ?? row),
        changed: new Set(decided.keys())
      }
      return cleared
    },
    transaction,
    retryDeadlock
  )

  const beginGeneration = Effect.fn("Ledger.beginGeneration")(
    function* (account: Account) {
      yield* lanes.ensure([account])
      const lane = yield* lanes.findLocked(account)
      if (Option.isNone(lane)) return Array.empty<StoredTransaction>()
      yield* checkShared(lane.value.id)
      yield* lanes.beginGeneration(account, account.window)
      const rows = yield* held(yield* contents.open(lane.value.id))
      const ended = yield* applyAll(rows, ({ transaction }) => {
        const command = onNewGeneration(transaction)
        return command === undefined ? [] : [command]
      })
      const generation = lane.value.lane.generation + 1
      yield* transactions.moveIdentities(lane.value.id, generation)
      yield* record("nonce.generation_begun", account, { generation, transaction_ids: idsOf(ended) })
      yield* work.afterCommit
      return ended
    },
    transaction,
    retryDeadlock
  )

  return { resync, clear, beginGeneration }
})
