// The fees of a chain: asked once per chain and block, and shared by all lanes of the process.
import { Effect, Result } from "effect"
import { marketOf } from "../../../domain/transaction/evm/Market.ts"
import type { FeeHistory, Market } from "../../../domain/transaction/evm/Market.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import { feeHistory, gasPrice, suggestedTip } from "./EvmCalls.ts"
import type { RpcNode } from "../RpcNode.ts"
import { operatorFee } from "./EvmOperatorFees.ts"

const unknown: FeeHistory = { baseFees: [], rewards: [] }

/** A chain without EIP-1559 may not know the method. */
const historyOf = (node: RpcNode) =>
  node.call(feeHistory).pipe(
    Effect.map(({ baseFeePerGas, reward }): FeeHistory => ({ baseFees: baseFeePerGas ?? [], rewards: reward ?? [] })),
    Effect.catchIf(
      ({ answered }) => answered,
      () => Effect.succeed(unknown)
    )
  )

const hasBaseFee = ({ baseFees }: FeeHistory): boolean => (baseFees.at(-1) ?? 0n) > 0n
const hasTips = ({ rewards }: FeeHistory): boolean => rewards.some((row) => row.some((tip) => tip > 0n))

const ask = Effect.fnUntraced(function* (node: RpcNode, numbers: NetworkNumbers) {
  const { isEip1559, minimumTip } = numbers
  const [history, charge] = yield* Effect.all([historyOf(node), operatorFee(node, numbers)], { concurrency: 2 })
  const needsPrice = !isEip1559 || !hasBaseFee(history)
  const [tip, price] = yield* Effect.all(
    [
      hasTips(history) ? Effect.succeedNone : Effect.asSome(Effect.result(node.call(suggestedTip))),
      needsPrice ? Effect.asSome(node.call(gasPrice)) : Effect.succeedNone
    ],
    { concurrency: 2 }
  )
  const suggested = tip._tag === "Some" && Result.isSuccess(tip.value) ? { suggestedTip: tip.value.success } : {}
  const asked = { ...suggested, ...(price._tag === "Some" ? { gasPrice: price.value } : {}), minimumTip }
  const market = marketOf(history, asked)
  return charge === undefined ? market : { ...market, operatorFee: charge }
})

export interface EvmMarkets {
  /** `head`: hash of the newest block, of which the answer is kept. */
  at(node: RpcNode, numbers: NetworkNumbers, head: string): Effect.Effect<Market, RpcFailure>
}

export const make = (): EvmMarkets => {
  const kept = new Map<number, { readonly head: string; readonly market: Effect.Effect<Market, RpcFailure> }>()

  const at: EvmMarkets["at"] = Effect.fnUntraced(function* (node, numbers, head) {
    const found = kept.get(numbers.chainId)
    if (found?.head === head) return yield* found.market
    const market = yield* Effect.cached(ask(node, numbers))
    kept.set(numbers.chainId, { head, market })
    return yield* Effect.tapError(market, () => Effect.sync(() => kept.delete(numbers.chainId)))
  })

  return { at }
}
