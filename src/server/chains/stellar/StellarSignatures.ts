// Hashes and signatures of envelopes, by Node's own ed25519: the library's verification takes fourteen times as long.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { createHash, createPublicKey, verify } from "node:crypto"
import type { CheckedSignature } from "../../../domain/transaction/stellar/Envelope.ts"
import { parse } from "../../../domain/transaction/stellar/StrKey.ts"
import type { AddressPart } from "../../../sql/Rows.ts"

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** The id of a network: it precedes everything that is signed. */
export const networkIdOf = (passphrase: string): Buffer => sha256(Buffer.from(passphrase))

/** `EnvelopeType`: the four bytes between the network and the transaction. */
const typeBytes = { transaction: new Uint8Array([0, 0, 0, 2]), feeBump: new Uint8Array([0, 0, 0, 5]) } as const

/** The hash of an envelope's type and transaction, which is what its signatures sign. */
export const signedHash = (networkId: Uint8Array, payload: Uint8Array): Buffer => sha256(networkId, payload)

/** The same of a transaction without its envelope. */
export const hashOf = (
  networkId: Uint8Array,
  transaction: Uint8Array,
  kind: keyof typeof typeBytes = "transaction"
): Buffer => sha256(networkId, typeBytes[kind], transaction)

/** The DER header of an ed25519 public key (RFC 8410). */
const derHeader = Buffer.from("302a300506032b6570032100", "hex")

const verified = (key: Uint8Array, hash: Uint8Array, signature: Uint8Array): boolean =>
  verify(null, hash, createPublicKey({ key: Buffer.concat([derHeader, key]), format: "der", type: "spki" }), signature)

/** The newest verifications whose results are kept. The name of each has 128 letters: key, hash and signature. */
const maxKept = 4096

/** By key, hash and signature. An envelope of a user is verified when it is accepted, before it is signed, and as it is signed. */
const kept = new Map<string, boolean>()

const isSignedWith = (key: Uint8Array, hash: Uint8Array, signature: Uint8Array): boolean => {
  const name = Buffer.concat([key, hash, signature]).toString("latin1")
  const known = kept.get(name)
  if (known !== undefined) return known
  const isValid = verified(key, hash, signature)
  const oldest = kept.size < maxKept ? undefined : kept.keys().next().value
  if (oldest !== undefined) kept.delete(oldest)
  kept.set(name, isValid)
  return isValid
}

/** Whether a signature of the hash is that of the account. */
export const isSignedBy = (address: string, hash: Uint8Array, signature: Uint8Array): boolean => {
  const key = parse(address)?.key
  return key !== undefined && isSignedWith(key, hash, signature)
}

/** The last bytes of a key. */
const hintBytes = 4

/**
 * The letters of an address that depend on its hint alone: `length` letters from the index `from`; the first letter has the index 0. A
 * letter encodes five bits. The hint is the last four bytes of the key and begins at bit 232, after the byte of the version and 28 bytes of
 * the key. Letter 47 begins at bit 235, so that the first `skippedBits` bits of the hint are not used.
 */
const hintLetters = { from: 47, length: 5, skippedBits: 3 } as const

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

const lettersOf = (address: string): string => address.slice(hintLetters.from, hintLetters.from + hintLetters.length)

/** Most addresses are excluded by a few letters: parsing one takes a hundred times as long. */
const lettersOfHint = (hint: number): string => {
  let letters = ""
  for (let letter = 1; letter <= hintLetters.length; letter++) {
    letters += alphabet.charAt((hint >>> (32 - hintLetters.skippedBits - 5 * letter)) & 31)
  }
  return letters
}

/**
 * The letters of all accounts that the envelope names or that may have signed it. In XDR, keys and hints begin at multiples of four bytes,
 * and a hint is the end of a key, so each word of four bytes is read as a hint. Words that are something else add the letters of a few
 * other accounts. `addresses`: further accounts.
 */
export const accountsIn = (xdr: Uint8Array, addresses: ReadonlyArray<string>): AddressPart => {
  const { buffer, byteLength, byteOffset } = xdr
  const view = new DataView(buffer, byteOffset, byteLength)
  const hints = new Set<number>()
  for (let at = 0; at + hintBytes <= byteLength; at += hintBytes) hints.add(view.getUint32(at))
  const texts = new Set([...[...hints].map(lettersOfHint), ...addresses.map(lettersOf)])
  return { from: hintLetters.from, length: hintLetters.length, texts: [...texts] }
}

/** The signatures whose hint fits one of the addresses, each with whether it is valid. */
export const candidatesOf = (
  hash: Uint8Array,
  signatures: ReadonlyArray<Xdr.DecoratedSignature>,
  addresses: Iterable<string>
): ReadonlyArray<CheckedSignature> => {
  if (signatures.length === 0) return []
  const letters = new Set(signatures.map(({ hint }) => lettersOfHint(Buffer.from(hint.value).readUInt32BE())))
  return [...new Set(addresses)].flatMap((address) => {
    const key = letters.has(lettersOf(address)) ? parse(address)?.key : undefined
    if (key === undefined) return []
    return signatures
      .filter(({ hint }) => Buffer.compare(hint.value, key.subarray(-hintBytes)) === 0)
      .map(({ signature }) => ({ address, isValid: isSignedWith(key, hash, signature.value) }))
  })
}
