// Addresses of stellar: base32 of a version byte, a payload and a checksum (SEP-23).
import { Schema } from "effect"

type Kind = "account" | "muxed" | "contract" | "seed"

/** The first five bits of a version byte select the letter: 6 << 3 is `G`. */
const versions: ReadonlyMap<number, Kind> = new Map([
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

export interface Parsed {
  readonly kind: Kind
  readonly key: Uint8Array
  /** The id in a muxed address. Other addresses have none. */
  readonly id?: bigint
}

const sizes: Readonly<Record<Kind, number>> = {
  account: keyBytes,
  muxed: keyBytes + idBytes,
  contract: keyBytes,
  seed: keyBytes
}

const idOf = (bytes: Uint8Array): bigint => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

/** Undefined: no address, or one with a wrong checksum. */
export const parse = (text: string): Parsed | undefined => {
  const bytes = fromBase32(text)
  const kind = bytes && versions.get(bytes[0] ?? 0)
  if (bytes === undefined || kind === undefined) return undefined
  if (bytes.length !== 1 + sizes[kind] + checksumBytes) return undefined
  const body = bytes.subarray(0, -checksumBytes)
  const [low = 0, high = 0] = bytes.subarray(-checksumBytes)
  if (((high << 8) | low) !== checksumOf(body)) return undefined
  const key = body.slice(1, 1 + keyBytes)
  return kind === "muxed" ? { kind, key, id: idOf(body.subarray(1 + keyBytes)) } : { kind, key }
}

/** The address of an account. */
export const accountOf = (key: Uint8Array): string => {
  const body = new Uint8Array([6 << 3, ...key])
  const crc = checksumOf(body)
  return toBase32(new Uint8Array([...body, crc & 0xff, crc >> 8]))
}

/** The account that an address means: that of a muxed address without its id. Undefined: a contract, or no address. */
export const accountMeantBy = (address: string): string | undefined => {
  const parsed = parse(address)
  if (parsed?.kind === "account") return address
  return parsed?.kind === "muxed" ? accountOf(parsed.key) : undefined
}

/** Valid addresses of made-up keys (32 bytes of 7 or of 8; the muxed one has the id of 8 bytes of 7). Only tests generate them. */
const samples: Readonly<Record<Kind, ReadonlyArray<string>>> = {
  account: [
    "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI",
    "GAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEARIHQ"
  ],
  muxed: ["MADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA6OSU"],
  contract: [
    "CADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQP5KR",
    "CAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQMCJ"
  ],
  seed: []
}

const of = (kinds: ReadonlyArray<Kind>, expected: string) =>
  Schema.String.check(
    Schema.makeFilter(
      (text: string) => {
        const kind = parse(text)?.kind
        return kind !== undefined && kinds.includes(kind)
      },
      // The message never contains the text: it can be a seed.
      {
        expected: `${expected} with a valid checksum`,
        toJsonSchema: () => [{}, true],
        arbitraryConstraint: {
          patterns: [{ source: `^(${kinds.flatMap((kind) => samples[kind]).join("|")})$`, flags: "" }]
        }
      }
    )
  )

export const AccountAddress = of(["account"], "an account address: G and 55 letters and digits")

/** Where a payment can go. */
export const DestinationAddress = of(["account", "muxed"], "an account address, G… or M…,")

export const ContractAddress = of(["contract"], "a contract address: C and 55 letters and digits")

/** What a contract calls an address. */
export const AnyAddress = of(["account", "contract"], "an address of an account or a contract, G… or C…,")
