// Payments of top-ups on evm: a transfer without data, what it costs with estimated gas, and whether its payer has it.
import { DateTime, Effect } from "effect"
import type { Sender } from "../../../server/transactions/Intake.ts"
import type { Transfers } from "../../../server/transactions/Transfers.ts"
import { evmTermsOf } from "../rules/Admission.ts"
import type { Evm } from "../rules/Evm.ts"
import type { SendEvmTransaction } from "../rules/EvmSchemas.ts"

/** Milliseconds after which a payment of a top-up is given up. The next check decides anew, with the balance of then. */
const topUpDeadline = 30 * 60_000

/** Gas that a payment may use in its quote if the policy of the payer estimates nothing. Executors of accounts use less to take ether. */
const topUpGas = 100_000n

type EvmTransfers = Transfers<Evm, Sender<Evm>>

type Simulate = (
  body: SendEvmTransaction,
  sender: Sender<Evm>,
  limits: { readonly limits: undefined; readonly forbidden: undefined }
) => Effect.Effect<Evm["simulation"], Effect.Error<ReturnType<EvmTransfers["quote"]>>>

/**
 * Plain payments. The gas is estimated, because the account that gets one can have code. That code could burn any amount of gas when the payment
 * is sent: it gets as much as in the quote, and the payment is not signed if it needs more by then.
 */
export const makeEvmTransfers = (simulate: Simulate): EvmTransfers => ({
  bodyOf: ({ amount, executionLimit, to }, { target }, now) => {
    const limit = executionLimit ?? (evmTermsOf(target).estimatesGas ? undefined : topUpGas)
    return Effect.succeed({
      to,
      value: amount,
      valid_until: DateTime.makeUnsafe(now + topUpDeadline),
      ...(limit === undefined ? {} : { gas_limit: limit, simulate: true })
    })
  },
  quote: Effect.fnUntraced(function* ({ amount }, body, sender) {
    const simulated = yield* simulate(body, sender, { limits: undefined, forbidden: undefined })
    const { gas_limit, is_accepted, price, problems } = simulated
    const fee = price === undefined ? 0n : price.max_cost - amount
    if (!is_accepted || price === undefined || problems.some(({ field }) => field !== "balance")) {
      return { fee, problem: "refused" }
    }
    const quoted = { fee, ...(gas_limit === undefined ? {} : { executionLimit: BigInt(gas_limit) }) }
    return problems.length > 0 ? { ...quoted, problem: "short" } : quoted
  })
})
