// Integers of stellar, without loss: a JSON number or a decimal string. Sequences and amounts exceed 2^53.
import { Schema, SchemaTransformation } from "effect"
import { integerIn } from "../../request/ExactJson.ts"

export const integerFrom = (minimum: bigint, maximum: bigint) =>
  integerIn({ minimum, maximum, text: /^(0|-?[1-9]\d{0,38})$/ })

export const maxInt64 = 2n ** 63n - 1n

/** The service uses no higher sequence: a lane stores the sequence after one that is in use, which has to be an int64, too. */
export const lastSequence = maxInt64 - 1n

export const maxUint64 = 2n ** 64n - 1n

export const Int64 = integerFrom(-maxInt64 - 1n, maxInt64)
export const Uint64 = integerFrom(0n, maxUint64)

/** Stroops of an amount or a fee. One XLM has 10,000,000. */
export const Stroops = integerFrom(1n, maxInt64)

/** The number of an account's transaction. It starts at the number of a ledger × 2^32, which is above 2^53. */
export const Sequence = Schema.String.check(
  Schema.isPattern(/^(0|[1-9]\d{0,18})$/u, { expected: "a decimal string" })
).pipe(
  Schema.decodeTo(
    Schema.BigInt.check(
      Schema.isBetweenBigInt({ minimum: 0n, maximum: maxInt64 }, { expected: `a decimal string up to ${maxInt64}` })
    ),
    SchemaTransformation.transform<bigint, string>({ decode: BigInt, encode: String })
  )
)
