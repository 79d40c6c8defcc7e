// Hexadecimal numbers of Ethereum's JSON-RPC.
import { Schema, SchemaTransformation } from "effect"

const Hex = Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{1,64}$/u, { expected: "a hexadecimal quantity" }))

/** A quantity from 0 to `maximum`. */
const quantity = (maximum: bigint) =>
  Hex.pipe(
    Schema.decodeTo(
      Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum })),
      SchemaTransformation.transform({
        decode: (hex: string) => BigInt(hex),
        encode: (value: bigint) => `0x${value.toString(16)}`
      })
    )
  )

export const Uint64 = quantity(2n ** 64n - 1n)

export const Uint128 = quantity(2n ** 128n - 1n)
