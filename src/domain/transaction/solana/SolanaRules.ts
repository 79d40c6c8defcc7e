// The rules of solana, as the core asks for them. The rest of this folder is behind them.
import { Result, Schema } from "effect"
import { cancelOpen, deadlineViolation } from "../Cancellation.ts"
import type { Cancellation, TransactionConflict } from "../Cancellation.ts"
import { cause } from "../Cause.ts"
import type { Moment } from "../Moment.ts"
import type { Rules } from "../Rules.ts"
import { newestRequest } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { hear } from "./SendAnswer.ts"
import type { Solana, SolanaRequest } from "./Solana.ts"
import { FactsJson, OfferJson, ReceiptJson, RefusalJson, RequestJson } from "./SolanaCodecs.ts"
import { decide } from "./SolanaMachine.ts"
import { pollAfter, windowSize } from "./SolanaNumbers.ts"
import { show } from "./SolanaShow.ts"
import { paysFees, solanaTermsOf } from "./SolanaTerms.ts"
import { SolanaTransactionResponse } from "./SolanaTransactionResponse.ts"
import { explain } from "./SolanaWords.ts"

/** After the first signature, a cancel only prevents new bytes. */
const cancel = (transaction: Transaction<Solana>): Result.Result<Cancellation, TransactionConflict> => {
  const decided = cancelOpen(transaction)
  if (decided !== undefined) return decided
  const isUnsigned = transaction.state === "pending" && !transaction.restored
  const why = cause(transaction.restored ? "restored_unproven" : "canceling")
  return Result.succeed(isUnsigned ? { _tag: "finish" } : { _tag: "intend", intent: "cancel", cause: why })
}

/** Bytes that exist can land whatever the request says now, so only a transaction without any can be replaced. */
const replacementViolations: Rules<Solana>["replacementViolations"] = (transaction, _, validUntil) => {
  const bound = transaction.attempts.at(-1)?.offer.bound
  const deadline = deadlineViolation(transaction, validUntil)
  return bound === undefined
    ? deadline === undefined
      ? []
      : [deadline]
    : [{ field: "id", message: `is signed: its bytes can land until block height ${bound}, so it cannot be replaced` }]
}

const replaced = (
  transaction: Transaction<Solana>,
  request: SolanaRequest,
  validUntil: Moment = transaction.validUntil
): Transaction<Solana> => {
  const [first, ...others] = transaction.versions
  const { wait_for_funds } = newestRequest(transaction)
  const version = wait_for_funds === undefined ? request : { wait_for_funds, ...request }
  return { ...transaction, versions: [first, ...others, version], validUntil }
}

export const solanaRules: Rules<Solana> = {
  type: "solana",
  request: RequestJson,
  facts: FactsJson,
  offer: OfferJson,
  refusal: RefusalJson,
  counters: Schema.Struct({}),
  receipt: ReceiptJson,
  shown: SolanaTransactionResponse,
  targetOf: ({ relayer, network }) =>
    relayer.network_type === "solana" && network.network_type === "solana" ? { relayer, network } : undefined,
  laneOf: ({ relayer, network }) => ({ chain: `solana:${network.name}`, address: relayer.address, window: windowSize }),
  pollInterval: () => pollAfter,
  // Programs and accounts of a request are public as soon as it lands. Its data can be secret until then.
  auditedOf: ({ transaction, instructions }) =>
    transaction === undefined
      ? { programs: instructions?.map(({ program_id }) => program_id) ?? [] }
      : { prebuilt_bytes: (transaction.length / 4) * 3 },
  identityOf: () => undefined,
  exclusiveOf: () => undefined,
  termsOf: (target, transaction) => ({
    ...solanaTermsOf(target, newestRequest(transaction)),
    isAllowed: paysFees(target)
  }),
  survey: () => undefined,
  // The place has no meaning on the chain: it counts what the relayer has signed.
  placeOf: ({ accounts: [{ address, nextSequence }] }) => ({ account: address, sequence: nextSequence }),
  decide,
  costOf: (request, { fee, out }) => (request === undefined ? fee : fee + out),
  maxFeeOf: ({ fee }) => fee,
  hear: (_, attempt, answers, at) => hear(attempt, answers, at),
  couldBe: () => false,
  replacementViolations,
  replaced,
  cancel,
  explain,
  show
}
