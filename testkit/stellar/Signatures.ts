// Checks signatures as `SignatureChecker` of stellar-core does: each signature counts for one signer, and none may be left over.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { StrKey } from "@stellar/stellar-sdk/base"
import { createPublicKey, verify } from "node:crypto"
import type { KeyObject } from "node:crypto"
import type { Account } from "./Entries.ts"
import type { Signed } from "./Envelope.ts"

/** The DER header of an ed25519 public key (RFC 8410). */
const derHeader = Buffer.from("302a300506032b6570032100", "hex")

const keys = new Map<string, KeyObject>()

const keyOf = (address: string): KeyObject => {
  const known = keys.get(address)
  if (known !== undefined) return known
  const key = createPublicKey({
    key: Buffer.concat([derHeader, StrKey.decodeEd25519PublicKey(address)]),
    format: "der",
    type: "spki"
  })
  keys.set(address, key)
  return key
}

export const isSignedBy = (address: string, message: Uint8Array, signature: Uint8Array): boolean =>
  verify(null, message, keyOf(address), signature)

/** The last four bytes of the public key. */
const hintOf = (address: string): Uint8Array => StrKey.decodeEd25519PublicKey(address).slice(-4)

interface Weighted {
  readonly address: string
  readonly weight: number
}

/** A signer counts at most 255. */
const maxWeight = 255

export type Level = "low" | "medium" | "high"

export class Signatures {
  readonly #message: Uint8Array
  readonly #signatures: ReadonlyArray<Xdr.DecoratedSignature>
  readonly #used = new Set<number>()

  constructor({ bytes, signatures }: Signed) {
    this.#message = bytes
    this.#signatures = signatures
  }

  /** `SignatureChecker::checkSignature`. Weight 0 still needs one valid signature. */
  #reaches(signers: ReadonlyArray<Weighted>, needed: number): boolean {
    const left = [...signers]
    let total = 0
    for (const [index, { hint, signature }] of this.#signatures.entries()) {
      const found = left.findIndex(
        ({ address }) =>
          Buffer.compare(hintOf(address), hint.value) === 0 && isSignedBy(address, this.#message, signature.value)
      )
      const signer = left[found]
      if (signer === undefined) continue
      this.#used.add(index)
      total += Math.min(signer.weight, maxWeight)
      if (total >= needed) return true
      left.splice(found, 1)
    }
    return false
  }

  /** `TransactionFrame::checkSignature`. */
  reaches({ address, masterWeight, signers, thresholds }: Account, level: Level): boolean {
    const master = masterWeight > 0 ? [{ address, weight: masterWeight }] : []
    return this.#reaches([...master, ...signers], thresholds[level])
  }

  /** `TransactionFrame::checkSignatureNoAccount`: the source of an operation that a former operation creates. */
  isSignedBy(address: string): boolean {
    return this.#reaches([{ address, weight: 1 }], 0)
  }

  /** `SignatureChecker::checkAllSignaturesUsed`. */
  get areAllUsed(): boolean {
    return this.#used.size === this.#signatures.length
  }
}
