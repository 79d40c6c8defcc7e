// Converts amounts from the smallest unit of a chain to the unit that people use: 1.5 ETH. The console uses this
// file, so it imports only types: a browser loads nothing else for it.
import type { NetworkType } from "../network/Network.ts"

/** Digits after the point of the native token. The symbol of an evm network is one of its fields. */
export const native = {
  evm: { decimals: 18, smallest: "wei" },
  solana: { symbol: "SOL", decimals: 9, smallest: "lamport" },
  stellar: { symbol: "XLM", decimals: 7, smallest: "stroop" }
} as const satisfies Readonly<
  Record<NetworkType, { readonly symbol?: string; readonly decimals: number; readonly smallest: string }>
>

/** The exact amount as a decimal number of whole units: `1.5`. */
export const exact = (value: bigint, decimals: number): string => {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, "0")
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "")
  return `${value < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`
}
