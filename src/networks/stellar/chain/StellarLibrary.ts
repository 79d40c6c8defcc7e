// The library of the chain, loaded on first use once per process, with values of contracts, hashes and signatures in its terms.
import { Effect, Result } from "effect"
import type * as Base from "@stellar/stellar-sdk/base"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { createHash, createPublicKey, verify } from "node:crypto"
import type { AddressPart } from "../../../sql/Rows.ts"
import { refusal } from "../rules/Envelope.ts"
import type { CheckedSignature, Refusal, RefusalCode } from "../rules/Envelope.ts"
import { parseAddress } from "../../../domain/chain/StrKey.ts"
import type { ScVal } from "../rules/StellarValues.ts"

/** What the library exports. Only the loader has its value. */
export type Library = typeof Base

let loaded: Library | undefined

const load = Effect.map(
  Effect.promise((): Promise<Library> => import("@stellar/stellar-sdk/base")),
  (library) => (loaded = library)
)

/** Each request uses it several times, and a second `import` resolves the name of the package again. */
export const library = Effect.suspend(() => (loaded === undefined ? load : Effect.succeed(loaded)))

/** A value of the library that XDR encodes. */
interface Encodable {
  toXdr(): Uint8Array
}

/** Base64 of a value, by Node: the base64 of the library takes twice as long as the encoding of the value. */
export const textOf = (value: Encodable): string => Buffer.from(value.toXdr()).toString("base64")

/** What the value of a union is called, by the end of its path in the message of the library, with the code of its refusal. */
const kinds: ReadonlyArray<readonly [path: RegExp, kind: string, code: RefusalCode]> = [
  [/^TransactionEnvelope(\.type)?$/, "envelope type", "xdr_kind"],
  [/\.operations\[\d+\]\.body(\.type)?$/, "operation", "operation_not_allowed"],
  [/\bcredentials(\.type)?$/, "credentials type", "auth_kind_unsupported"],
  [/\.cond(\.type)?$/, "precondition type", "preconditions_unsupported"],
  [/(address|sourceAccount|destination)(\.type)?$/i, "address type", "xdr_invalid"]
]

/** `TransactionEnvelope.type: unknown enum value 11`, or the same with `no case for union discriminator`. */
const unknownValue = /^(?<path>\S+): (?:unknown enum value|no case for union discriminator) (?<number>-?\d+)$/

/** Names the number that a newer protocol may have added. Undefined: the text is no XDR at all. */
const unknownIn = (thrown: unknown): Refusal | undefined => {
  const { number, path = "" } = (thrown instanceof Error ? unknownValue.exec(thrown.message) : null)?.groups ?? {}
  if (number === undefined) return undefined
  const [, kind, code] = kinds.find(([end]) => end.test(path)) ?? [undefined, "value", "xdr_invalid" as const]
  return refusal(code, `${kind} ${number} is not known to this version, at ${path}`)
}

/** What `read` makes of XDR. `expected`: what is said of a text that is no XDR of its type. */
export const reading = <A>(read: () => A, expected: string): Result.Result<A, Refusal> =>
  Result.mapError(Result.try(read), (thrown) => unknownIn(thrown) ?? refusal("xdr_invalid", expected))

// Values of contracts, between XDR and the form of the API.

/** `G…`, `M…`, `C…`, `B…` or `L…`. */
export const scAddressOf = (lib: Library, address: Xdr.ScAddress): string =>
  lib.Address.fromScAddress(address).toString()

const allDefined = <A>(values: ReadonlyArray<A | undefined>): ReadonlyArray<A> | undefined =>
  values.every((value) => value !== undefined) ? values : undefined

/** Undefined: a value that only contracts have, such as their instance. */
export const scValFromXdr = (lib: Library, value: Xdr.ScVal): ScVal | undefined => {
  switch (value.type) {
    case "scvBool":
      return { bool: value.b }
    case "scvVoid":
      return { void: null }
    case "scvU32":
      return { u32: value.u32 }
    case "scvI32":
      return { i32: value.i32 }
    case "scvU64":
      return { u64: value.u64 }
    case "scvI64":
      return { i64: value.i64 }
    case "scvTimepoint":
      return { timepoint: value.timepoint }
    case "scvDuration":
      return { duration: value.duration }
    case "scvU128":
      return { u128: { hi: value.u128.hi, lo: value.u128.lo } }
    case "scvI128":
      return { i128: { hi: value.i128.hi, lo: value.i128.lo } }
    case "scvU256": {
      const { hiHi, hiLo, loHi, loLo } = value.u256
      return { u256: { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } }
    }
    case "scvI256": {
      const { hiHi, hiLo, loHi, loLo } = value.i256
      return { i256: { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } }
    }
    case "scvBytes":
      return { bytes: Buffer.from(value.bytes.value).toString("hex") }
    case "scvString":
      return { string: value.str.toString() }
    case "scvSymbol":
      return { symbol: value.sym.toString() }
    case "scvAddress":
      return { address: scAddressOf(lib, value.address) }
    case "scvVec": {
      const vec = allDefined((value.vec ?? []).map((one) => scValFromXdr(lib, one)))
      return vec && { vec }
    }
    case "scvMap": {
      const map = allDefined(
        (value.map ?? []).map(({ key, val }) => {
          const [plainKey, plainVal] = [scValFromXdr(lib, key), scValFromXdr(lib, val)]
          return plainKey === undefined || plainVal === undefined ? undefined : { key: plainKey, val: plainVal }
        })
      )
      return map && { map }
    }
    default:
      return undefined
  }
}

export const scValToXdr = (lib: Library, value: ScVal): Xdr.ScVal => {
  const { ScVal: Value, Uint128Parts, Int128Parts, Uint256Parts, Int256Parts, ScMapEntry } = lib.xdr
  if ("bool" in value) return Value.scvBool(value.bool)
  if ("void" in value) return Value.scvVoid()
  if ("u32" in value) return Value.scvU32(value.u32)
  if ("i32" in value) return Value.scvI32(value.i32)
  if ("u64" in value) return Value.scvU64(value.u64)
  if ("i64" in value) return Value.scvI64(value.i64)
  if ("timepoint" in value) return Value.scvTimepoint(value.timepoint)
  if ("duration" in value) return Value.scvDuration(value.duration)
  if ("u128" in value) return Value.scvU128(new Uint128Parts(value.u128))
  if ("i128" in value) return Value.scvI128(new Int128Parts(value.i128))
  if ("u256" in value) {
    const { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } = value.u256
    return Value.scvU256(new Uint256Parts({ hiHi, hiLo, loHi, loLo }))
  }
  if ("i256" in value) {
    const { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } = value.i256
    return Value.scvI256(new Int256Parts({ hiHi, hiLo, loHi, loLo }))
  }
  if ("bytes" in value) return Value.scvBytes(Buffer.from(value.bytes, "hex"))
  if ("string" in value) return Value.scvString(value.string)
  if ("symbol" in value) return Value.scvSymbol(value.symbol)
  if ("address" in value) return lib.Address.fromString(value.address).toScVal()
  if ("vec" in value) return Value.scvVec(value.vec.map((one) => scValToXdr(lib, one)))
  return Value.scvMap(
    value.map.map(({ key, val }) => new ScMapEntry({ key: scValToXdr(lib, key), val: scValToXdr(lib, val) }))
  )
}

// Hashes and signatures of envelopes, by Node's own ed25519: the library's verification takes fourteen times as long.

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** By passphrase: a service has few networks, and each request needs the id of one. */
const networkIds = new Map<string, Buffer>()

/** The id of a network: it precedes everything that is signed. */
export const networkIdOf = (passphrase: string): Buffer => {
  const found = networkIds.get(passphrase) ?? sha256(Buffer.from(passphrase))
  networkIds.set(passphrase, found)
  return found
}

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
  const key = parseAddress(address)?.key
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
    const key = letters.has(lettersOf(address)) ? parseAddress(address)?.key : undefined
    if (key === undefined) return []
    return signatures
      .filter(({ hint }) => Buffer.compare(hint.value, key.subarray(-hintBytes)) === 0)
      .map(({ signature }) => ({ address, isValid: isSignedWith(key, hash, signature.value) }))
  })
}
