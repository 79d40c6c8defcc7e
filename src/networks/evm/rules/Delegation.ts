// The delegation of a relayer's own account (EIP-7702): what is remembered of it, when it is signed and final, its second nonce, and when
// many calls may be signed. The code of the account is read, never derived from what was sent.
import { Result } from "effect"
import { cause } from "../../core/Cause.ts"
import type { Cause } from "../../core/Cause.ts"
import { present } from "../../core/Presentation.ts"
import { ask, finish, sign, TransactionConflict } from "../../core/Rules.ts"
import type { Answer, Command, Commands, Finish, NextRow, Row, Situation } from "../../core/Rules.ts"
import { currentAttempts, isFinal, isNoop, newestRequest, requestOf } from "../../core/Transaction.ts"
import type { Attempt, Lane, Transaction } from "../../core/Transaction.ts"
import { resolve } from "../../core/Transition.ts"
import { codeOf, noDelegate } from "./Authorizations.ts"
import { maxFeesOf, noopChargesOf, priceType } from "./Costs.ts"
import type { DelegationRecord, DelegationStage } from "./Delegates.ts"
import { attemptNonceOf, nonceOf, noncesOf } from "./Evm.ts"
import type { Evm, EvmReceipt, Request, Seen } from "./Evm.ts"
import { statePatience } from "./EvmNumbers.ts"
import { hold, isGivenUp, pollNext } from "./InFlight.ts"
import { takerVerdictOf } from "./LaneNonces.ts"
import { priceOf } from "./Market.ts"

/** The origin of the row that explains the second nonce of a delegation. */
export const authorizationOrigin = "authorization"

/** Two open delegations of an account exclude each other. */
export const exclusiveDelegation = "delegation"

export const isDelegation = (transaction: Transaction<Evm>): boolean =>
  newestRequest(transaction).delegate !== undefined

export const isBatch = (transaction: Transaction<Evm>): boolean => newestRequest(transaction).calls !== undefined

const isSecond = ({ origin }: Pick<Transaction, "origin">): boolean => origin === authorizationOrigin

/** Whether it is a second nonce that nothing was signed for. */
export const isUnsignedSecond = (transaction: Transaction<Evm>): boolean =>
  isSecond(transaction) && currentAttempts(transaction).length === 0

/** What the lane remembers of the delegation of its account. Undefined: none was sent in this generation. */
export const recordOf = ({ generation, accounts: [{ counters }] }: Lane<Evm>): DelegationRecord | undefined => {
  const record = counters?.delegation
  return record?.generation === generation ? record : undefined
}

/** The record without an end: what the account is to run. Undefined: it delegates to nothing. */
export const delegatedIn = (lane: Lane<Evm>): DelegationRecord | undefined => {
  const record = recordOf(lane)
  return record === undefined || record.delegate === noDelegate ? undefined : record
}

/** What a check has found changed since the delegation. Undefined: nothing. */
export const changeIn = (lane: Lane<Evm>): string | undefined => {
  const record = recordOf(lane)
  const { watched } = lane.accounts[0]
  return record !== undefined && watched?.sequence === BigInt(record.nonce) ? watched.changed : undefined
}

/** What a poll remembers of a delegation that has bytes: before it is final, so that nothing of it is forgotten. */
export const recordedBy = (
  transactions: ReadonlyArray<Transaction<Evm>>,
  generation: number
): DelegationRecord | undefined => {
  const [newest] = transactions
    .filter((transaction) => isDelegation(transaction) && transaction.generation === generation)
    .flatMap((transaction) => {
      const nonce = nonceOf(transaction)
      const { delegation } = transaction.facts
      return nonce === undefined || delegation === undefined ? [] : [{ ...delegation, nonce, generation }]
    })
    .toSorted((one, other) => other.nonce - one.nonce)
  return newest
}

export const stageOf = (open: ReadonlyArray<Transaction<Evm>>): DelegationStage | undefined => {
  const own = open.filter(
    (transaction) => !isFinal(transaction) && (isDelegation(transaction) || isSecond(transaction))
  )
  if (own.length === 0) return undefined
  return own.some(({ place }) => place !== undefined) ? "signed" : "waiting"
}

/** Bytes behind a delegation count only if it is known what the account runs, and how many nonces it has used. */
export const behindDelegation: Row<Evm, Seen> = (situation) =>
  situation.rest.survey.delegation === "signed" ? hold(situation, cause("waits_for_delegation"), "lane") : undefined

/**
 * Pools take one transaction of an account with a pending authorization. What is mined before it has to be final, because a reorganisation
 * would bring it back to an account that runs other code.
 */
export const awaitsQuiet: Row<Evm, Seen> = (situation) => {
  const { survey, inFlight } = situation.rest
  // Those of the same plan are in flight, and not yet in the survey.
  const others = Math.max(survey.placed ?? 0, inFlight)
  return isDelegation(situation.transaction) && others > 0
    ? hold(situation, cause("waits_for_delegation", { in_flight: others }), "lane")
    : undefined
}

/** The row that explains the nonce after that of a delegation. */
export const secondOf = (situation: Situation<Evm>): NextRow<Evm> | undefined =>
  isDelegation(situation.transaction)
    ? { origin: authorizationOrigin, request: { to: situation.terms.address, value: 0n } }
    : undefined

// Many calls: signed only while the account runs what was recorded.

/** `missing`: the account runs something else. `changed`: it runs what was recorded, which is not what it was. */
type Standing = "unknown" | "waits" | "missing" | "changed" | "stands"

/** What the account runs now, as this poll has read it. `isAwaited`: rows of a delegation are open. */
const standingOf = ({ lane, view }: Situation<Evm, Seen>, isAwaited: boolean): Standing => {
  const record = delegatedIn(lane)
  const { code, count } = view
  if (code === undefined) return "unknown"
  if (record === undefined) return isAwaited ? "waits" : "missing"
  if (code !== codeOf({ address: record.delegate })) {
    // A provider that lags does not show the delegation yet.
    return isAwaited || count <= record.nonce + 1 ? "waits" : "missing"
  }
  if (changeIn(lane) !== undefined) return "changed"
  // Rows that are not open any more are final in the ledger. A lane that nothing was sent on since reads no final count.
  return isAwaited && lane.accounts[0].settledSequence <= BigInt(record.nonce + 1) ? "waits" : "stands"
}

/** Nothing was signed: it fails if the account runs something else, and waits if that is not known. */
export const unfitBatch: Row<Evm, Seen> = (situation) => {
  if (!isBatch(situation.transaction)) return undefined
  const standing = standingOf(situation, situation.rest.survey.delegation !== undefined)
  switch (standing) {
    case "unknown":
      return hold(situation, cause("providers_unavailable"), "relayer")
    case "waits":
      return hold(situation, cause("waits_for_delegation"))
    case "missing":
      return [finish({ state: "failed", cause: cause("not_delegated") })]
    case "changed":
      return hold(situation, cause("delegate_changed", { error: changeIn(situation.lane) ?? "" }))
    case "stands":
      return undefined
  }
}

/** Why no further bytes of many calls are signed at their nonce. `clears`: a no-op uses it instead. */
export const unfitFurther = (
  situation: Situation<Evm, Seen>
): { readonly clears: boolean; readonly cause: Cause } | undefined => {
  if (!isBatch(situation.transaction)) return undefined
  switch (standingOf(situation, false)) {
    case "unknown":
      return { clears: false, cause: cause("providers_unavailable") }
    case "missing":
      return { clears: true, cause: cause("not_delegated") }
    case "changed":
      return { clears: false, cause: cause("delegate_changed", { error: changeIn(situation.lane) ?? "" }) }
    case "waits":
    case "stands":
      return undefined
  }
}

/** The code of an account that delegates to nothing. */
const noCode = codeOf({ address: noDelegate })

// What the account ran at the block of a receipt: without it, the status of a call to the account means nothing.

/**
 * The code that the account has if the attempt did what it is for. Undefined: its effect does not depend on that, or what it depended on is no
 * longer recorded, and any code may be it.
 */
const neededCode = (transaction: Transaction<Evm>, attempt: Attempt<Evm>, lane: Lane<Evm>): string | undefined => {
  if (isNoop(attempt)) return undefined
  const { calls, delegate } = requestOf(transaction, attempt)
  if (delegate !== undefined) return codeOf({ address: delegate })
  const record = delegatedIn(lane)
  return calls === undefined || record === undefined ? undefined : codeOf({ address: record.delegate })
}

/** A call that reverted has met code. A delegation outlives a revert, and is there or not. */
export const needsCode = (transaction: Transaction<Evm>, attempt: Attempt<Evm>, isSuccess: boolean): boolean => {
  if (isNoop(attempt)) return false
  const { calls, delegate } = requestOf(transaction, attempt)
  return delegate !== undefined || (calls !== undefined && isSuccess)
}

/** Whatever the status of its receipt is, the code of the account says what a delegation did. */
export const isJudgedByCode = (transaction: Transaction<Evm>, attempt: Attempt<Evm>): boolean =>
  !isNoop(attempt) && requestOf(transaction, attempt).delegate !== undefined

export const askCode = (
  { transaction, lane }: Situation<Evm>,
  attempt: Attempt<Evm>,
  receipt: EvmReceipt
): Commands<Evm> => [
  ask<Evm>({
    _tag: "CodeAt",
    ordinal: attempt.ordinal,
    receipt,
    // Without a record, no answer is the expected one, which a single provider may give.
    expected: neededCode(transaction, attempt, lane) ?? "",
    nonce: attemptNonceOf(attempt),
    // The nonce after that of a delegation is used by its authorization, or by what shows that it was not applied.
    count: attemptNonceOf(attempt) + (isJudgedByCode(transaction, attempt) ? 2 : 1)
  })
]

/**
 * How a transaction ends whose effect depends on the code of its account. Undefined: as its receipt says. `unknown`: the state at that block is
 * not shown by as many providers as it needs, and what the account runs by now proves nothing.
 */
export const judgedByCode = (
  { transaction, lane, view }: Situation<Evm, Seen>,
  attempt: Attempt<Evm>,
  receipt: EvmReceipt
): Finish<Evm> | "unknown" | undefined => {
  if (!needsCode(transaction, attempt, receipt.isSuccess)) return undefined
  const needed = neededCode(transaction, attempt, lane)
  const block = receipt.height
  // Old state is pruned: code that is there now was there, because the nonces since are those of the lane.
  const found = receipt.details.code ?? view.codeAt?.code ?? (view.code === needed ? view.code : undefined)
  if (found === undefined) return "unknown"
  const isThere = needed === undefined ? found !== noCode : found === needed
  if (!isJudgedByCode(transaction, attempt)) {
    return isThere ? undefined : finish({ state: "failed", cause: cause("not_delegated", { block }) })
  }
  return isThere
    ? finish({ state: "confirmed", cause: cause("confirmed", { block }) })
    : finish({ state: "failed", cause: cause("delegation_without_effect", { block }) })
}

/**
 * No provider shows the state at the block, or not enough of them show the same. It is asked for with each poll; an operator is asked if none comes
 * back. Another outage, which has the same code, does not count: the figures say until when this one is waited for.
 */
export const unjudged = (situation: Situation<Evm, Seen>, block: number): Commands<Evm> => {
  const { transaction, view, now } = situation
  const { doubt } = view.codeAt ?? {}
  if (doubt !== undefined) return hold(situation, cause(doubt, { block }))
  const { code, figures = {} } = transaction.cause ?? {}
  const isSame = code === "providers_unavailable" && figures.block === block
  const until = (isSame ? figures.until : undefined) ?? now + statePatience
  return code === "effect_unproven" || now >= until
    ? hold(situation, cause("effect_unproven", { block }))
    : hold(situation, cause("providers_unavailable", { block, until }))
}

const notSentAgain =
  "is in a block: only give_up is possible. If it had no effect, send what it was for as a new transaction afterwards"

/**
 * What an operator makes of a transaction whose effect is not known. It is never confirmed without proof, and never sent again: its nonce is
 * used by its own bytes. Undefined: it is not one.
 */
export const effectAnswer = (
  transaction: Transaction<Evm>,
  answer: Answer,
  usedBelow: bigint
): Result.Result<Command<never>, TransactionConflict> | undefined => {
  if (isFinal(transaction) || transaction.cause?.code !== "effect_unproven") return undefined
  const block = transaction.mined?.receipt.height
  return Result.flatMap(resolve(transaction, answer, usedBelow), () =>
    answer === "send"
      ? Result.fail(new TransactionConflict({ error: notSentAgain }))
      : Result.succeed(finish<never>({ state: "failed", cause: cause("effect_unproven", present("block", block)) }))
  )
}

// The second nonce: the authorization uses it, or a no-op as soon as it is free, because its signed authorization is valid for anybody.

/** The no-op that uses the nonce up. Undefined: its price is not known, or the signer is away. */
const filling = ({ signerRetry, terms, view }: Situation<Evm, Seen>) => {
  const { market } = view
  if (signerRetry !== undefined || market === undefined) return undefined
  const fees = priceOf(market, "fast", priceType({ isEip1559: terms.network.isEip1559 }))
  const offer = { fees, ...noopChargesOf(view, market) }
  return sign<Evm>({ kind: "noop", offer, maxFee: maxFeesOf(offer), cause: cause("gap_filled") })
}

/** The count of one provider is no proof: the authorization is signed, so a nonce that is not used after all would stay open to anybody. */
const decideUsed = (situation: Situation<Evm, Seen>, nonce: number): Commands<Evm> => {
  const { transaction, lane, view, now } = situation
  const used = [finish<Evm>({ state: "failed", cause: cause("used_by_authorization", { nonce }) })] as const
  const waits = cause("waits_for_delegation", { nonce, count: view.count })
  if (view.countAtFinal === undefined || view.countAtFinal <= nonce) return hold(situation, waits)
  if (isGivenUp(transaction)) return used
  if (view.taker === undefined) return [ask<Evm>({ _tag: "Foreign", nonce })]
  switch (takerVerdictOf(transaction, noncesOf(lane).address, view, now)._tag) {
    case "Taken":
      return used
    case "Unproven":
      return hold(situation, cause("nonce_taken_unproven", { nonce, count: view.count }))
    case "Own":
    case "NotDeep":
    case "Behind":
      return hold(situation, waits)
  }
}

export const decideSecond = (situation: Situation<Evm, Seen>): Commands<Evm> => {
  const { transaction, view, signerRetry } = situation
  const nonce = nonceOf(transaction) ?? 0
  if (view.count > nonce) return decideUsed(situation, nonce)
  // The delegation has its nonce still to be used: the authorization is applied with it.
  if (view.count < nonce) return hold(situation, cause("waits_for_delegation", { nonce, count: view.count }))
  const filler = filling(situation)
  if (filler !== undefined) return [filler, pollNext(situation)]
  return signerRetry === undefined
    ? hold(situation, cause("providers_unavailable"))
    : hold(situation, cause(signerRetry.code, { until: signerRetry.at }))
}

/** A delegation that is signed goes on until it is mined: its authorization can be used by anybody as soon as its nonce is. */
export const isBound = (transaction: Transaction<Evm>): boolean =>
  isDelegation(transaction) && transaction.state !== "pending"

/** An operator has said that it be sent again, after its nonce was used: there is nothing to send. */
export const spentSecond: Row<Evm, Seen> = ({ transaction }) =>
  isSecond(transaction) ? [finish({ state: "failed", cause: cause("used_by_authorization") })] : undefined

/** Whether the caller needs the right to delegate for what it does with this row. */
export const concernsDelegation = (transaction: Transaction<Evm>): boolean =>
  isDelegation(transaction) || isSecond(transaction)

/** Whether a request can take the place of the newest version. */
export const isSameKind = (transaction: Transaction<Evm>, request: Pick<Request, "calls">): boolean =>
  isBatch(transaction) === (request.calls !== undefined)
