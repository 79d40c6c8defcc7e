// StrKey, the text form of keys of stellar, with its checksum.

export type AddressKind = "account" | "muxed" | "contract" | "seed"

/** The first five bits of a version byte select the letter: 6 << 3 is `G`. */
const addressVersions: ReadonlyMap<number, AddressKind> = new Map([
  [6 << 3, "account"],
  [12 << 3, "muxed"],
  [2 << 3, "contract"],
  [18 << 3, "seed"]
])

/** Bytes of a key, and of the id that a muxed account has behind its key. */
const keyBytes = 32
const idBytes = 8
const checksumBytes = 2

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

/** Undefined: not base32, a letter too many, or bits are left over that are not zero. */
const fromBase32 = (text: string): Uint8Array | undefined => {
  const bytes: Array<number> = []
  let buffer = 0
  let bits = 0
  for (const letter of text) {
    const value = alphabet.indexOf(letter)
    if (value === -1) return undefined
    buffer = (buffer << 5) | value
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push(buffer >> bits)
    buffer &= (1 << bits) - 1
  }
  return bits < 5 && buffer === 0 ? new Uint8Array(bytes) : undefined
}

const toBase32 = (bytes: Uint8Array): string => {
  let text = ""
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet.charAt(buffer >> bits)
      buffer &= (1 << bits) - 1
    }
  }
  return bits === 0 ? text : text + alphabet.charAt(buffer << (5 - bits))
}

/** CRC16-XModem. */
const checksumOf = (bytes: Uint8Array): number => {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff
  }
  return crc
}

export interface ParsedAddress {
  readonly kind: AddressKind
  readonly key: Uint8Array
  /** The id in a muxed address. Other addresses have none. */
  readonly id?: bigint
}

const addressSizes: Readonly<Record<AddressKind, number>> = {
  account: keyBytes,
  muxed: keyBytes + idBytes,
  contract: keyBytes,
  seed: keyBytes
}

const idOf = (bytes: Uint8Array): bigint => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

/** Undefined: no address, or one with a wrong checksum. */
export const parseAddress = (text: string): ParsedAddress | undefined => {
  const bytes = fromBase32(text)
  const kind = bytes && addressVersions.get(bytes[0] ?? 0)
  if (bytes === undefined || kind === undefined) return undefined
  if (bytes.length !== 1 + addressSizes[kind] + checksumBytes) return undefined
  const body = bytes.subarray(0, -checksumBytes)
  const [low = 0, high = 0] = bytes.subarray(-checksumBytes)
  if (((high << 8) | low) !== checksumOf(body)) return undefined
  const key = body.slice(1, 1 + keyBytes)
  return kind === "muxed" ? { kind, key, id: idOf(body.subarray(1 + keyBytes)) } : { kind, key }
}

/** The address of an account. */
export const accountAddress = (key: Uint8Array): string => {
  const body = new Uint8Array([6 << 3, ...key])
  const crc = checksumOf(body)
  return toBase32(new Uint8Array([...body, crc & 0xff, crc >> 8]))
}

/** The account that an address means: that of a muxed address without its id. Undefined: a contract, or no address. */
export const accountMeantBy = (address: string): string | undefined => {
  const parsed = parseAddress(address)
  if (parsed?.kind === "account") return address
  return parsed?.kind === "muxed" ? accountAddress(parsed.key) : undefined
}
