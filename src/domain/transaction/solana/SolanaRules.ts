// The rules of solana, as the core asks for them. The rest of this folder is behind them.
import { Result } from "effect"
import { cause } from "../Cause.ts"
import { cancelOpen, canReplace, deadlineViolations, finish, replaced, TransactionConflict } from "../Rules.ts"
import type { Cancellation, Rules } from "../Rules.ts"
import { newestRequest } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { bytesOf } from "./SendSolanaTransaction.ts"
import { hear } from "./SendAnswer.ts"
import type { Solana, SolanaRequest } from "./Solana.ts"
import { CountersJson, FactsJson, OfferJson, ReceiptJson, RefusalJson, RequestJson } from "./SolanaCodecs.ts"
import { decide } from "./SolanaMachine.ts"
import { failing, pollAfter, windowSize } from "./SolanaNumbers.ts"
import { show } from "./SolanaShow.ts"
import { resolve } from "./SolanaAnswers.ts"
import { formOf, paysFees, solanaTermsOf } from "./SolanaTerms.ts"
import { SolanaTransactionResponse } from "./SolanaTransactionResponse.ts"
import { explain } from "./SolanaWords.ts"
import { identityOf } from "./Unsigned.ts"
import { decode } from "./WireDecoding.ts"

const isGiven = ({ facts, attempts }: Transaction<Solana>): boolean =>
  facts.given !== undefined && attempts.length === 0

/**
 * The message as it was given: with a deterministic signer, equal messages have one signature, and the chain executes one of
 * them. It names its blockhash, and so its chain.
 */
const messageOf = ({ transaction }: SolanaRequest): string | undefined =>
  transaction === undefined ? undefined : Result.getOrUndefined(Result.map(decode(bytesOf(transaction)), identityOf))

/** After the first signature, a cancel only prevents new bytes. */
const cancel = (transaction: Transaction<Solana>): Result.Result<Cancellation, TransactionConflict> => {
  const decided = cancelOpen(transaction)
  if (decided !== undefined) return decided
  const isUnsigned = transaction.state === "pending" && !transaction.restored && !isGiven(transaction)
  const why = cause(transaction.restored ? "restored_unproven" : "canceling")
  return Result.succeed(isUnsigned ? { _tag: "finish" } : { _tag: "intend", intent: "cancel", cause: why })
}

/** Bytes that exist can land whatever the request says now, so only a transaction without any can be replaced. */
const canReplaceUnsigned = (transaction: Transaction<Solana>): Result.Result<void, TransactionConflict> => {
  const bound = transaction.attempts.at(-1)?.offer.bound ?? transaction.facts.given?.offer?.bound
  if (bound === undefined && !isGiven(transaction)) return canReplace(transaction)
  const until = bound === undefined ? "" : ` until block height ${bound}`
  return Result.flatMap(canReplace(transaction), () =>
    Result.fail(new TransactionConflict({ error: `is signed: its bytes can land${until}, so it cannot be replaced` }))
  )
}

export const solanaRules: Rules<Solana> = {
  type: "solana",
  request: RequestJson,
  facts: FactsJson,
  offer: OfferJson,
  refusal: RefusalJson,
  counters: CountersJson,
  receipt: ReceiptJson,
  shown: SolanaTransactionResponse,
  targetOf: ({ relayer, network }) =>
    relayer.network_type === "solana" && network.network_type === "solana" ? { relayer, network } : undefined,
  laneOf: ({ relayer, network }) => ({
    chain: `solana:${network.name}`,
    address: relayer.address,
    window: network.transaction_window ?? windowSize
  }),
  pollInterval: () => pollAfter,
  // Programs and accounts of a request are public as soon as it lands. Its data can be secret until then.
  auditedOf: ({ transaction, instructions }) =>
    transaction === undefined
      ? { programs: instructions?.map(({ program_id }) => program_id) ?? [] }
      : { prebuilt_bytes: (transaction.length / 4) * 3 },
  identityOf: messageOf,
  failing,
  exclusiveOf: () => undefined,
  termsOf: (target, transaction) => {
    const request = newestRequest(transaction)
    // Instructions have no place for a payment of a user.
    const isSponsored = formOf(target, request) === "sponsored"
    return { ...solanaTermsOf(target, request), isSponsored, isAllowed: paysFees(target) || isSponsored }
  },
  survey: () => undefined,
  // The place has no meaning on the chain: it counts what the relayer has signed.
  placeOf: ({ accounts: [{ address, nextSequence }] }) => ({ account: address, sequence: nextSequence }),
  decide,
  costOf: (request, { fee, out }) => (request === undefined ? fee : fee + out),
  maxFeeOf: ({ fee }) => fee,
  hear: (_, attempt, answers, at) => hear(attempt, answers, at),
  couldBe: () => false,
  canReplace: canReplaceUnsigned,
  replacementViolations: (transaction, _, validUntil) => deadlineViolations(transaction, validUntil),
  replaced,
  cancel,
  withGiven: (facts, given) => ({ ...facts, given }),
  isGiven,
  resolve,
  // The bytes of a prebuilt request cannot be varied, so it is the same transaction.
  repeated: ({ facts }) =>
    facts.isPrebuilt ? finish({ state: "failed", cause: cause("already_accepted") }) : undefined,
  explain,
  show
}
