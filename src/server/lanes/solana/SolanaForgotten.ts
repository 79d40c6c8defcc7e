// Bytes that a caller has and the ledger does not know: a prebuilt transaction that comes with the relayer's own signature. It was
// signed by a process whose database was restored since.
import { Effect, Result } from "effect"
import { isLifeOf } from "../../../domain/transaction/solana/Bound.ts"
import { feeOf } from "../../../domain/transaction/solana/Fee.ts"
import type { SolanaOffer } from "../../../domain/transaction/solana/Preparation.ts"
import type { Solana } from "../../../domain/transaction/solana/Solana.ts"
import * as Numbers from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { Taken } from "../../../domain/transaction/solana/SolanaSituation.ts"
import { draftOf } from "../../../domain/transaction/solana/Unsigned.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { newestRequest } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { Inquiry } from "../LaneNetwork.ts"
import { providersOf } from "./SolanaContext.ts"
import type { SolanaContext } from "./SolanaContext.ts"
import * as Lifetimes from "./SolanaLifetimes.ts"

/** No provider says when a dead blockhash died. The life of a blockhash that is read now counts, because it ends later. */
const lastOf = Effect.fnUntraced(function* (providers: SolanaProviders) {
  const opinions = yield* providers.opinions(Numbers.maxAskedProviders, Lifetimes.reportedBy)
  const answers = opinions.flatMap(({ result }) => (Result.isSuccess(result) ? [result.success] : []))
  const found = answers.filter(({ lastValid, height }) => isLifeOf(lastValid - height))
  if (found.length < Math.min(Numbers.agreeing, providers.configured)) return undefined
  const life = Math.max(...found.map(({ lastValid, height }) => lastValid - height))
  return {
    bound: Math.max(...found.map(({ height }) => height)) + life + Numbers.boundMargin,
    signedSlot: Math.max(0, Math.min(...found.map(({ slot }) => slot)) - 2 * life),
    isLast: true as const
  }
})

export const forgottenOf = Effect.fn("SolanaForgotten.forgottenOf")(function* (
  context: SolanaContext,
  { row: { transaction, relayer } }: Inquiry<Solana>,
  now: Moment
) {
  const { given } = transaction.facts
  const draft = draftOf(newestRequest(transaction), { payer: context.address, tables: new Map() })
  if (given === undefined || Result.isFailure(draft)) return "unavailable" as const
  const { message } = draft.success
  const { blockhash } = message
  const providers = yield* providersOf(context, relayer)
  const life = yield* Lifetimes.ofRequest(context, providers, transaction.number, blockhash, now)
  const found = life === "dead" ? yield* lastOf(providers) : life
  if (found === undefined || found === "unavailable") return "unavailable" as const
  const { computeUnitLimit, computeUnitPrice, total } = feeOf(message)
  const offer: SolanaOffer = {
    blockhash,
    ...found,
    computeUnitPrice,
    ...(computeUnitLimit === undefined ? {} : { computeUnitLimit })
  }
  const taken: Taken = { kind: "original", hash: given.hash, offer, maxFee: total, sends: 0, isRefused: false }
  return taken
})
