// Quantities of JSON-RPC.
export type Hex = `0x${string}`

export const hex = (value: number | bigint): Hex => `0x${value.toString(16)}`
