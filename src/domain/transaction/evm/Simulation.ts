// What a send would do and cost now. Nothing is stored or sent.
import { Schema } from "effect"
import { field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"

const Decimal = Schema.BigIntFromString

const Price = Schema.Struct({
  gas_price: shown(Decimal, "Gas price of a legacy transaction, in wei.", "30000000000"),
  max_fee_per_gas: shown(Decimal, "Highest total fee in wei per gas.", "40000000000"),
  max_priority_fee_per_gas: shown(Decimal, "Highest priority fee in wei per gas.", "1000000000"),
  max_cost: field(
    Decimal,
    "Most wei that value, gas, data and operator fee can cost at this price.",
    "1000840000000000000"
  )
}).annotate({
  identifier: "SimulatedPrice",
  description: "Price that a transaction would offer now, and its highest cost."
})

const Problem = Schema.Struct({
  field: field(Schema.String, "Field of the request, or `balance`.", "to"),
  message: field(Shown.Words, "What is wrong with it.", "is not in whitelist_receivers of the relayer's policy")
}).annotate({ identifier: "SimulationProblem", description: "Why the transaction would be refused, held or fail." })

export const Simulation = Schema.Struct({
  is_accepted: field(Schema.Boolean, "Whether a send of this request would be accepted now.", true),
  problems: field(Schema.Array(Problem), "Why it would be refused, held, or fail.", []),
  would_revert: shown(Schema.Boolean, "Whether the call reverts now. Absent if no provider answered.", false),
  revert_reason: shown(Shown.Words, "Decoded reason of the revert.", "transfer amount exceeds balance"),
  gas_used: shown(Decimal, "Gas that the call uses now.", "21000"),
  gas_limit: shown(Schema.Natural, "Gas limit that the transaction would get.", 21_000),
  price: shown(Price, "At the price in the request, or at the price of its speed.", {
    gas_price: "30000000000",
    max_cost: "630000000000000"
  }),
  prices: shown(
    Schema.Struct({
      safeLow: field(Price, "At the speed `safeLow`."),
      average: field(Price, "At the speed `average`."),
      fast: field(Price, "At the speed `fast`."),
      fastest: field(Price, "At the speed `fastest`.")
    }).annotate({ identifier: "SimulatedPrices", description: "Per speed, within the relayer's cap." }),
    "Per speed, within the relayer's cap.",
    {
      safeLow: { gas_price: "30000000000", max_cost: "630000000000000" },
      average: { gas_price: "30000000000", max_cost: "630000000000000" },
      fast: { gas_price: "30000000000", max_cost: "630000000000000" },
      fastest: { gas_price: "30000000000", max_cost: "630000000000000" }
    }
  ),
  data_fee: shown(
    Decimal,
    "Most wei that a rollup can charge for the data, besides gas: twice what it charges now. Absent if the chain includes it in gas.",
    "120000000000"
  ),
  operator_fee: shown(
    Decimal,
    "Most wei that an OP-stack chain can charge for its operator, besides gas. Absent if it charges none.",
    "4000000000"
  ),
  base_fee: shown(Decimal, "Base fee of the next block, in wei per gas.", "25000000000"),
  balance: shown(Decimal, "Wei on the account.", "2000000000000000000"),
  reserved: field(Decimal, "Wei that the open transactions of the account can cost.", "0")
}).annotate({ identifier: "TransactionSimulation", description: "What a send would do and cost now." })
export type Simulation = typeof Simulation.Type
