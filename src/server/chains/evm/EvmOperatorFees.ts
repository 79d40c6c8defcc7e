// What an OP-stack chain charges for its operator, besides gas and data. The contract answers for an amount of gas, since the
// upgrade Isthmus (docs.base.org: Isthmus, "Predeploys"). The fee is linear in gas, so that two answers give it for every amount,
// whichever of its formulas the chain uses.
import { Effect } from "effect"
import { fromSamples, million } from "../../../domain/transaction/evm/OperatorFee.ts"
import type { OperatorFee } from "../../../domain/transaction/evm/OperatorFee.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import { ask, word } from "./EvmFeeOracle.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"

/** Selector of `getOperatorFee(uint256)`. */
const getOperatorFee = "275aedd2"

/** The input of the call for an amount of gas. */
export const inputFor = (gas: bigint): string => `${getOperatorFee}${word(gas)}`

/** Undefined: the chain charges none, as before Isthmus, or what the node answers is impossible. */
export const operatorFee = Effect.fnUntraced(function* (
  node: RpcNode,
  { hasDataFeeOracle }: Pick<NetworkNumbers, "hasDataFeeOracle">
): Effect.fn.Return<OperatorFee | undefined, RpcFailure> {
  if (!hasDataFeeOracle) return undefined
  const samples = [ask(node, inputFor(0n)), ask(node, inputFor(million))] as const
  const [forNone, forMillion] = yield* Effect.all(samples, { concurrency: 2 })
  return forNone === undefined || forMillion === undefined ? undefined : fromSamples(forNone, forMillion)
})
