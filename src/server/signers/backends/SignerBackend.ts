// The interface of signer types, with what every type needs: keys and signatures by curve, and ids of signatures at key services.
import { Context, Effect, Schema } from "effect"
import type { Redacted } from "effect"
import * as crypto from "node:crypto"
import type * as Secp256k1 from "tiny-secp256k1"
import type { BadRequest, ServiceUnavailable } from "../../../domain/request/Request.ts"
import type { CreateSigner } from "../../../domain/signer/CreateSigner.ts"
import type { Curve, Signer, SignerType } from "../../../domain/signer/Signer.ts"

/** Why a key cannot be reached or used. */
const Reason = Schema.Literals([
  /** The service does not call this address. */
  "forbidden",
  "unreachable",
  /** The server does not answer as such a server does. */
  "unexpected",
  "login",
  /** The server asks for fewer calls, or this instance has used up the rate of the account. */
  "throttled",
  /** The signature waits for an approval, or the key service has not generated the key yet. */
  "pending",
  /** The login works, but does not allow the use of the key. */
  "refused",
  "not_found",
  "bad_key",
  /** The key is not the configured one. */
  "mismatch",
  /** The backend has no key on the curve. */
  "curve",
  /** The backend needs a package that is not installed. */
  "not_installed"
])
export type Reason = typeof Reason.Type

/** `message` never contains a secret or text of another server. */
export class SignerUnavailable extends Schema.TaggedError<SignerUnavailable>()("SignerUnavailable", {
  reason: Reason,
  message: Schema.NonEmptyString,
  /** Milliseconds after which a call may succeed. Absent if unknown. */
  retryAfter: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  /** The id of the failed call in the log of the key service. */
  requestId: Schema.optionalKey(Schema.String)
}) {}

/** What a key service currently reports about a key. */
export interface Inspection {
  readonly publicKey: Uint8Array
  /** The state for the operator, such as `enabled, ECC_SECG_P256K1`. */
  readonly state: string
  /** What needs an operator's attention, such as an alias that points to another key now. */
  readonly warning?: string
}

export interface SignerBackend {
  /** The curves on which it has a key. */
  readonly curves: ReadonlyArray<Curve>
  /** Whether it signs with one key as long as it is open, so that the key is checked once. Absent: the key can change. */
  readonly hasFixedKey?: boolean
  /** secp256k1: 65 bytes, uncompressed; ed25519: 32 bytes. */
  publicKey(curve: Curve): Effect.Effect<Uint8Array, SignerUnavailable>
  /**
   * secp256k1: `message` is a digest of 32 bytes, the signature r, s (not above half the order) and the recovery bit, 65
   * bytes. ed25519: any message, 64 bytes.
   */
  sign(curve: Curve, message: Uint8Array): Effect.Effect<Uint8Array, SignerUnavailable>
  /** Asks the key service about the key, without a cache. If absent, `publicKey` asks it. */
  readonly inspect?: Effect.Effect<Inspection, SignerUnavailable>
}

/** The key of a signer whose key stays in a key service. It never changes. */
export interface Pinned {
  readonly curve: Curve
  /** In the format of `SignerBackend.publicKey`. */
  readonly publicKey: Uint8Array
}

/** The parts of a request that are stored: `config` is shown, `secret` is sealed. */
export interface Prepared<Config> {
  readonly config: Config
  /** Empty if the signer has no secret. An empty secret is sealed too, because the seal protects the rest of the row. */
  readonly secret: Redacted.Redacted
  /** Present if the key stays in a key service. */
  readonly pinned?: Pinned
}

export interface Kind<Request, Config> {
  /** The column of the sealed secret: the key itself, or the credentials that reach it. */
  readonly column: "key" | "config"
  /** Whether `prepare` or the backend wait for something outside of the database: Vault, a key derivation. */
  readonly worksOutside: boolean
  prepare(request: Request): Effect.Effect<Prepared<Config>, BadRequest | ServiceUnavailable | SignerUnavailable>
  open(prepared: Prepared<Config>): SignerBackend
  /**
   * The request for a new login of a signer, with the name of its key added if the request could lead to another key now: to a newer
   * version, or to a second key with the same label. Absent: a request always leads to one key.
   */
  ofKey?(request: Request, config: Config): Request
  /** The field of a request that causes a failure. Absent: `config`. */
  readonly fields?: Readonly<Partial<Record<Reason, string>>>
}

export type RequestOf<T extends SignerType> = Extract<CreateSigner, { readonly type: T }>["config"]
export type ConfigOf<T extends SignerType> = Extract<Signer, { readonly type: T }>["config"]

/** A type of signer. */
export type SignerKind<T extends SignerType> = Kind<RequestOf<T>, ConfigOf<T>>

/**
 * The implementation of each type, also called signer backends. A host program may replace a type, for example to keep the keys of
 * `plain` signers in its own store.
 */
export class SignerKinds extends Context.Service<SignerKinds, { readonly [T in SignerType]: SignerKind<T> }>()(
  "effect-relayer/server/signers/backends/SignerBackend/SignerKinds"
) {}

// Keys, signatures and their verification, by curve. viem and tiny-secp256k1 take 15 MB each and are loaded when they are first
// needed.

/** Bytes have the formats that `SignerBackend` names; `privateKey` has 32 bytes. */
interface CurveOperations {
  publicKey(privateKey: Uint8Array): Uint8Array
  sign(privateKey: Uint8Array, message: Uint8Array): Promise<Uint8Array>
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean>
}

const toHex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString("hex")}` as const

const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

let signing: typeof Secp256k1 | undefined

const secp256k1: CurveOperations = {
  publicKey: (privateKey) => {
    const pair = crypto.createECDH("secp256k1")
    pair.setPrivateKey(privateKey)
    return pair.getPublicKey()
  },
  // libsecp256k1 is written so that its time does not depend on the key, and takes 80 µs for a signature (@noble/curves, which
  // viem uses: 200 µs). The same key and digest always give the same signature (RFC 6979).
  sign: async (privateKey, digest) => {
    // A second `import` would resolve the name of the package again.
    signing ??= await import("tiny-secp256k1")
    const { signature, recoveryId } = signing.signRecoverable(digest, privateKey)
    return Uint8Array.of(...signature, recoveryId)
  },
  verify: async (publicKey, digest, signature) => {
    if (signature.length !== 65 || (signature[64] ?? 2) > 1) return false
    if (BigInt(toHex(signature.subarray(32, 64))) > halfOrder) return false
    const { recoverPublicKey } = await import("viem/utils")
    const recovered = recoverPublicKey({ hash: toHex(digest), signature: toHex(signature) })
    // It fails if no point of the curve has r as its x.
    return recovered.then(
      (key) => key === toHex(publicKey),
      () => false
    )
  }
}

/** The bytes before the 32 bytes of a key in DER (RFC 8410, sections 7 and 4). */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex")
const spki = Buffer.from("302a300506032b6570032100", "hex")

const ed25519Key = (seed: Uint8Array) => {
  const der = Buffer.concat([pkcs8, seed])
  try {
    return crypto.createPrivateKey({ key: der, format: "der", type: "pkcs8" })
  } finally {
    der.fill(0)
  }
}

const ed25519: CurveOperations = {
  publicKey: (seed) =>
    crypto.createPublicKey(ed25519Key(seed)).export({ format: "der", type: "spki" }).subarray(spki.length),
  sign: async (seed, message) => crypto.sign(null, message, ed25519Key(seed)),
  verify: async (publicKey, message, signature) => {
    if (publicKey.length !== 32) return false
    const key = crypto.createPublicKey({ key: Buffer.concat([spki, publicKey]), format: "der", type: "spki" })
    return crypto.verify(null, message, key, signature)
  }
}

export const curveOperations: Readonly<Record<Curve, CurveOperations>> = { secp256k1, ed25519 }

/**
 * A random message that is signed to test a key. It is never a valid transaction. On solana, its first byte would announce 101
 * signers, for which it is too short. On stellar, signatures cover a hash, which is shorter. On evm, they cover a Keccak hash, not
 * a SHA-256 hash.
 */
export const probeOf = (curve: Curve): Uint8Array => {
  const message = Buffer.concat([Buffer.from("effect-relayer signer probe\n"), crypto.randomBytes(32)])
  return curve === "ed25519" ? message : crypto.createHash("sha256").update(message).digest()
}

// The ids that key services give to signatures. They identify a signature in the log of the key service, such as CloudTrail.

const RequestIds = Context.Reference<(id: string) => void>(
  "effect-relayer/server/signers/backends/SignerBackend/RequestIds",
  {
    defaultValue: () => () => undefined
  }
)

/** Ids are written to the log and the audit log, so no other text of a key service may be among them. */
const requestIdPattern = /^[\x21-\x7e]{1,128}$/u

/** The field `requestId`, if the key service gave an id. */
export const requestIdField = (id: string | undefined): { readonly requestId?: string } =>
  id !== undefined && requestIdPattern.test(id) ? { requestId: id } : {}

/** A backend calls this with the id that the key service gave to a signature. The span of the signature shows the id too. */
export const noteRequestId = (id: string): Effect.Effect<void> =>
  Effect.andThen(
    Effect.annotateCurrentSpan("signer.request_id", id),
    Effect.map(RequestIds, (noted) => noted(id))
  )

/** The signature, with the id that the key service gave to it, if any. */
export const withRequestId = <A, E, R>(signing: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let requestId: string | undefined
    const noted = Effect.provideService(signing, RequestIds, (id: string) => void (requestId = id))
    return Effect.map(noted, (signature) => ({ signature, requestId }))
  })
