// Hashes, derived addresses and signatures of solana, by Node's own functions.
import { createHash, createPublicKey, verify } from "node:crypto"
import * as Base58 from "../../../domain/transaction/solana/Base58.ts"
import type { Derivations } from "../../../domain/transaction/solana/Instruction.ts"
import { associatedTokenProgram } from "../../../domain/transaction/solana/Programs.ts"

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return Uint8Array.from(hash.digest())
}

const keyOf = (address: string): Uint8Array => Base58.decode(address) ?? new Uint8Array(Base58.keyBytes)

/** The prime of the field of ed25519, and the constant of its curve (RFC 8032). */
const prime = 2n ** 255n - 19n
const curveConstant = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

const modulo = (value: bigint): bigint => {
  const rest = value % prime
  return rest < 0n ? rest + prime : rest
}

const power = (base: bigint, exponent: bigint): bigint => {
  let [result, square] = [1n, base]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = modulo(result * square)
    square = modulo(square * square)
  }
  return result
}

/** Whether 32 bytes are a point of the curve: there is an x with x² = (y² − 1) / (d y² + 1), by the criterion of Euler. */
const isOnCurve = (bytes: Uint8Array): boolean => {
  let y = 0n
  for (let index = bytes.length - 1; index >= 0; index--) {
    y = (y << 8n) | BigInt(index === bytes.length - 1 ? (bytes[index] ?? 0) & 0x7f : (bytes[index] ?? 0))
  }
  const square = modulo(y * y)
  const [above, below] = [modulo(square - 1n), modulo(curveConstant * square + 1n)]
  // A quotient is a square if and only if the product is one.
  const product = modulo(above * below)
  return product === 0n || power(product, (prime - 1n) / 2n) === 1n
}

const marker = Buffer.from("ProgramDerivedAddress")

/** The first address below 255 that is no public key, so that nobody can sign for it. */
const programAddress = (seeds: ReadonlyArray<Uint8Array>, program: string): string => {
  for (let bump = 255; bump >= 0; bump--) {
    const found = sha256(...seeds, Uint8Array.of(bump), keyOf(program), marker)
    if (!isOnCurve(found)) return Base58.encode(found)
  }
  throw new Error("no seed gives an address that is not on the curve")
}

export const derivations: Derivations = {
  encode: Base58.encode,
  withSeed: (base, seed, owner) => Base58.encode(sha256(keyOf(base), seed, keyOf(owner))),
  associated: (wallet, mint, program) =>
    programAddress([keyOf(wallet), keyOf(program), keyOf(mint)], associatedTokenProgram)
}

/** The DER header of an ed25519 public key (RFC 8410). */
const derHeader = Buffer.from("302a300506032b6570032100", "hex")

/** Whether a signature belongs to the bytes and the address. */
export const isSignedBy = (signature: Uint8Array, bytes: Uint8Array, address: string): boolean => {
  const key = Buffer.concat([derHeader, keyOf(address)])
  return verify(null, bytes, createPublicKey({ key, format: "der", type: "spki" }), signature)
}
