// What a call costs now: the fees of the chain, and what an estimation of its gas says.
import type { Estimate } from "../../../../../src/networks/evm/rules/Evm.ts"
import { marketOf, percentiles } from "../../../../../src/networks/evm/rules/Market.ts"
import { gwei } from "./World.ts"
import type { World } from "./World.ts"

export const marketIn = ({ baseFee }: World) =>
  marketOf({ baseFees: [baseFee], rewards: [percentiles.map(() => gwei / 10n)] }, { minimumTip: 0n })

export const estimateIn = ({ estimate, hasSecond }: World): Estimate => {
  if (estimate === "gas") return { _tag: "Gas", gas: 21_000n }
  if (estimate === "unknown") return { _tag: "Unknown" }
  if (estimate === "refused") return { _tag: "Refused", words: "cannot" }
  const second = estimate === "reverts" ? "agrees" : "differs"
  return { _tag: "Reverts", second: hasSecond ? second : "not_configured" }
}
