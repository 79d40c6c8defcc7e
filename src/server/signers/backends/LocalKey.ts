// Signers whose private key the service stores: `plain` and `local`. The key is in memory for the time of each use.
import { Effect, Redacted, Result, Schema, SchemaIssue } from "effect"
import type { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import * as crypto from "node:crypto"
import * as Caller from "../../../domain/access/Caller.ts"
import { parse } from "../../../domain/request/ExactJson.ts"
import { BadRequest, ServiceUnavailable } from "../../../domain/request/Request.ts"
import { PrivateKey } from "../../../domain/signer/CreateSigner.ts"
import type { Curve } from "../../../domain/signer/Signer.ts"
import type { Derivation, KeyDerivation } from "../../../threads/KeyDerivation.ts"
import { curveOperations } from "./SignerBackend.ts"
import type { SignerBackend, SignerKind } from "./SignerBackend.ts"

// The format of keystores (Web3 Secret Storage, version 3), and limits of what it costs to open one.

const hexBytes = (minimum: number, maximum = minimum) => {
  const count = minimum === maximum ? `${minimum}` : `${minimum} to ${maximum}`
  const pattern = new RegExp(`^([0-9a-fA-F]{2}){${minimum},${maximum}}$`, "u")
  return Schema.String.check(Schema.isPattern(pattern, { expected: `${count} bytes as hex digits` })).pipe(
    Schema.decodeTo(Schema.Uint8ArrayFromHex)
  )
}

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const maxCost = 2 ** 18

const derivationFields = {
  dklen: Schema.Literal(32),
  salt: hexBytes(1, 128)
}

/** n · r · p: one or two seconds of a core, and 256 MiB. Clients that write keystores stay within it. */
const maxScrypt = 2 ** 21

/** Less than a second of a core. Clients that write keystores use 2^18. */
const maxIterations = 2 ** 21

const Scrypt = Schema.Struct({
  ...derivationFields,
  n: between(2, maxCost).check(
    Schema.makeFilter((n: number) => Number.isInteger(Math.log2(n)), { expected: "a power of two" })
  ),
  r: between(1, 64),
  p: between(1, 16)
}).check(
  Schema.makeFilter(({ n, r, p }) =>
    n * r * p <= maxScrypt ? undefined : { path: ["n"], issue: "is too expensive with this r and p" }
  )
)

const Pbkdf2 = Schema.Struct({ ...derivationFields, c: between(1, maxIterations), prf: Schema.Literal("hmac-sha256") })

const cipherFields = {
  cipher: Schema.Literal("aes-128-ctr"),
  cipherparams: Schema.Struct({ iv: hexBytes(16) }),
  ciphertext: hexBytes(32),
  mac: hexBytes(32)
}

const Keystore = Schema.Struct({
  version: Schema.Literal(3),
  crypto: Schema.Union([
    Schema.Struct({ ...cipherFields, kdf: Schema.tag("scrypt"), kdfparams: Scrypt }),
    Schema.Struct({ ...cipherFields, kdf: Schema.tag("pbkdf2"), kdfparams: Pbkdf2 })
  ]).annotate({ message: "Expected aes-128-ctr as cipher, and scrypt or pbkdf2 as kdf" })
})
type Keystore = typeof Keystore.Type

const decodeKeystore = Schema.decodeUnknownResult(Keystore, { errors: "all" })

const at = ["config", "keystore"]

const unreadable = BadRequest.of([{ field: at.join("."), message: "is not valid JSON" }])

/** Some clients write `Crypto`. */
const withCrypto = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "Crypto" in json ? { ...json, crypto: json.Crypto } : json

const readKeystore = (text: string): Result.Result<Keystore, BadRequest> =>
  Result.try({ try: () => withCrypto(parse(text)), catch: () => unreadable }).pipe(
    Result.flatMap((json) =>
      Result.mapError(decodeKeystore(json), ({ issue }) =>
        BadRequest.fromIssue(new SchemaIssue.Pointer(at, issue), "body")
      )
    )
  )

// The queue of keystores that are decrypted: each takes a second or two of a core and up to 256 MiB.

/** Keystores in this instance: one that is decrypted, and three that wait. */
export const maxQueued = 4

/** Keystores of one caller among them, so that one caller cannot keep out the others. */
export const maxOfCaller = 2

export interface KeystoreQueue {
  /** Runs the work in the queue. Fails if the queue is full; the administrator and programs always wait. */
  run<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | ServiceUnavailable, R>
}

export const makeKeystoreQueue = (): KeystoreQueue => {
  /** Ids of the callers. */
  const queued: Array<string> = []

  const isFull = (id: string) =>
    queued.length >= maxQueued || queued.filter((other) => other === id).length >= maxOfCaller

  const enter = (caller: Caller.Caller) =>
    Effect.suspend(() => {
      if (!Caller.isAdministrator(caller) && isFull(caller.id)) return Effect.fail(new ServiceUnavailable({}))
      queued.push(caller.id)
      return Effect.succeed(caller.id)
    })

  const leave = (id: string) => Effect.sync(() => void queued.splice(queued.indexOf(id), 1))

  return {
    run: (work) => Effect.acquireUseRelease(Effect.flatMap(Caller.current, enter), () => work, leave)
  }
}

// Opens a keystore (Web3 Secret Storage, version 3) with its passphrase.

type Crypto = Keystore["crypto"]

const refused = (field: string, message: string) => BadRequest.of([{ field, message }])

const derivation = (passphrase: string, { kdf, kdfparams }: Crypto): Derivation =>
  kdf === "scrypt" ? { kdf, passphrase, ...kdfparams } : { kdf, passphrase, ...kdfparams }

const keystoreMac = (derived: Uint8Array, ciphertext: Uint8Array) =>
  Effect.promise(async () => {
    const { keccak256 } = await import("viem/utils")
    return keccak256(Buffer.concat([derived.subarray(16), ciphertext]), "bytes")
  })

const decrypt = (derived: Uint8Array, { cipher, cipherparams, ciphertext }: Crypto) => {
  const decipher = crypto.createDecipheriv(cipher, derived.subarray(0, 16), cipherparams.iv)
  return Buffer.concat([decipher.update(ciphertext), decipher.final()])
}

const toPrivateKey = Schema.decodeUnknownEffect(PrivateKey)

/** Returns the private key in the keystore. `ServiceUnavailable` if too many keystores are waiting. */
export type OpenKeystore = (
  keystore: Redacted.Redacted,
  passphrase: Redacted.Redacted
) => Effect.Effect<Redacted.Redacted, BadRequest | ServiceUnavailable>

export const keystoreOpener = (derivations: KeyDerivation["Service"]): OpenKeystore => {
  const queue = makeKeystoreQueue()
  return Effect.fn("Keystore.open")(function* (keystore, passphrase) {
    const { crypto: sealed } = yield* Effect.fromResult(readKeystore(Redacted.value(keystore)))
    const derived = yield* queue.run(derivations.derive(derivation(Redacted.value(passphrase), sealed)))
    if (!crypto.timingSafeEqual(yield* keystoreMac(derived, sealed.ciphertext), sealed.mac)) {
      return yield* refused("config.passphrase", "does not open the keystore")
    }
    return yield* toPrivateKey(Hex.encode(decrypt(derived, sealed))).pipe(
      Effect.mapError(() => refused("config.keystore", "contains no usable key"))
    )
  })
}

/** `key`: a `PrivateKey`. It signs on both curves. */
export const make = (key: Redacted.Redacted): SignerBackend => {
  const use = <A>(f: (bytes: Uint8Array) => A | Promise<A>) =>
    Effect.promise(async () => {
      const bytes = Buffer.from(Redacted.value(key).replace(/^0x/, ""), "hex")
      try {
        return await f(bytes)
      } finally {
        bytes.fill(0)
      }
    })

  return {
    hasFixedKey: true,
    curves: ["secp256k1", "ed25519"],
    publicKey: (curve: Curve) => use((bytes) => curveOperations[curve].publicKey(bytes)),
    sign: (curve: Curve, message: Uint8Array) => use((bytes) => curveOperations[curve].sign(bytes, message))
  }
}

/** A key that is given or generated here. */
export const plain = (random: SecureRandom.SecureRandom["Service"]): SignerKind<"plain"> => {
  /** 32 random bytes are below the order of secp256k1, except for one in 2^128. */
  const generate = Effect.map(random.randomBytes(32), (bytes) => Redacted.make(Hex.encode(bytes)))

  return {
    column: "key",
    worksOutside: false,
    prepare: (request) => {
      const key = request?.key === undefined ? generate : Effect.succeed(request.key)
      return Effect.map(key, (secret) => ({ config: {}, secret }))
    },
    open: ({ secret }) => make(secret)
  }
}

/** The key of a keystore, which is opened once. The service keeps the key, not the keystore. */
export const local = (open: OpenKeystore): SignerKind<"local"> => ({
  column: "key",
  worksOutside: true,
  prepare: ({ keystore, passphrase }) => Effect.map(open(keystore, passphrase), (secret) => ({ config: {}, secret })),
  open: ({ secret }) => make(secret)
})
