// The metrics that only lanes of evm have.
import { Metric } from "effect"

const transactionFeesPaid = Metric.counter("transaction_fees_paid_gwei_total", {
  description: "Fees that confirmed and reverted transactions have paid, in gwei.",
  incremental: true
})

export const all = [transactionFeesPaid]

/** Wei per gwei. */
const gwei = 10 ** 9

/** In wei. */
export const countFee = (paid: bigint) => Metric.update(transactionFeesPaid, Number(paid) / gwei)
