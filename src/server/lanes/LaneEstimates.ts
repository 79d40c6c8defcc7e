// Asks providers about a call before it is signed: how much gas it needs, and what its data costs.
import { Effect } from "effect"
import { isEstimated } from "../../domain/transaction/DecideFirstSignature.ts"
import { newestRequest } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { Seen, View } from "../../domain/transaction/View.ts"
import { dataFee } from "../chains/evm/EvmDataFees.ts"
import { estimate } from "../chains/evm/EvmEstimates.ts"
import type { Work } from "./LaneContext.ts"
import * as Providers from "./LaneProviders.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"

export type Estimated = Pick<Seen, "estimate" | "dataFee">

/** Whether providers are asked about the newest version of the request before it is signed. */
export const isDue = (work: Work, { numbers }: LaneRelayer, transaction: Transaction): boolean =>
  isEstimated(newestRequest(transaction)) || numbers.hasDataFeeOracle || work.context.memory.lastRollupFee !== undefined

const unknown: Estimated = { estimate: { _tag: "Unknown" } }

/** `Unknown` if no provider answers, even if the request gives its gas. */
export const of = Effect.fnUntraced(function* (work: Work, relayer: LaneRelayer, transaction: Transaction) {
  const providers = yield* Providers.of(work, relayer)
  const request = newestRequest(transaction)
  const call = { ...request, from: work.lane.address }
  const { lastRollupFee } = work.context.memory
  const asked = providers.first((node) =>
    Effect.all(
      [
        isEstimated(request) ? Effect.asSome(estimate(providers, node, call)) : Effect.succeedNone,
        dataFee(node, relayer.numbers, request, lastRollupFee)
      ],
      { concurrency: 2 }
    ).pipe(
      Effect.map(([gas, data]): Estimated => ({
        ...(gas._tag === "Some" ? { estimate: gas.value } : {}),
        ...(data === undefined ? {} : { dataFee: data })
      }))
    )
  )
  return yield* Effect.orElseSucceed(asked, () => unknown)
})

export const withEstimated = (view: View, found: Estimated | undefined): View =>
  found === undefined || view._tag !== "Seen" ? view : { ...view, ...found }
