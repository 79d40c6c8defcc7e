// How the ledger stores what only solana has: JSON in which amounts are strings of digits.
import { Schema, SchemaTransformation } from "effect"
import { Speed } from "../TransactionValues.ts"
import { SolanaInstruction } from "./SendSolanaTransaction.ts"

const Amount = Schema.BigIntFromString
const optional = Schema.optionalKey

export const RequestJson = Schema.Struct({
  transaction: optional(Schema.String),
  instructions: optional(Schema.Array(SolanaInstruction)),
  speed: optional(Speed),
  compute_unit_limit: optional(Schema.Int),
  compute_unit_price: optional(Amount),
  max_fee_lamports: optional(Amount),
  address_lookup_tables: optional(Schema.Array(Schema.String)),
  version: optional(Schema.Literal(1)),
  simulate: optional(Schema.Boolean),
  wait_for_funds: optional(Schema.Boolean),
  max_value: optional(Amount)
})

export const OfferJson = Schema.Struct({
  blockhash: Schema.String,
  bound: Schema.Int,
  signedSlot: Schema.Int,
  computeUnitLimit: optional(Schema.Int),
  computeUnitPrice: Amount,
  isLast: optional(Schema.Literal(true)),
  fee: Amount,
  out: Amount,
  taken: optional(Schema.String)
})

export const FactsJson = Schema.Struct({
  isPrebuilt: Schema.Boolean,
  isRefreshable: Schema.Boolean,
  given: optional(Schema.Struct({ hash: Schema.String, offer: optional(OfferJson) }))
})

export const CountersJson = Schema.Struct({
  anchor: optional(Schema.Struct({ hash: Schema.String, slot: Schema.Int })),
  restore: optional(Schema.Struct({ bound: Schema.Int, slot: optional(Schema.Int) })),
  since: optional(Schema.Struct({ slot: Schema.Int, hash: optional(Schema.String) }))
})

export const RefusalJson = Schema.Struct({ class: Schema.Literal("permanent") })

const Details = Schema.Struct({ error: optional(Schema.String) })

const StoredReceipt = Schema.Struct({ slot: Schema.Int, isSuccess: Schema.Boolean, paid: Amount, ...Details.fields })

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
      decode: ({ slot, isSuccess, paid, ...details }: (typeof StoredReceipt)["Type"]) => ({
        height: slot,
        isSuccess,
        paid,
        details
      }),
      encode: ({ height, details, ...receipt }: (typeof ReceiptShape)["Type"]) => ({
        slot: height,
        ...receipt,
        ...details
      })
    })
  )
)
