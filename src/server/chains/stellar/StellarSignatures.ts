// Hashes and signatures of envelopes, by Node's own ed25519: the library's verification takes fourteen times as long.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { createHash, createPublicKey, verify } from "node:crypto"
import type { CheckedSignature } from "../../../domain/transaction/stellar/Envelope.ts"
import { accountOf, parse } from "../../../domain/transaction/stellar/StrKey.ts"

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** The id of a network: it precedes everything that is signed. */
export const networkIdOf = (passphrase: string): Buffer => sha256(Buffer.from(passphrase))

/** `EnvelopeType`: the four bytes between the network and the transaction. */
const typeBytes = { transaction: new Uint8Array([0, 0, 0, 2]), feeBump: new Uint8Array([0, 0, 0, 5]) } as const

/** The hash of a transaction, which is what its signatures sign. */
export const hashOf = (
  networkId: Uint8Array,
  transaction: Uint8Array,
  kind: keyof typeof typeBytes = "transaction"
): Buffer => sha256(networkId, typeBytes[kind], transaction)

/** The DER header of an ed25519 public key (RFC 8410). */
const derHeader = Buffer.from("302a300506032b6570032100", "hex")

const isSignedWith = (key: Uint8Array, hash: Uint8Array, signature: Uint8Array): boolean =>
  verify(null, hash, createPublicKey({ key: Buffer.concat([derHeader, key]), format: "der", type: "spki" }), signature)

/** Whether a signature of the hash is that of the account. */
export const isSignedBy = (address: string, hash: Uint8Array, signature: Uint8Array): boolean => {
  const key = parse(address)?.key
  return key !== undefined && isSignedWith(key, hash, signature)
}

/** The last bytes of a key. */
const hintBytes = 4

/** Bytes of a key before its hint. */
const bytesBefore = 28

/** The letters of an address that its hint alone decides. A letter has five bits, and the first eight are the version. */
const hintLetters = [47, 52] as const

const lettersOf = (address: string): string => address.slice(...hintLetters)

/** Most addresses are excluded by a few letters: parsing one takes a hundred times as long. */
const lettersOfHint = (hint: Uint8Array): string =>
  lettersOf(accountOf(new Uint8Array([...new Uint8Array(bytesBefore), ...hint])))

/** The signatures whose hint fits one of the addresses, each with whether it is valid. */
export const candidatesOf = (
  hash: Uint8Array,
  signatures: ReadonlyArray<Xdr.DecoratedSignature>,
  addresses: Iterable<string>
): ReadonlyArray<CheckedSignature> => {
  if (signatures.length === 0) return []
  const letters = new Set(signatures.map(({ hint }) => lettersOfHint(hint.value)))
  return [...new Set(addresses)].flatMap((address) => {
    const key = letters.has(lettersOf(address)) ? parse(address)?.key : undefined
    if (key === undefined) return []
    return signatures
      .filter(({ hint }) => Buffer.compare(hint.value, key.subarray(-hintBytes)) === 0)
      .map(({ signature }) => ({ address, isValid: isSignedWith(key, hash, signature.value) }))
  })
}
