// A signed transaction as nodes show it before it is mined. viem is loaded when it is first needed.
import { Effect } from "effect"
import { signatureOf } from "../../../../domain/transaction/evm/SignedBytes.ts"

const load = Effect.promise(() => import("viem/utils"))

const hex = (value: bigint | number | undefined): string => `0x${(value ?? 0).toString(16)}`

const types = { legacy: "0x0", eip2930: "0x1", eip1559: "0x2", eip4844: "0x3", eip7702: "0x4" } as const

/** `hash` and `from` in lower case. */
export const of = Effect.fnUntraced(function* (hash: string, from: string, raw: Uint8Array) {
  const { parseTransaction } = yield* load
  const bytes: `0x${string}` = `0x${Buffer.from(raw).toString("hex")}`
  const fields = parseTransaction(bytes)
  const { r, s, v } = signatureOf(raw)
  const isLegacy = fields.type === "legacy"
  const parity = isLegacy ? v - 27 : v
  const price = fields.gasPrice ?? fields.maxFeePerGas
  return {
    hash,
    type: types[fields.type ?? "legacy"],
    nonce: hex(fields.nonce),
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
    from,
    to: fields.to?.toLowerCase() ?? null,
    value: hex(fields.value),
    gas: hex(fields.gas),
    gasPrice: hex(price),
    ...(isLegacy
      ? {}
      : {
          maxFeePerGas: hex(fields.maxFeePerGas),
          maxPriorityFeePerGas: hex(fields.maxPriorityFeePerGas),
          accessList: fields.accessList ?? [],
          yParity: hex(parity)
        }),
    input: fields.data ?? "0x",
    chainId: hex(fields.chainId),
    v: hex(isLegacy && fields.chainId !== undefined ? 35 + 2 * fields.chainId + parity : v),
    r: hex(BigInt(`0x${r}`)),
    s: hex(BigInt(`0x${s}`))
  }
})
