// What a send of solana would do and cost now. Nothing is stored or sent.
import { Schema } from "effect"
import { field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"

export const SolanaSimulation = Schema.Struct({
  units_consumed: shown(Schema.Natural, "Compute units that it uses now.", 18_000),
  compute_unit_limit: shown(Schema.Natural, "Compute units that the transaction would get.", 20_100),
  fees: field(
    Schema.Struct({
      safeLow: field(Shown.Digits, "At the speed `safeLow`.", "5000"),
      average: field(Shown.Digits, "At the speed `average`.", "5010"),
      fast: field(Shown.Digits, "At the speed `fast`.", "5020"),
      fastest: field(Shown.Digits, "At the speed `fastest`.", "5100")
    }).annotate({ identifier: "SolanaFees", description: "Fee in lamports per speed, within the cap." }),
    "Fee in lamports per speed, within the cap. All are equal if the request sets its price, or is prebuilt.",
    { safeLow: "5000", average: "5010", fast: "5020", fastest: "5100" }
  ),
  max_fee: field(Shown.Digits, "Fee in lamports that the transaction would offer.", "5020"),
  lamports_out: shown(
    Schema.BigIntFromString,
    "Lamports that the account has less after the simulation, the fee included.",
    "1005020"
  ),
  out: field(Shown.Digits, "Lamports that the request declares to take from the account, besides the fee.", "1000000"),
  spent: field(
    Shown.Digits,
    "Value in lamports that the request spends, wrapped SOL included. Limits of API keys and `max_lamports_out` count it.",
    "1000000"
  ),
  logs: field(Schema.Array(Schema.String), "Logs of the programs, at most 10 kB.", ["Program log: hello"]),
  error: shown(Shown.Words, "Error of the simulation, as the chain has it.", '{"InstructionError":[0,{"Custom":1}]}'),
  verdict: field(
    Schema.Array(Shown.Words),
    "Codes of what keeps a send of this request from being accepted or signed now. Empty: nothing.",
    []
  )
}).annotate({ identifier: "SolanaSimulation", description: "What a send would do and cost now." })
export type SolanaSimulation = typeof SolanaSimulation.Type
