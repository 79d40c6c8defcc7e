// Reads the signature of a signed transaction from its bytes: the last three items of its RLP list.
import type { EvmSignature } from "./Signature.ts"

interface Item {
  readonly start: number
  readonly end: number
}

const numberIn = (bytes: Uint8Array, start: number, end: number): number =>
  bytes.subarray(start, end).reduce((value, byte) => value * 256 + byte, 0)

/** The start and the end of the content of the item at `offset` (Ethereum Yellow Paper, appendix B). */
const itemAt = (bytes: Uint8Array, offset: number): Item => {
  const prefix = bytes[offset] ?? 0
  if (prefix < 0x80) return { start: offset, end: offset + 1 }
  const short = prefix < 0xc0 ? 0x80 : 0xc0
  const length = prefix - short
  if (length <= 55) return { start: offset + 1, end: offset + 1 + length }
  const start = offset + 1 + (length - 55)
  return { start, end: start + numberIn(bytes, offset + 1, start) }
}

const itemsOf = (bytes: Uint8Array, { start, end }: Item): ReadonlyArray<Item> => {
  const items: Array<Item> = []
  for (let offset = start; offset < end;) {
    const item = itemAt(bytes, offset)
    items.push(item)
    offset = item.end
  }
  return items
}

/** EIP-155 puts the chain id into `v`; clients of this wire format expect 27 or 28 there. */
const legacyV = (v: number): number => (v >= 35 ? 27 + ((v - 35) % 2) : v)

/** `raw`: an evm transaction with its signature, legacy or typed (EIP-2718). */
export const signatureOf = (raw: Uint8Array): EvmSignature => {
  const isTyped = (raw[0] ?? 0) < 0xc0
  const [v, r, s] = itemsOf(raw, itemAt(raw, isTyped ? 1 : 0)).slice(-3)
  const hex = ({ start, end }: Item) => Buffer.from(raw.subarray(start, end)).toString("hex").padStart(64, "0")
  const none = { start: 0, end: 0 }
  // RLP writes 0 as an empty item.
  const number = v === undefined ? 0 : numberIn(raw, v.start, v.end)
  const parts = { r: hex(r ?? none), s: hex(s ?? none), v: isTyped ? number : legacyV(number) }
  return { ...parts, sig: `${parts.r}${parts.s}${parts.v.toString(16).padStart(2, "0")}` }
}
