// Integers in the data of instructions. Undefined: the data ends before.

const at = (data: Uint8Array, offset: number, bytes: number): bigint | undefined => {
  if (offset + bytes > data.length) return undefined
  let value = 0n
  for (let index = bytes - 1; index >= 0; index--) value = (value << 8n) | BigInt(data[offset + index] ?? 0)
  return value
}

export const u32 = (data: Uint8Array, offset: number): number | undefined => {
  const value = at(data, offset, 4)
  return value === undefined ? undefined : Number(value)
}

export const u64 = (data: Uint8Array, offset: number): bigint | undefined => at(data, offset, 8)
