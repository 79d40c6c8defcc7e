// The checksum of EIP-55: the case of the letters of an evm address, by keccak-256 of its digits.
import { keccak_256 } from "@noble/hashes/sha3.js"

/** The address with the case that EIP-55 gives its letters. */
export const toChecksum = (address: string): string => {
  const digits = address.slice(2).toLowerCase()
  const hash = keccak_256(new TextEncoder().encode(digits))
  const cased = [...digits].map((digit, index) => {
    const half = ((hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15
    return half >= 8 ? digit.toUpperCase() : digit
  })
  return `0x${cased.join("")}`
}

/** Letters in one case are no checksum. */
const isMixedCase = (address: string): boolean => /[a-f]/.test(address) && /[A-F]/.test(address.slice(2))

/** Whether an address claims a checksum that is not its own. */
export const hasWrongChecksum = (address: string): boolean => isMixedCase(address) && toChecksum(address) !== address
