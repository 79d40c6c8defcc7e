// Integers of evm requests, without loss: a JSON number, a decimal string or a 0x-hex string. Responses use strings.
import { Schema, SchemaTransformation } from "effect"
import { integerIn } from "../request/Integer.ts"

const evmInteger = (minimum: bigint, maximum: bigint, unit?: string) =>
  integerIn({
    minimum,
    maximum,
    ...(unit === undefined ? {} : { unit }),
    text: /^(0|[1-9]\d{0,77}|0x[0-9a-fA-F]{1,64})$/,
    forms: "a number, a decimal string or a 0x-hex string"
  })

/** Wei: 0 to 2^256−1, the range of the chain. */
export const Wei = evmInteger(0n, 2n ** 256n - 1n, "wei")

/** Wei per gas: 0 to 2^128−1, as the cap of a policy. */
export const WeiPerGas = evmInteger(0n, 2n ** 128n - 1n, "wei")

/** Gas: 1 to 2^53−1, because responses show it as a JSON number. */
export const GasLimit = evmInteger(1n, BigInt(Number.MAX_SAFE_INTEGER))

/** Wei as responses show it: `0x` and hex digits. */
export const HexWei = Schema.String.check(
  Schema.isPattern(/^0x(0|[1-9a-f][0-9a-f]{0,63})$/u, { expected: "0x and hex digits" })
).pipe(
  Schema.decodeTo(
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 256n - 1n })),
    SchemaTransformation.transform<bigint, string>({ decode: BigInt, encode: (wei) => `0x${wei.toString(16)}` })
  )
)
