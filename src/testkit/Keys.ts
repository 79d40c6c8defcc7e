// Keys of plain signers, with the addresses that they have on each network type.
import { ed25519 } from "@noble/curves/ed25519"
import { secp256k1 } from "@noble/curves/secp256k1"
import { keccak_256 } from "@noble/hashes/sha3.js"

export const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`
export const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replace(/^0x/i, ""), "hex"))

/** The lower-case address of an evm account. `publicKey`: uncompressed. */
export const addressOfPoint = (publicKey: Uint8Array): string => hexOf(keccak_256(publicKey.subarray(1)).subarray(-20))

/** The same of a private key. */
export const addressOf = (key: Uint8Array): string => addressOfPoint(secp256k1.getPublicKey(key, false))

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

const base58Of = (bytes: Uint8Array): string => {
  let text = ""
  for (let value = BigInt(`0x${Buffer.from(bytes).toString("hex")}`); value > 0n; value /= 58n) {
    text = (base58[Number(value % 58n)] ?? "") + text
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return "1".repeat(Math.max(zeros, 0)) + text
}

/** CRC-16/XMODEM, little endian, as StrKey has it (SEP-23). */
const checksumOf = (bytes: Uint8Array): Uint8Array => {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021
    crc &= 0xffff
  }
  return Uint8Array.of(crc & 0xff, crc >> 8)
}

/** 35 bytes are 56 digits. */
const base32Of = (bytes: Uint8Array): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("")
  return (bits.match(/.{5}/g) ?? []).map((five) => base32[Number.parseInt(five, 2)] ?? "").join("")
}

/** The version byte of an account in StrKey (SEP-23): its text begins with G. */
const accountVersion = 6 << 3

const strKeyOf = (publicKey: Uint8Array): string => {
  const versioned = Uint8Array.of(accountVersion, ...publicKey)
  return base32Of(Uint8Array.of(...versioned, ...checksumOf(versioned)))
}

export interface Key {
  readonly secret: Uint8Array
  readonly addresses: { readonly evm: string; readonly solana: string; readonly stellar: string }
}

/** `hex`: 32 bytes, with or without 0x. */
export const keyOf = (hex: string): Key => {
  const secret = bytesOf(hex)
  const publicKey = ed25519.getPublicKey(secret)
  const addresses = { evm: addressOf(secret), solana: base58Of(publicKey), stellar: strKeyOf(publicKey) }
  return { secret, addresses }
}
