// Answers what decisions about evm transactions ask besides a poll: what a call needs, which transaction used a nonce, and why a
// call reverted.
import { Clock, Effect } from "effect"
import type { Evm, Question } from "../../../domain/transaction/evm/Evm.ts"
import { verdictOf } from "../../../domain/transaction/evm/ForeignTransaction.ts"
import { isEstimated } from "../../../domain/transaction/evm/Gas.ts"
import type { ReceiptDetails, Seen, TakerEvidence } from "../../../domain/transaction/evm/View.ts"
import { callAt, receiptOf } from "../../chains/evm/EvmCalls.ts"
import { dataFee } from "../../chains/evm/EvmDataFees.ts"
import { estimate } from "../../chains/evm/EvmEstimates.ts"
import * as EvmTaker from "../../chains/evm/EvmTaker.ts"
import * as RevertReason from "../../chains/evm/RevertReason.ts"
import type { EvmProviders } from "../../chains/evm/EvmNodes.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { currentAttempts, newestRequest, requestOf } from "../../../domain/transaction/Transaction.ts"
import type { Finding, Inquiry } from "../LaneNetwork.ts"
import { numbersOf, providersOf } from "./EvmMemory.ts"
import type { EvmContext, EvmMemory } from "./EvmMemory.ts"

type Ask<Tag extends Question["_tag"]> = Extract<Question, { readonly _tag: Tag }>

/** `Unknown` if no provider answers, even if the request gives its gas. */
const estimated = Effect.fnUntraced(function* (context: EvmContext, { row, seen }: Inquiry<Evm>) {
  const { transaction, relayer } = row
  const providers = yield* providersOf(context, relayer)
  const request = newestRequest(transaction)
  const call = { ...request, from: context.address }
  const asked = providers.first((node) =>
    Effect.all(
      [
        isEstimated(request) ? Effect.asSome(estimate(providers, node, call)) : Effect.succeedNone,
        dataFee(node, numbersOf(relayer), request, context.memory.lastRollupFee)
      ],
      { concurrency: 2 }
    ).pipe(
      Effect.map(([gas, data]): Partial<Seen> => ({
        ...(gas._tag === "Some" ? { estimate: gas.value } : {}),
        ...(data === undefined ? {} : { dataFee: data })
      }))
    )
  )
  const found = yield* Effect.orElseSucceed(asked, (): Partial<Seen> => ({ estimate: { _tag: "Unknown" } }))
  return { seen: { ...seen, ...found, isInquired: true } } satisfies Finding<Evm>
})

/** Remembers since when the indexes of providers lag behind the block that used the nonce. */
const noteBehind = Effect.fnUntraced(function* ({ behind }: EvmMemory, number: number, taker: TakerEvidence) {
  if (taker._tag !== "Behind") {
    behind.delete(number)
    return taker
  }
  const since = behind.get(number) ?? (yield* Clock.currentTimeMillis)
  behind.set(number, since)
  return { ...taker, since }
})

/** Whether every provider answers, and none of them has a receipt of one of the attempts. */
const hasNoReceipt = Effect.fnUntraced(function* (providers: EvmProviders, hashes: ReadonlyArray<string>) {
  const answers = yield* providers.each((node) =>
    Effect.forEach(hashes, (hash) => node.call(receiptOf(hash)), { concurrency: "unbounded" })
  )
  return answers.every((receipts) => receipts?.every((receipt) => receipt === null) === true)
})

/** What used the nonce. What is in no attempt marks the requests that it could be, before any of them gets a new nonce. */
const foreign = Effect.fnUntraced(function* (
  context: EvmContext,
  { row: { transaction, relayer }, seen }: Inquiry<Evm>,
  { nonce }: Ask<"Foreign">
) {
  const providers = yield* providersOf(context, relayer)
  const { address } = context
  const hashes = currentAttempts(transaction).map(({ hash }) => hash)
  const sought = { address, nonce, hashes, finality: numbersOf(relayer).finality }
  const find = providers.first((node) => EvmTaker.find(providers, node, sought, seen.head.number))
  const answered = yield* Effect.orElseSucceed(find, () => ({ _tag: "Behind" }) as const)
  const taker = yield* noteBehind(context.memory, transaction.number, answered)
  const verdict = verdictOf(transaction, address, { ...seen, taker }, yield* Clock.currentTimeMillis)
  const isOpen = verdict._tag === "Unproven" || verdict._tag === "Behind"
  const needsAll = isOpen && transaction.intent === "clear"
  const finding: Finding<Evm> = {
    seen: { ...seen, taker, ...(needsAll ? { hasNoReceipt: yield* hasNoReceipt(providers, hashes) } : {}) },
    ...(verdict._tag === "Taken" && verdict.call !== undefined ? { foreign: [verdict.call] } : {})
  }
  return finding
})

/** The words of an exceptional halt are shown in any case: they are those of the node. A reason has data of the contract. */
const failureOf = (error: RevertReason.RpcError, isWanted: boolean): Partial<ReceiptDetails> => ({
  ...present("revertReason", isWanted || RevertReason.isHalt(error) ? RevertReason.ofError(error) : undefined),
  ...present("isOutOfGas", RevertReason.isOutOfGas(error))
})

/** What the call does at the state after its block. */
const revertReason = Effect.fnUntraced(function* (
  context: EvmContext,
  { row: { transaction, relayer }, seen }: Inquiry<Evm>,
  { isWanted, ordinal, receipt }: Ask<"RevertReason">
) {
  const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
  const providers = yield* providersOf(context, relayer)
  const answer =
    attempt === undefined
      ? undefined
      : yield* Effect.orElseSucceed(
          providers.first((node) => {
            const call = { ...requestOf(transaction, attempt), from: context.address, gas: attempt.offer.gasLimit }
            return node.ask(callAt(call, receipt.height))
          }),
          () => undefined
        )
  const details = answer?._tag === "RpcError" ? { ...receipt.details, ...failureOf(answer, isWanted) } : receipt.details
  const sights = new Map([
    ...seen.sights,
    [ordinal, { _tag: "Receipt", receipt: { ...receipt, details }, isReasonAsked: true }] as const
  ])
  return { seen: { ...seen, sights } } satisfies Finding<Evm>
})

export const answer = (context: EvmContext, inquiry: Inquiry<Evm>): Effect.Effect<Finding<Evm>> => {
  const { question } = inquiry
  switch (question._tag) {
    case "Estimate":
      return estimated(context, inquiry)
    case "Foreign":
      return foreign(context, inquiry, question)
    case "RevertReason":
      return revertReason(context, inquiry, question)
  }
}
