// Tops relayers up: after a check of a relayer, it decides whether its balance is low, and has its payer send it a payment.
import { Clock, Effect, Layer, Metric, Option, Struct } from "effect"
import type { Array as Arr } from "effect"
import { SecureRandom } from "effect/crypto"
import { isForOperator } from "../../domain/health/TopUpReport.ts"
import type { HoldCode } from "../../domain/health/TopUpReport.ts"
import { topUpName } from "../../domain/relayer/TopUp.ts"
import type { TopUp } from "../../domain/relayer/TopUp.ts"
import type { DisabledReason, Relayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { present } from "../../networks/core/Presentation.ts"
import { allowedOf, look } from "../../networks/core/TopUpDecision.ts"
import type { Limits, Look, TopUpRequest } from "../../networks/core/TopUpDecision.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import { seqOf } from "../../sql/Rows.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { retryDeadlock } from "../../sql/Transaction.ts"
import { Chains } from "../chains/Chains.ts"
import { Changes } from "../changes/Changes.ts"
import { TopUpChecks } from "../health/HealthChecks.ts"
import { RelayerHealth } from "../health/RelayerHealth.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { NewTransaction } from "../ledger/LedgerEntries.ts"
import { TopUps } from "../ledger/TopUps.ts"
import type { TopUpState } from "../ledger/TopUps.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../relayers/RelayerTargets.ts"
import { makeSenders } from "./Intake.ts"
import type { Admitted, Limited } from "./Intake.ts"
import type { QuotedTransfer, Transfer } from "./Transfers.ts"

const topUpsTotal = Metric.counter("top_ups_total", {
  description: "Payments of top-ups that were accepted, by network type.",
  incremental: true
})

const topUpHoldsTotal = Metric.counter("top_up_holds_total", {
  description: "How often a low balance began not to be topped up, by network type and reason.",
  incremental: true
})

export const topUpMetrics = [topUpsTotal, topUpHoldsTotal]

/** The longest time that providers have to show a balance. */
const patience = "20 seconds"

/** What a lack of funds disables a relayer for, as far as its type says. The balance is compared anyway. */
const ofFunds: ReadonlySet<DisabledReason["type"]> = new Set<DisabledReason["type"]>([
  "BalanceCheckFailed",
  "SequenceSyncFailed",
  "Multiple"
])

/** Whether a payment would help the relayer. */
const canUse = ({ disabled_reason, paused }: Relayer): boolean =>
  !paused && (disabled_reason === undefined || ofFunds.has(disabled_reason.type))

type Due = Extract<Look, { readonly _tag: "Due" }>

/** What one look at a relayer has found: what it was decided by, and what is to be paid. */
interface WantedPayment {
  readonly target: RelayerTarget
  readonly policy: TopUp
  readonly state: TopUpState
  readonly due: Due
}

/** The payer, with what a payment costs it. */
interface Payer {
  readonly found: Omit<Limited, "limits">
  /** The version of its row that the payment was checked by. */
  readonly version: string
  readonly fee: bigint
  readonly executionLimit?: bigint
}

type Outcome =
  | { readonly _tag: "Paid" }
  | { readonly _tag: "Held"; readonly code: HoldCode }
  | { readonly _tag: "Stale" }

const paid: Outcome = { _tag: "Paid" }
const stale: Outcome = { _tag: "Stale" }
const held = (code: HoldCode): Outcome => ({ _tag: "Held", code })

const limitsOf = (policy: TopUp, payer: Relayer, state: TopUpState, fee: bigint): Limits => ({
  maxPerDay: policy.max_per_day,
  used: state.used,
  outPerDay: payer.policies?.top_up_out_per_day,
  usedOfPayer: state.used_of_payer,
  fee
})

const hoursPerSecond = 1 / 3600

const make = Effect.gen(function* () {
  const topUps = yield* TopUps
  const chains = yield* Chains
  const health = yield* RelayerHealth
  const targets = yield* RelayerTargets
  const ledger = yield* Ledger
  const changes = yield* Changes
  const random = yield* SecureRandom.SecureRandom
  const senders = yield* makeSenders
  const transaction = yield* Transaction.make

  /** Undefined: it is not known, or does not count. */
  const runwayOf = Effect.fnUntraced(function* (id: RelayerId, { runway_hours }: TopUp) {
    if (runway_hours === undefined) return undefined
    const { runway_seconds } = yield* health.balances(id, {})
    return runway_seconds === undefined ? undefined : runway_seconds * hoursPerSecond
  })

  const paidBefore = (state: TopUpState) => ({
    isOpen: state.is_open,
    hasFailed: state.has_failed,
    lastKind: state.kind,
    isRestored: state.is_restored,
    height: state.height,
    lowHeight: state.low_height
  })

  const lookAt = Effect.fnUntraced(function* (target: RelayerTarget, policy: TopUp, state: TopUpState) {
    if (state.is_open || !canUse(target.relayer)) return { _tag: "Nothing" } satisfies Look
    const runwayHours = yield* runwayOf(target.relayer.id, policy)
    const seen = yield* Effect.timeoutOrElse(chains.balances(target), {
      duration: patience,
      orElse: () => Effect.succeed({ configured: 0, readings: [] })
    })
    return look({ policy, before: paidBefore(state), ...seen, runwayHours })
  })

  /** What the payer would send. The rules of its policy are checked as for every send. */
  const admit = Effect.fnUntraced(function* (found: Payer["found"], transfer: Transfer) {
    const { intake, sender } = found
    const now = yield* Clock.currentTimeMillis
    const { transfers } = intake
    if (transfers === undefined) return undefined
    const body = yield* transfers.bodyOf(transfer, sender, now)
    const admitted = yield* Effect.option(intake.admit(body, sender, { now, limits: undefined, prefix: "" }))
    return Option.isNone(admitted) ? undefined : { body, admitted: admitted.value, transfers, now }
  })

  const quoteOf = Effect.fnUntraced(function* (found: Payer["found"], transfer: Transfer) {
    const refused: QuotedTransfer = { fee: 0n, problem: "refused" }
    const checked = yield* admit(found, transfer)
    if (checked === undefined) return refused
    return yield* Effect.orElseSucceed(
      checked.transfers.quote(transfer, checked.body, found.sender, checked.now),
      () => refused
    )
  })

  const newTransaction = Effect.fnUntraced(function* (
    { intake, textOf }: Payer["found"],
    { admitted, body }: { readonly admitted: Admitted; readonly body: unknown },
    externalId: string
  ) {
    const { facts } = admitted
    const mark: TopUpRequest = { fails_without_funds: true }
    const request = { ...(admitted.request as object), ...mark }
    const added: NewTransaction = {
      ...Struct.omit(admitted, ["fee"]),
      id: TransactionId.make(yield* random.uuidV7()),
      body: textOf(body),
      request,
      externalId,
      ...present("identity", intake.rules.identityOf(request, facts)),
      ...present("exclusive", intake.rules.exclusiveOf(request, facts))
    }
    return added
  })

  /**
   * Accepts the payment if nothing has changed since it was decided: no other payment was made, both relayers are as they were read, and the
   * limits leave enough. Both rows are locked by their numbers, so that payments of one payer follow each other.
   */
  const accept = Effect.fnUntraced(function* ({ due, policy, state, target }: WantedPayment, payer: Payer) {
    const { sender } = payer.found
    const { relayer } = target
    const number = seqOf(target.version)
    const { relayerId: payerId, relayerNumber: payerNumber } = sender.account
    yield* topUps.takeTurns([number, payerNumber])
    const isTargetFirst = number < payerNumber
    const first = yield* targets.hold(isTargetFirst ? relayer.id : payerId)
    const second = yield* targets.hold(isTargetFirst ? payerId : relayer.id)
    const [heldTarget, heldPayer] = isTargetFirst ? [first, second] : [second, first]
    if (heldTarget.version !== target.version || heldPayer.version !== payer.version) return stale
    yield* topUps.settle(number, payerNumber)
    const now = Option.getOrUndefined(yield* topUps.find(number))
    if (now === undefined || now.sequence !== state.sequence || now.is_open) return stale
    if (now.from_number !== payerNumber || now.is_restored !== state.is_restored) return stale
    const allowed = allowedOf(due, limitsOf(policy, heldPayer.value, now, payer.fee))
    if ("code" in allowed) return held(allowed.code)
    const { amount } = allowed
    const transfer: Transfer = {
      to: relayer.address,
      amount,
      kind: due.kind,
      ...present("executionLimit", payer.executionLimit)
    }
    const checked = yield* admit(payer.found, transfer)
    if (checked === undefined) return held("payer_refuses")
    const sequence = now.sequence + 1
    const added: Arr.NonEmptyReadonlyArray<NewTransaction> = [
      yield* newTransaction(payer.found, checked, topUpName(number, sequence))
    ]
    const [{ isNew, stored }] = yield* ledger.accept(sender.account, added)
    // A send of an earlier version has the name.
    if (!isNew) return held("payer_refuses")
    yield* topUps.add({
      relayerNumber: number,
      fromNumber: payerNumber,
      sequence,
      transactionId: stored.id,
      kind: due.kind,
      amount
    })
    yield* topUps.note(number, {})
    yield* changes.publish("relayer.top_up_sent", heldTarget.value)
    yield* Effect.annotateLogs(Effect.logInfo("relayer is topped up"), {
      relayer_id: relayer.id,
      from: payerId,
      transaction_id: stored.id,
      amount: String(amount)
    })
    return paid
  }, transaction)

  const pay = Effect.fnUntraced(function* (wanted: WantedPayment) {
    const { due, policy, state, target } = wanted
    if (state.from_id === undefined || state.payer_has_restored) return held("payer_unavailable")
    // Before the rest of it is read: a change in between makes the decision stale.
    const { version } = yield* targets.get(state.from_id)
    const { terms: _, ...found } = yield* senders.get(state.from_id)
    const { account, relayer: payer } = found.sender
    if (payer.paused || payer.system_disabled || account.relayerNumber !== state.from_number) {
      return held("payer_unavailable")
    }
    const left = allowedOf(due, limitsOf(policy, payer, state, 0n))
    if ("code" in left) return held(left.code)
    const transfer: Transfer = { to: target.relayer.address, amount: left.amount, kind: due.kind }
    const { fee, executionLimit, problem } = yield* quoteOf(found, transfer)
    if (problem !== undefined) return held(problem === "short" ? "payer_short" : "payer_refuses")
    return yield* retryDeadlock(
      accept(wanted, { found, version, fee, ...present("executionLimit", executionLimit) })
    ).pipe(
      Effect.catchTags({
        RelayerPaused: () => Effect.succeed(held("payer_unavailable")),
        TransactionConflict: () => Effect.succeed(held("payer_refuses")),
        TooManyRequests: () => Effect.succeed(held("payer_refuses")),
        FeeLimitExceeded: Effect.die,
        TermsForgotten: Effect.die
      })
    )
  })

  /** What the check leaves. The event belongs to the beginning of a reason. */
  const note = Effect.fnUntraced(function* (
    { relayer, version }: RelayerTarget,
    code: HoldCode | undefined,
    lowHeight?: number
  ) {
    if (!(yield* topUps.note(seqOf(version), { code, lowHeight })) || code === undefined) return
    const { network_type } = relayer
    yield* Metric.update(Metric.withAttributes(topUpHoldsTotal, { network_type, code }), 1)
    if (isForOperator(code)) yield* changes.publish("relayer.top_up_held", relayer)
  }, transaction)

  const run = Effect.fn("TopUpPayments.run")(function* (target: RelayerTarget) {
    const { relayer } = target
    const policy = relayer.policies?.top_up
    const number = seqOf(target.version)
    if (policy === undefined) return
    const known = Option.getOrUndefined(yield* topUps.find(number))
    if (known === undefined) return
    yield* topUps.settle(number, known.from_number)
    const state = known.is_open ? (Option.getOrUndefined(yield* topUps.find(number)) ?? known) : known
    const looked = yield* lookAt(target, policy, state)
    if (looked._tag !== "Due") {
      return yield* looked._tag === "Wait" ? note(target, looked.code, looked.lowHeight) : note(target, undefined)
    }
    const outcome = yield* pay({ target, policy, state, due: looked })
    if (outcome._tag === "Held") return yield* note(target, outcome.code, state.low_height)
    if (outcome._tag === "Paid") {
      yield* Metric.update(Metric.withAttributes(topUpsTotal, { network_type: relayer.network_type }), 1)
    }
  })

  return TopUpChecks.of({
    run: (target) =>
      run(target).pipe(
        // One of both relayers was deleted meanwhile, or this program does not serve their network.
        Effect.catchTags({ RelayerNotFound: () => Effect.void, NotImplemented: () => Effect.void })
      )
  })
})

export const layerTopUpChecks = Layer.effect(TopUpChecks, make).pipe(Layer.provide(SecureRandom.layerWebCrypto))
