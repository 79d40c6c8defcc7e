// Cancels and replacements by callers. They lock the transaction's row and never the lane; its holder sees the new version.
import { Clock, Effect, Option, Result } from "effect"
import { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { present } from "../../networks/core/Presentation.ts"
import { cancelUnsigned, canReplace } from "../../networks/core/Rules.ts"
import { newestRequest } from "../../networks/core/Transaction.ts"
import { RelayerPaused } from "../../networks/core/TransactionLimits.ts"
import { TransactionNotFound } from "../../networks/core/TransactionValues.ts"
import type { Moment, TransactionId } from "../../networks/core/TransactionValues.ts"
import { asPublic, withCancellation } from "../../networks/core/Transition.ts"
import { notify } from "../../sql/Session.ts"
import { Audit } from "../audit/Audit.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, retryDeadlock } from "../../sql/Transaction.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import { authorityTaken, makeIdentities } from "./AcceptanceChecks.ts"
import * as AuthoritiesRepo from "./AuthoritiesRepo.ts"
import { LedgerMark } from "./Holder.ts"
import { commandsChannel, LedgerRules } from "./LedgerEntries.ts"
import type { StoredTransaction } from "./LedgerEntries.ts"
import * as Writing from "./TransactionWrites.ts"
import type { Change } from "./TransactionWrites.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"
import { makeNewTransactions } from "./TransactionsRepo.ts"

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo.make
  const relayers = yield* makeNewTransactions
  const identities = yield* makeIdentities
  const authorities = yield* AuthoritiesRepo.make
  const mark = yield* LedgerMark
  const networks = yield* LedgerRules
  const { changeOf } = yield* Writing.auditing
  const audit = yield* Audit
  const { writeHeld } = yield* Writing.make
  const work = yield* commitSignalOf("lanes")
  const transaction = yield* Transaction.make
  const sql = yield* client

  /** Wakes the holders of lanes, in any instance: what is in flight is not accepted anew, so nothing else does. */
  const wake = (changes: ReadonlyArray<Change>) =>
    Effect.andThen(
      changes.some(({ before }) => before.transaction.place !== undefined) ? notify(sql, commandsChannel) : Effect.void,
      work.afterCommit
    )

  /** A pending transaction of a restored ledger may have been executed: a cancel must not end it before the mark is compared. */
  const hold = (relayerNumber: number, id: TransactionId) =>
    mark.renew.pipe(
      Effect.andThen(transactions.hold(relayerNumber, id)),
      Effect.flatMap(Effect.fromOption(() => new TransactionNotFound({})))
    )

  const save = Effect.fnUntraced(function* (
    action: "transaction.canceled" | "transaction.published" | "transaction.replaced",
    change: Change
  ) {
    const [after = change.before] = yield* writeHeld([change], yield* Clock.currentTimeMillis)
    yield* audit.recordMany([changeOf(action, { before: change.before, after }, yield* currentOrigin)])
    yield* wake([change])
    return after
  })

  const cancelHeld = Effect.fnUntraced(function* (before: StoredTransaction, onlyPending = false) {
    const { rules } = networks.of(before.chain)
    const cancellation = yield* Effect.fromResult(
      onlyPending ? cancelUnsigned(rules, before.transaction) : rules.cancel(before.transaction)
    )
    if (cancellation._tag === "unchanged") return before
    const after = withCancellation(before.transaction, cancellation, yield* Clock.currentTimeMillis)
    return yield* save("transaction.canceled", { before, after })
  })

  const publish = Effect.fn("Ledger.publish")(
    function* (relayerNumber: number, id: TransactionId) {
      const before = yield* hold(relayerNumber, id)
      const after = yield* Effect.fromResult(asPublic(before.transaction, yield* Clock.currentTimeMillis))
      return after === undefined ? before : yield* save("transaction.published", { before, after })
    },
    transaction,
    retryDeadlock
  )

  const cancel = Effect.fn("Ledger.cancel")(
    function* (relayerNumber: number, id: TransactionId, onlyPending?: boolean) {
      return yield* cancelHeld(yield* hold(relayerNumber, id), onlyPending)
    },
    transaction,
    retryDeadlock
  )

  /** None of them changes the others: those that cannot be canceled any more stay as they are. */
  const cancelMany = Effect.fn("Ledger.cancelMany")(
    function* (relayerNumber: number, ids: ReadonlyArray<TransactionId>) {
      yield* mark.renew
      yield* transactions.lock(ids)
      const found = (yield* transactions.find(ids)).filter(
        ({ transaction }) => transaction.relayerNumber === relayerNumber
      )
      const now = yield* Clock.currentTimeMillis
      const canceled: Array<TransactionId> = []
      const changes: Array<Change> = []
      for (const before of found) {
        const cancellation = Option.getOrUndefined(
          Result.getSuccess(networks.of(before.chain).rules.cancel(before.transaction))
        )
        if (cancellation === undefined) continue
        canceled.push(before.id)
        if (cancellation._tag === "unchanged") continue
        changes.push({ before, after: withCancellation(before.transaction, cancellation, now) })
      }
      const written = new Map((yield* writeHeld(changes, now)).map((stored) => [stored.id, stored]))
      const origin = yield* currentOrigin
      const audited = changes.map(({ before }) =>
        changeOf("transaction.canceled", { before, after: written.get(before.id) ?? before }, origin)
      )
      if (audited.length > 0) yield* audit.recordMany(audited)
      yield* wake(changes)
      return canceled
    },
    transaction,
    retryDeadlock
  )

  const withdraw = Effect.fn("Ledger.withdraw")(
    function* (relayerNumber: number, id: TransactionId) {
      const before = yield* hold(relayerNumber, id)
      const { state, attempts } = before.transaction
      if (state !== "pending" || attempts.length > 0) return Option.none()
      yield* cancelHeld(before)
      return Option.some(before)
    },
    transaction,
    retryDeadlock
  )

  const replace = Effect.fn("Ledger.replace")(
    function* (relayerNumber: number, id: TransactionId, request: unknown, validUntil?: Moment) {
      const relayer = yield* relayers.holdRelayer(relayerNumber)
      if (Option.isNone(relayer)) return yield* new RelayerNotFound({})
      if (relayer.value.paused) return yield* new RelayerPaused({})
      const before = yield* hold(relayerNumber, id)
      const { rules } = networks.of(before.chain)
      yield* Effect.fromResult((rules.canReplace ?? canReplace)(before.transaction))
      const violations = rules.replacementViolations(before.transaction, request, validUntil)
      if (violations.length > 0) return yield* BadRequest.of(violations)
      const after = rules.replaced(before.transaction, request, validUntil)
      const newest = newestRequest(after)
      const identified = {
        id,
        ...present("identity", rules.identityOf(newest, after.facts)),
        ...present("exclusive", rules.exclusiveOf(newest, after.facts)),
        ...present("authorities", rules.authoritiesOf?.(newest))
      }
      yield* identities.check({ chain: before.chain, address: before.from, relayerNumber }, [identified])
      yield* transactions.addRequest(before, newest, after.validUntil, identified)
      // Former versions may still be mined: their accounts stay.
      const carried = (identified.authorities ?? []).map((authority) => ({ chain: before.chain, authority, id }))
      yield* authorities.add(carried, () => authorityTaken)
      return yield* save("transaction.replaced", { before, after })
    },
    transaction,
    retryDeadlock
  )

  return { cancel, cancelMany, publish, withdraw, replace }
})
