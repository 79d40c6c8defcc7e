// What a send of stellar would do and cost now. Nothing is stored or sent.
import { Schema } from "effect"
import { field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"

export const StellarSimulation = Schema.Struct({
  fee: shown(
    Schema.BigIntFromString,
    "Stroops that the first envelope would bid. Absent: more than its field can hold.",
    "250"
  ),
  inclusion_fee: field(Shown.Digits, "Stroops per operation that it would bid.", "250"),
  resource_fee: field(Shown.Digits, "Stroops of the fee that are for the resources of a call, with a margin.", "0"),
  max_fee: field(Shown.Digits, "Stroops that an envelope of this request may cost.", "1000000"),
  fits: field(Schema.Boolean, "Whether `fee` is at most `max_fee`.", true),
  out: field(
    Shown.Digits,
    "Stroops that the operations take from the account at most, besides the fee. Limits of API keys count it.",
    "10000000"
  ),
  auth: field(Schema.Array(Schema.String), "Authorizations that the call asks for, as base64 of their XDR.", []),
  return_value: shown(Schema.String, "What the call returns, as base64 of an `ScVal`.", "AAAAAwAAAAE="),
  needs_restore: field(Schema.Boolean, "Whether archived entries have to be restored first.", false),
  balance_change: shown(
    Schema.BigIntFromString,
    "Stroops that the account has more after the simulation of a call, without the fee. Negative: less.",
    "-10000000"
  ),
  verdict: field(
    Schema.Array(Shown.Words),
    "Codes of what keeps a send of this request from being accepted or signed now. Empty: nothing.",
    []
  )
}).annotate({ identifier: "StellarSimulation", description: "What a send would do and cost now." })
export type StellarSimulation = typeof StellarSimulation.Type
