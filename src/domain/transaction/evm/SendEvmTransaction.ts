// The body of a send, and of a replacement, field by field. `Consistency.ts` checks fields against each other, and
// `Admission.ts` against relayer, network and time.
import { Effect, Schema, Struct } from "effect"
import { maxDataBytes, maxNonce } from "./EvmNumbers.ts"
import { batchOf } from "../TransactionRequests.ts"
import { ExternalId, Speed } from "../TransactionValues.ts"
import { CheckedEvmAddress } from "../../chain/Address.ts"
import { GasLimit, Wei, WeiPerGas } from "../../chain/Amount.ts"
import { field } from "../../request/Field.ts"
import { Instant, maybe } from "../../request/Text.ts"

const EvmData = Schema.String.check(
  Schema.isPattern(/^0x([0-9a-fA-F]{2})*$/u, { expected: "0x and two hex digits per byte" }),
  Schema.isMaxLength(2 + 2 * maxDataBytes, { expected: `at most ${maxDataBytes} bytes` })
)

const doc = <const T>(description: string, example: T) => ({ description, examples: [example] })

const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const fields = {
  // `Admission.ts` checks the checksum of mixed case.
  to: maybe(
    CheckedEvmAddress,
    doc("Receiver, or contract that is called. If absent, `data` creates a contract.", address)
  ),
  value: field(Wei, "Wei that is sent. The default is 0.", "1000000000000000").pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(0))
  ),
  data: maybe(EvmData, doc("Call data, or init code of a creation.", "0xa9059cbb")),
  gas_limit: maybe(GasLimit, doc("Gas limit. If absent, it is estimated.", 21_000)),
  gas_price: maybe(
    WeiPerGas,
    doc(
      "Gas price of a legacy transaction, in wei. It cannot be combined with the other fees or `speed`.",
      "30000000000"
    )
  ),
  max_fee_per_gas: maybe(WeiPerGas, doc("Highest total fee in wei per gas (EIP-1559).", "40000000000")),
  max_priority_fee_per_gas: maybe(WeiPerGas, doc("Highest priority fee in wei per gas (EIP-1559).", "1000000000")),
  speed: maybe(Speed, doc("How soon it should be mined, if no fees are given. The default is `fast`.", "fast")),
  valid_until: maybe(Instant, doc("Deadline. If absent, 8 hours; at most 7 days.", "2026-11-22T18:00:00.000Z")),
  not_before: maybe(Instant, doc("Moment before which the transaction gets no nonce.", "2026-11-22T12:00:00.000Z")),
  nonce: maybe(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxNonce })),
    doc("Nonce that the transaction must have: with another one it is never executed.", 7)
  ),
  external_id: maybe(ExternalId, doc("The caller's identifier, unique per relayer.", "order-1234")),
  priority: maybe(Schema.Literals([-1, 0, 1]), doc("Order among the relayer's transactions. The default is 0.", 1)),
  wait_for_funds: maybe(
    Schema.Boolean,
    doc(
      "Whether it waits for funds until its deadline. The default is false: it fails after ten minutes without them.",
      true
    )
  ),
  simulate: maybe(
    Schema.Boolean,
    doc("Whether the call is estimated before it is sent. The default is true if `gas_limit` is absent.", false)
  )
}

export const SendEvmTransaction = Schema.Struct(fields).annotate({
  identifier: "SendEvmTransactionRequest",
  description: "A transaction to send."
})
export type SendEvmTransaction = typeof SendEvmTransaction.Type

/** A replacement keeps its place and its name. */
export const ReplaceEvmTransaction = Schema.Struct({
  ...Struct.omit(fields, ["not_before", "nonce", "external_id", "priority"]),
  valid_until: maybe(Instant, doc("Deadline. If absent, the former one stays.", "2026-11-22T18:00:00.000Z")),
  wait_for_funds: maybe(
    Schema.Boolean,
    doc("Whether it waits for funds until its deadline. If absent, this stays as it was.", true)
  )
}).annotate({
  identifier: "ReplaceEvmTransactionRequest",
  description: "What a transaction does instead."
})
export type ReplaceEvmTransaction = typeof ReplaceEvmTransaction.Type

export const SendEvmBatch = batchOf(SendEvmTransaction, {
  to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  value: "1"
}).annotate({ identifier: "SendEvmTransactionBatchRequest", description: "Transactions that are accepted together." })
