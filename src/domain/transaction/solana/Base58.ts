// Base58, the text form of keys, blockhashes and signatures.

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

const values = new Map([...alphabet].map((character, value) => [character.charCodeAt(0), value]))

/** Bytes of a key and of a blockhash. */
export const keyBytes = 32

/** Base 58 to the fifth power: five digits at once stay exact in a double. */
const limbDigits = 5
const limbBase = 58 ** limbDigits

/** Each zero byte in front is a digit 1. */
const leadingZeros = (bytes: Uint8Array): number => {
  const first = bytes.findIndex((byte) => byte !== 0)
  return first < 0 ? bytes.length : first
}

/** Two bytes at once: a limb times 65,536 stays exact in a double. The first one alone if their number is odd. */
const pairsOf = (bytes: Uint8Array): ReadonlyArray<number> => {
  const odd = bytes.length % 2
  const pairs: Array<number> = odd === 1 ? [bytes[0] ?? 0] : []
  for (let index = odd; index < bytes.length; index += 2) {
    pairs.push((bytes[index] ?? 0) * 256 + (bytes[index + 1] ?? 0))
  }
  return pairs
}

/** `%` of doubles takes five times as long as a division and a subtraction. */
export const encode = (bytes: Uint8Array): string => {
  const limbs: Array<number> = []
  for (const pair of pairsOf(bytes)) {
    let carry = pair
    for (let index = 0; index < limbs.length; index++) {
      const value = (limbs[index] ?? 0) * 65_536 + carry
      carry = Math.floor(value / limbBase)
      limbs[index] = value - carry * limbBase
    }
    if (carry > 0) limbs.push(carry)
  }
  let digits = ""
  for (const limb of limbs) {
    let rest = limb
    for (let digit = 0; digit < limbDigits; digit++) {
      const higher = Math.floor(rest / 58)
      digits = alphabet.charAt(rest - higher * 58) + digits
      rest = higher
    }
  }
  return "1".repeat(leadingZeros(bytes)) + digits.replace(/^1+/, "")
}

/** Values of a limb of two bytes. */
const pairBase = 65_536

const leadingOnes = (text: string): number => {
  let count = 0
  while (text[count] === "1") count++
  return count
}

/** Undefined: the text is not the base58 form of exactly `size` bytes, an even number. */
export const decode = (text: string, size: number = keyBytes): Uint8Array | undefined => {
  /** The last two bytes come first. */
  const pairs: Array<number> = Array.from({ length: size / 2 }, () => 0)
  for (let from = 0; from < text.length; from += limbDigits) {
    let [carry, base] = [0, 1]
    for (let index = from; index < Math.min(from + limbDigits, text.length); index++) {
      const value = values.get(text.charCodeAt(index))
      if (value === undefined) return undefined
      carry = carry * 58 + value
      base *= 58
    }
    for (let index = 0; index < pairs.length; index++) {
      const value = (pairs[index] ?? 0) * base + carry
      carry = Math.floor(value / pairBase)
      pairs[index] = value - carry * pairBase
    }
    if (carry > 0) return undefined
  }
  const bytes = new Uint8Array(size)
  for (const [index, pair] of pairs.entries()) {
    bytes[size - 2 * index - 2] = pair >> 8
    bytes[size - 2 * index - 1] = pair & 255
  }
  // Only zero bytes in front may have more than one text.
  return leadingOnes(text) === leadingZeros(bytes) ? bytes : undefined
}
