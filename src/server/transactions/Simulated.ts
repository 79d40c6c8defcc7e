// The figures of a simulation, from what a provider and the ledger say. Pure.
import type { Violation } from "../../domain/request/Request.ts"
import { atMost, maxFeeOf } from "../../domain/transaction/Fees.ts"
import type { Fees } from "../../domain/transaction/Fees.ts"
import { chargesOf, costOf, noopReserve, shortageOf } from "../../domain/transaction/Funds.ts"
import { capsOf, limitOf } from "../../domain/transaction/Gas.ts"
import { floorOf, priceOf } from "../../domain/transaction/Market.ts"
import type { Market } from "../../domain/transaction/Market.ts"
import { transactionGas } from "../../domain/transaction/Numbers.ts"
import { operatorFeeAt } from "../../domain/transaction/OperatorFee.ts"
import { givenFees, priceType, speedOf } from "../../domain/transaction/Offer.ts"
import type { Simulation } from "../../domain/transaction/Simulation.ts"
import type { Speed } from "../../domain/transaction/Speed.ts"
import type { Request } from "../../domain/transaction/Transaction.ts"
import type { Estimate, Head } from "../../domain/transaction/View.ts"
import type { Sender } from "./Senders.ts"

/** What the relayer's policy and its network decide. */
export interface Rules {
  readonly relayer: Pick<Sender["relayer"], "policies">
  readonly numbers: Pick<Sender["numbers"], "isEip1559" | "transactionGasCap">
}

/** What the provider and the ledger say now. */
export interface Known {
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

const gasOf = (request: Request, { numbers }: Rules, { estimate, head }: Known): bigint | undefined =>
  request.gas_limit ?? (estimate._tag === "Gas" ? limitOf(estimate.gas, capsOf(head, numbers)) : undefined)

const revertOf = (estimate: Estimate) => {
  if (estimate._tag === "Gas") return { would_revert: false, gas_used: estimate.gas }
  if (estimate._tag !== "Reverts") return {}
  const { reason } = estimate
  return { would_revert: true, ...(reason === undefined ? {} : { revert_reason: reason }) }
}

const shortfall = (cost: bigint, { relayer }: Rules, known: Known): Violation | undefined => {
  const { balance, reserved, market, noopDataFee } = known
  const minBalance = relayer.policies?.min_balance ?? 0n
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

const tooLow = (price: Fees, { market }: Known): Violation | undefined => {
  const floor = floorOf(market)
  return maxFeeOf(price) < floor
    ? { field: "fees", message: `offers ${maxFeeOf(price)} wei per gas; the next block requires at least ${floor}` }
    : undefined
}

const reverts = ({ estimate }: Known, { simulate, gas_limit }: Request): Violation | undefined =>
  estimate._tag === "Reverts" && (simulate ?? gas_limit === undefined)
    ? { field: "data", message: "the call reverts now" }
    : undefined

/** `violations` are the reasons for which a send would be refused whatever the chain says. */
export const simulationOf = (
  request: Request,
  rules: Rules,
  known: Known,
  violations: ReadonlyArray<Violation>
): Simulation => {
  const { market, balance, reserved, estimate, dataFee } = known
  const { policies } = rules.relayer
  const type = priceType({ isEip1559: rules.numbers.isEip1559 && policies?.eip1559_pricing !== false })
  const gas = gasOf(request, rules, known)
  const offer = (speed: Speed): Fees => atMost(priceOf(market, speed, type), policies?.gas_price_cap)
  const costAt = (fees: Fees) => costOf({ fees, ...chargesOf(gas ?? transactionGas, known) }, request.value)
  const shownAs = (fees: Fees) => ({
    ...feeFields(fees),
    max_cost: costAt(fees)
  })
  const price = givenFees(request) ?? offer(speedOf(request))
  const found = [
    ...violations,
    reverts(known, request),
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
