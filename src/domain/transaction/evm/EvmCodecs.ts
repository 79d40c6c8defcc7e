// How the ledger stores what only evm has: JSON in which amounts are strings of digits.
import { Schema, SchemaTransformation } from "effect"
import type { Priced } from "./Evm.ts"
import { paidOf } from "./Funds.ts"
import { Speed } from "../TransactionValues.ts"

const Amount = Schema.BigIntFromString
const optional = Schema.optionalKey

export const RequestJson = Schema.Struct({
  to: optional(Schema.String),
  value: Amount,
  data: optional(Schema.String),
  gas_limit: optional(Amount),
  gas_price: optional(Amount),
  max_fee_per_gas: optional(Amount),
  max_priority_fee_per_gas: optional(Amount),
  speed: optional(Speed),
  simulate: optional(Schema.Boolean),
  wait_for_funds: optional(Schema.Boolean)
})

const charges = { gasLimit: Amount, rollupFee: optional(Amount) }

const StoredOffer = Schema.Union([
  Schema.Struct({ type: Schema.Literal("legacy"), gasPrice: Amount, ...charges }),
  Schema.Struct({ type: Schema.Literal("eip1559"), maxFee: Amount, tip: Amount, ...charges })
])

const Fees = Schema.Union([
  Schema.Struct({ type: Schema.Literal("legacy"), gasPrice: Schema.BigInt }),
  Schema.Struct({ type: Schema.Literal("eip1559"), maxFee: Schema.BigInt, tip: Schema.BigInt })
])

const Offer = Schema.Struct({ fees: Fees, gasLimit: Schema.BigInt, rollupFee: optional(Schema.BigInt) })

export const OfferJson = StoredOffer.pipe(
  Schema.decodeTo(
    Offer,
    SchemaTransformation.transform({
      decode: ({ gasLimit, rollupFee, ...fees }: (typeof StoredOffer)["Type"]): Priced => ({
        fees,
        gasLimit,
        ...(rollupFee === undefined ? {} : { rollupFee })
      }),
      encode: ({ fees, ...charges }: Priced) => ({ ...fees, ...charges })
    })
  )
)

const StoredReceipt = Schema.Struct({
  blockNumber: Schema.Int,
  blockHash: optional(Schema.String),
  isSuccess: Schema.Boolean,
  /** Absent in receipts of earlier versions: what the gas and its price say. */
  paid: optional(Amount),
  gasUsed: Amount,
  effectiveGasPrice: Amount,
  dataFee: optional(Amount),
  operatorFee: optional(Amount),
  contractAddress: optional(Schema.String),
  revertReason: optional(Schema.String),
  isOutOfGas: optional(Schema.Boolean)
})

const ReceiptDetails = Schema.Struct({
  gasUsed: Schema.BigInt,
  effectiveGasPrice: Schema.BigInt,
  dataFee: optional(Schema.BigInt),
  operatorFee: optional(Schema.BigInt),
  contractAddress: optional(Schema.String),
  revertReason: optional(Schema.String),
  isOutOfGas: optional(Schema.Boolean)
})

const ReceiptShape = Schema.Struct({
  height: Schema.Int,
  blockHash: optional(Schema.String),
  isSuccess: Schema.Boolean,
  paid: Schema.BigInt,
  details: ReceiptDetails
})

export const ReceiptJson = StoredReceipt.pipe(
  Schema.decodeTo(
    ReceiptShape,
    SchemaTransformation.transform({
      decode: ({
        blockNumber,
        blockHash,
        isSuccess,
        paid,
        ...details
      }: (typeof StoredReceipt)["Type"]): (typeof ReceiptShape)["Type"] => ({
        height: blockNumber,
        ...(blockHash === undefined ? {} : { blockHash }),
        isSuccess,
        paid: paid ?? paidOf(details),
        details
      }),
      encode: ({ height, details, ...receipt }: (typeof ReceiptShape)["Type"]): (typeof StoredReceipt)["Type"] => ({
        blockNumber: height,
        ...receipt,
        ...details
      })
    })
  )
)

export const RefusalJson = Schema.Struct({
  class: Schema.Literals(["nonce", "bump", "price", "order", "funds", "window", "permanent", "unknown"]),
  minimumNeeded: optional(Amount),
  words: optional(Schema.String),
  times: optional(Schema.Int)
})
