// How the ledger stores what only stellar has: JSON in which amounts and sequences are strings of digits.
import { Schema, SchemaTransformation } from "effect"
import { Memo, StellarOperation } from "./StellarOperation.ts"

const Amount = Schema.BigIntFromString
const optional = Schema.optionalKey

const ChannelWork = Schema.Struct({
  kind: Schema.Literals(["create", "merge"]),
  addresses: Schema.Array(Schema.String)
})

const call = {
  operations: optional(Schema.Array(StellarOperation)),
  transaction_xdr: optional(Schema.String)
}

export const RequestJson = Schema.Struct({
  restore: optional(Schema.Struct({ for: Schema.String, call: Schema.Struct(call) })),
  channels: optional(ChannelWork),
  ...call,
  memo: optional(Memo),
  signed_auth_entry: optional(Schema.String),
  max_fee: optional(Amount),
  max_value: optional(Amount),
  restore_footprint: optional(Schema.Boolean),
  wait_for_funds: optional(Schema.Boolean)
})

const Guest = Schema.Struct({
  account: Schema.String,
  sequence: Amount,
  innerHash: Schema.String,
  maxTime: Schema.Int
})

export const FactsJson = Schema.Struct({ guest: optional(Guest), build: optional(Schema.String) })

/** Without what only the signature needed: the bytes have it. */
export const OfferJson = Schema.Struct({
  fee: Amount,
  rate: Amount,
  out: Amount,
  resourceFee: optional(Amount),
  maxTime: Schema.Int,
  maxLedger: optional(Schema.Int),
  seenLedger: Schema.Int,
  innerHash: optional(Schema.String)
})

export const RefusalJson = Schema.Struct({
  class: Schema.Literals(["not_now", "look", "too_late", "fee", "funds", "resources", "permanent"]),
  needed: optional(Amount),
  result: optional(Schema.String),
  times: optional(Schema.Int)
})

export const CountersJson = Schema.Struct({
  stage: optional(Schema.Literals(["creating", "ready", "draining"]))
})

const Details = Schema.Struct({
  result: Schema.String,
  resultCode: optional(Schema.String),
  operationResults: optional(Schema.Array(Schema.String)),
  contractError: optional(Schema.String),
  hash: Schema.String
})

const StoredReceipt = Schema.Struct({ ledger: Schema.Int, isSuccess: Schema.Boolean, paid: Amount, ...Details.fields })

const ReceiptShape = Schema.Struct({
  height: Schema.Int,
  isSuccess: Schema.Boolean,
  paid: Schema.BigInt,
  details: Details
})

export const ReceiptJson = StoredReceipt.pipe(
  Schema.decodeTo(
    ReceiptShape,
    SchemaTransformation.transform({
      decode: ({ ledger, isSuccess, paid, ...details }: (typeof StoredReceipt)["Type"]) => ({
        height: ledger,
        isSuccess,
        paid,
        details
      }),
      encode: ({ height, details, ...receipt }: (typeof ReceiptShape)["Type"]) => ({
        ledger: height,
        ...receipt,
        ...details
      })
    })
  )
)
