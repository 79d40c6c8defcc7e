// The figures of a simulation, from what a provider and the ledger say. Pure.
import type { Violation } from "../../../domain/request/Request.ts"
import { atMost, maxFeeOf } from "../../../domain/transaction/evm/Fees.ts"
import type { Fees } from "../../../domain/transaction/evm/Fees.ts"
import { chargesOf, costOf, noopReserve, shortageOf } from "../../../domain/transaction/evm/Funds.ts"
import { capsOf, isEstimated, limitOf } from "../../../domain/transaction/evm/Gas.ts"
import { floorOf, priceOf } from "../../../domain/transaction/evm/Market.ts"
import type { Market } from "../../../domain/transaction/evm/Market.ts"
import { transactionGas } from "../../../domain/transaction/evm/EvmNumbers.ts"
import { operatorFeeAt } from "../../../domain/transaction/evm/OperatorFee.ts"
import { givenFees, priceType, speedOf } from "../../../domain/transaction/evm/Offer.ts"
import type { Simulation } from "../../../domain/transaction/evm/Simulation.ts"
import type { Speed } from "../../../domain/transaction/TransactionValues.ts"
import type { EvmTarget, Request } from "../../../domain/transaction/evm/Evm.ts"
import { evmTermsOf } from "../../../domain/transaction/evm/EvmTerms.ts"
import type { Estimate, Head } from "../../../domain/transaction/evm/View.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"

/** What the relayer's policy and its network decide. */
export interface Rules extends EvmTarget {
  readonly numbers: Pick<NetworkNumbers, "transactionGasCap">
}

/** What the provider and the ledger say now. */
export interface SimulationView {
  readonly head: Pick<Head, "gasLimit">
  readonly market: Market
  readonly estimate: Estimate
  /** As in `Seen`. */
  readonly dataFee?: bigint
  readonly noopDataFee?: bigint
  /** Wei. */
  readonly balance: bigint
  /** Wei that the open transactions of the account can cost. */
  readonly reserved: bigint
}

const feeFields = (fees: Fees) =>
  fees.type === "legacy"
    ? { gas_price: fees.gasPrice }
    : { max_fee_per_gas: fees.maxFee, max_priority_fee_per_gas: fees.tip }

const gasOf = (request: Request, { numbers }: Rules, { estimate, head }: SimulationView): bigint | undefined =>
  request.gas_limit ?? (estimate._tag === "Gas" ? limitOf(estimate.gas, capsOf(head, numbers)) : undefined)

const revertOf = (estimate: Estimate) => {
  if (estimate._tag === "Gas") return { would_revert: false, gas_used: estimate.gas }
  if (estimate._tag !== "Reverts") return {}
  const { reason } = estimate
  return { would_revert: true, ...(reason === undefined ? {} : { revert_reason: reason }) }
}

const shortfall = (cost: bigint, rules: Rules, known: SimulationView): Violation | undefined => {
  const { balance, reserved, market, noopDataFee } = known
  const { minBalance } = evmTermsOf(rules)
  const budget = {
    balance,
    reserved,
    minBalance,
    reserve: noopReserve(market, { noopGas: transactionGas, ...(noopDataFee === undefined ? {} : { noopDataFee }) })
  }
  return shortageOf(cost, budget) === undefined
    ? undefined
    : {
        field: "balance",
        message: `needs ${cost} wei; the account has ${balance} wei, of which other transactions reserve ${reserved}`
      }
}

const tooLow = (price: Fees, { market }: SimulationView): Violation | undefined => {
  const floor = floorOf(market)
  return maxFeeOf(price) < floor
    ? { field: "fees", message: `offers ${maxFeeOf(price)} wei per gas; the next block requires at least ${floor}` }
    : undefined
}

const withoutGas = ({ estimate }: SimulationView, request: Request): Violation | undefined => {
  if (!isEstimated(request)) return undefined
  if (estimate._tag === "Refused") {
    return { field: "data", message: `the provider does not estimate the call: ${estimate.words}` }
  }
  return estimate._tag === "Reverts" ? { field: "data", message: "the call reverts now" } : undefined
}

/** `violations` are the reasons for which a send would be refused whatever the chain says. */
export const simulationOf = (
  request: Request,
  rules: Rules,
  known: SimulationView,
  violations: ReadonlyArray<Violation>
): Simulation => {
  const { market, balance, reserved, estimate, dataFee } = known
  const terms = evmTermsOf(rules)
  const type = priceType({ isEip1559: terms.isEip1559 })
  const gas = gasOf(request, rules, known)
  const offer = (speed: Speed): Fees => atMost(priceOf(market, speed, type), terms.cap)
  const costAt = (fees: Fees) => costOf({ fees, ...chargesOf(gas ?? transactionGas, known) }, request.value)
  const shownAs = (fees: Fees) => ({
    ...feeFields(fees),
    max_cost: costAt(fees)
  })
  const price = givenFees(request) ?? offer(speedOf(request))
  const found = [
    ...violations,
    withoutGas(known, request),
    tooLow(price, known),
    gas === undefined ? undefined : shortfall(costAt(price), rules, known)
  ].filter((violation) => violation !== undefined)
  return {
    is_accepted: violations.length === 0,
    problems: found,
    ...revertOf(estimate),
    ...(gas === undefined
      ? {}
      : {
          gas_limit: Number(gas),
          price: shownAs(price),
          prices: {
            safeLow: shownAs(offer("safeLow")),
            average: shownAs(offer("average")),
            fast: shownAs(offer("fast")),
            fastest: shownAs(offer("fastest"))
          }
        }),
    ...(dataFee === undefined ? {} : { data_fee: dataFee }),
    ...(gas === undefined || market.operatorFee === undefined
      ? {}
      : { operator_fee: operatorFeeAt(market.operatorFee, gas) }),
    ...(market.baseFee === undefined ? {} : { base_fee: market.baseFee }),
    balance,
    reserved
  }
}
