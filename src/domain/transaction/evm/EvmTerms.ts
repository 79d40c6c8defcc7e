// What the policy of an evm relayer and its network mean for its transactions. Admission, lanes and simulation read the policy
// only here.
import { minBalanceOf } from "../../health/Funding.ts"
import type { EvmTarget, EvmTerms } from "./Evm.ts"
import { networkNumbers } from "./NetworkNumbers.ts"

export const evmTermsOf = ({ relayer: { address, policies = {} }, network }: EvmTarget): EvmTerms => {
  const numbers = networkNumbers(network)
  const { gas_price_cap, whitelist_receivers } = policies
  return {
    address,
    ...(gas_price_cap === undefined ? {} : { cap: gas_price_cap }),
    minBalance: minBalanceOf("evm", policies),
    isEip1559: policies.eip1559_pricing ?? numbers.isEip1559,
    estimatesGas: policies.gas_limit_estimation !== false,
    isPrivate: policies.private_transactions === true,
    wantsRevertReason: policies.include_revert_data === true,
    ...(whitelist_receivers === undefined ? {} : { receivers: [...whitelist_receivers, address] }),
    network: numbers
  }
}
