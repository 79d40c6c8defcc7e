// Checks of a send that compare its fields with each other. They are no part of the schema, so that all that is wrong with a
// request is reported at once, a field each.
import type { Violation } from "../../request/Request.ts"
import { minimum } from "./Gas.ts"
import type { SendEvmTransaction } from "./SendEvmTransaction.ts"

type Rule = (request: SendEvmTransaction) => Violation | undefined

const violation = (field: string, message: string): Violation => ({ field, message })

const hasEffect: Rule = ({ to, data }) =>
  to === undefined && data === undefined ? violation("to", "is required unless data is given") : undefined

const oneKindOfPrice: Rule = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas, speed }) => {
  const isDynamic = max_fee_per_gas !== undefined || max_priority_fee_per_gas !== undefined
  if (gas_price !== undefined && isDynamic) {
    return violation("gas_price", "cannot be given together with EIP-1559 fees")
  }
  return speed !== undefined && (isDynamic || gas_price !== undefined)
    ? violation("speed", "cannot be given together with fees")
    : undefined
}

const bothDynamicFees: Rule = ({ max_fee_per_gas, max_priority_fee_per_gas }) => {
  if (max_fee_per_gas === undefined && max_priority_fee_per_gas === undefined) return undefined
  if (max_fee_per_gas === undefined) return violation("max_fee_per_gas", "is required with max_priority_fee_per_gas")
  if (max_priority_fee_per_gas === undefined) {
    return violation("max_priority_fee_per_gas", "is required with max_fee_per_gas")
  }
  return max_priority_fee_per_gas > max_fee_per_gas
    ? violation("max_priority_fee_per_gas", "must be at most max_fee_per_gas")
    : undefined
}

const enoughGas: Rule = ({ to, data = "0x", gas_limit, simulate }) => {
  if (gas_limit === undefined) {
    return simulate === false ? violation("gas_limit", "is required if simulate is false") : undefined
  }
  const least = minimum(to === undefined ? { data } : { to, data })
  return gas_limit < least ? violation("gas_limit", `must be at least ${least} for this data`) : undefined
}

const rules: ReadonlyArray<Rule> = [hasEffect, oneKindOfPrice, bothDynamicFees, enoughGas]

export const inconsistenciesOf = (request: SendEvmTransaction): ReadonlyArray<Violation> =>
  rules.flatMap((rule) => rule(request) ?? [])
