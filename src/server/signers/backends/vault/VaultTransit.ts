// `vault_transit`: an ed25519 key that never leaves Vault; the version of it with the public key of the signer signs in Vault.
import { Cache, Duration, Effect, Exit, Schema } from "effect"
import { Base64 } from "effect/encoding"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import type { ConfigOf, Prepared, SignerBackend, SignerKind } from "../SignerBackend.ts"
import type { Vault } from "./Vault.ts"
import { fields, unavailable } from "./VaultLogin.ts"
import * as VaultLogin from "./VaultLogin.ts"

const KeyAnswer = Schema.Struct({
  data: Schema.Struct({
    type: Schema.String,
    latest_version: Schema.Int,
    /** The oldest version that signs. 0 or absent: every version does. */
    min_encryption_version: Schema.optionalKey(Schema.Int),
    /** The oldest version that Vault still has in use. */
    min_decryption_version: Schema.optionalKey(Schema.Int),
    /** By number. */
    keys: Schema.Record(Schema.String, Schema.Unknown)
  })
})
type KeyData = (typeof KeyAnswer.Type)["data"]
type Config = ConfigOf<"vault_transit">

const SignatureAnswer = Schema.Struct({
  data: Schema.Struct({
    /** `vault:v1:`, which has the number of the version, and 64 bytes. */
    signature: Schema.String.check(Schema.isPattern(/^vault:v\d+:[A-Za-z0-9+/]{85}[AQgw]==$/u))
  })
})

/** Vault returns a timestamp for versions of symmetric keys, and an empty `public_key` for derived keys. Both are refused. */
const isVersion = Schema.is(Schema.Struct({ public_key: Schema.NonEmptyString }))

/** Texts of Vault's errors about the version that a request names. They are compared, and never shown. */
const tooOld = "requested version for signing is less than the minimum encryption key version"
const gone = "no such key version"

/** The number of keys whose version is kept, and for how long. A version never gets another key, unless the key is made anew. */
const capacity = 1000
const keptFor = Duration.hours(1)

const noLonger = (version: number, why: string) =>
  unavailable("bad_key", { detail: `version ${version} of the key in Vault may no longer sign: ${why}` })

const mayNotSign = (version: number) => (errors: ReadonlyArray<string>) => {
  if (errors.includes(tooOld)) return noLonger(version, "it is below min_encryption_version of the key")
  return errors.includes(gone) ? noLonger(version, "it is below min_decryption_version of the key") : undefined
}

/** The newest version with the public key. Several have it if an operator has imported the same key again. */
const versionOf = Effect.fnUntraced(function* (data: KeyData, pubkey: string) {
  const { keys, min_decryption_version: oldest = 0, min_encryption_version: signing = 0, type } = data
  const versions = Object.entries(keys).flatMap(([number, version]) =>
    isVersion(version) ? [{ number: Number(number), publicKey: version.public_key }] : []
  )
  if (type !== "ed25519" || versions.length === 0) return yield* unavailable("bad_key")
  const numbers = versions.flatMap(({ number, publicKey }) => (publicKey === pubkey ? [number] : []))
  if (numbers.length === 0) {
    const detail = `is not the public key of a version from ${oldest} on of the key in Vault: older ones may no longer sign (min_decryption_version)`
    return yield* unavailable("mismatch", oldest > 1 ? { detail } : {})
  }
  const number = Math.max(...numbers)
  return number < signing ? yield* noLonger(number, `min_encryption_version of the key is ${signing}`) : number
})

const bytes = (base64: string) => Effect.orDie(Effect.fromResult(Base64.decode(base64)))

const onEd25519 = (curve: Curve) => (curve === "ed25519" ? Effect.void : Effect.fail(unavailable("curve")))

export const make = Effect.fnUntraced(function* (vault: Vault) {
  const read = Effect.fnUntraced(function* (prepared: Prepared<Config>) {
    const { mount_point, key_name, pubkey } = prepared.config
    const path = `${mount_point}/keys/${key_name}`
    const { data } = yield* vault.call(VaultLogin.of(prepared), { path, answer: KeyAnswer })
    return { version: yield* versionOf(data, pubkey), latest: data.latest_version }
  })

  const versions = yield* Cache.makeWith(
    (prepared: Prepared<Config>) => Effect.map(read(prepared), ({ version }) => version),
    {
      capacity,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? keptFor : Duration.zero)
    }
  )

  const kind: SignerKind<"vault_transit"> = {
    column: "config",
    worksOutside: true,
    fields,
    prepare: (request) => Effect.succeed(VaultLogin.split(request)),
    open: (prepared): SignerBackend => {
      const { mount_point, key_name, pubkey } = prepared.config
      const publicKey = Effect.fnUntraced(function* (curve: Curve) {
        yield* onEd25519(curve)
        const { version } = yield* read(prepared)
        yield* Cache.set(versions, prepared, version)
        return yield* bytes(pubkey)
      })

      const inspect = Effect.gen(function* () {
        const { version, latest } = yield* read(prepared)
        const found = { publicKey: yield* bytes(pubkey), state: `version ${version} of ${latest}` }
        if (version === latest) return found
        return { ...found, warning: "the key has a newer version, which this signer does not use" }
      })

      const sign = Effect.fnUntraced(function* (curve: Curve, message: Uint8Array) {
        yield* onEd25519(curve)
        const version = yield* Cache.get(versions, prepared)
        const { data } = yield* vault
          .call(VaultLogin.of(prepared), {
            path: `${mount_point}/sign/${key_name}`,
            body: { input: Base64.encode(message), key_version: version },
            answer: SignatureAnswer,
            explain: mayNotSign(version)
          })
          .pipe(Effect.tapError(() => Cache.invalidate(versions, prepared)))
        const [, answered, signature = ""] = data.signature.split(":")
        if (answered === `v${version}`) return yield* bytes(signature)
        return yield* unavailable("unexpected", { detail: "Vault has signed with another version of the key" })
      })

      return { curves: ["ed25519"], publicKey, sign, inspect }
    }
  }
  return kind
})
