// How requests, fees, receipts and refusals are stored: JSON in which amounts are strings of digits.
import { Schema } from "effect"
import { Speed } from "../../domain/transaction/Speed.ts"
import type { Request } from "../../domain/transaction/Transaction.ts"

const Amount = Schema.BigIntFromString

export const RequestJson = Schema.Struct({
  to: Schema.optionalKey(Schema.String),
  value: Amount,
  data: Schema.optionalKey(Schema.String),
  gas_limit: Schema.optionalKey(Amount),
  gas_price: Schema.optionalKey(Amount),
  max_fee_per_gas: Schema.optionalKey(Amount),
  max_priority_fee_per_gas: Schema.optionalKey(Amount),
  speed: Schema.optionalKey(Speed),
  simulate: Schema.optionalKey(Schema.Boolean),
  wait_for_funds: Schema.optionalKey(Schema.Boolean)
})

export const FeesJson = Schema.Union([
  Schema.Struct({ type: Schema.Literal("legacy"), gasPrice: Amount }),
  Schema.Struct({ type: Schema.Literal("eip1559"), maxFee: Amount, tip: Amount })
])

export const ReceiptJson = Schema.Struct({
  blockNumber: Schema.Int,
  blockHash: Schema.String,
  isSuccess: Schema.Boolean,
  gasUsed: Amount,
  effectiveGasPrice: Amount,
  dataFee: Schema.optionalKey(Amount),
  operatorFee: Schema.optionalKey(Amount),
  contractAddress: Schema.optionalKey(Schema.String),
  revertReason: Schema.optionalKey(Schema.String)
})

export const RefusalJson = Schema.Struct({
  class: Schema.Literals(["nonce", "bump", "price", "order", "funds", "window", "permanent", "unknown"]),
  minimumNeeded: Schema.optionalKey(Amount)
})

const encode = Schema.encodeSync(RequestJson)

export const requestText = (request: Request): string => JSON.stringify(encode(request))
