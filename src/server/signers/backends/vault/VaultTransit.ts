// `vault_transit`: an ed25519 key that never leaves Vault; Vault signs.
import { Effect, Schema } from "effect"
import { Base64 } from "effect/encoding"
import type { Curve } from "../../../../domain/signer/Curve.ts"
import type { SignerBackend, SignerKind } from "../SignerBackend.ts"
import type { Vault } from "./Vault.ts"
import { fields, unavailable } from "./VaultLogin.ts"
import * as VaultLogin from "./VaultLogin.ts"

const KeyAnswer = Schema.Struct({
  data: Schema.Struct({
    type: Schema.String,
    latest_version: Schema.Int,
    keys: Schema.Record(Schema.String, Schema.Unknown)
  })
})

const SignatureAnswer = Schema.Struct({
  data: Schema.Struct({
    /** `vault:v1:` and 64 bytes. */
    signature: Schema.String.check(Schema.isPattern(/^vault:v\d+:[A-Za-z0-9+/]{85}[AQgw]==$/u))
  })
})

/** Vault returns a timestamp for versions of symmetric keys, and no `public_key` for derived keys. Both are refused. */
const toVersion = Schema.decodeUnknownEffect(Schema.Struct({ public_key: Schema.NonEmptyString }))

const bytes = (base64: string) => Effect.orDie(Effect.fromResult(Base64.decode(base64)))

const onEd25519 = (curve: Curve) => (curve === "ed25519" ? Effect.void : Effect.fail(unavailable("curve")))

export const make = (vault: Vault): SignerKind<"vault_transit"> => ({
  column: "config",
  worksOutside: true,
  fields,
  prepare: (request) => Effect.succeed(VaultLogin.split(request)),
  open: (prepared): SignerBackend => {
    const { mount_point, key_name, pubkey } = prepared.config
    const login = VaultLogin.of(prepared)

    const publicKey = Effect.fnUntraced(function* (curve: Curve) {
      yield* onEd25519(curve)
      const { data } = yield* vault.call(login, { path: `${mount_point}/keys/${key_name}`, answer: KeyAnswer })
      if (data.type !== "ed25519") return yield* unavailable("bad_key")
      const version = yield* Effect.mapError(toVersion(data.keys[data.latest_version]), () => unavailable("bad_key"))
      if (version.public_key !== pubkey) return yield* unavailable("mismatch")
      return yield* bytes(pubkey)
    })

    const sign = Effect.fnUntraced(function* (curve: Curve, message: Uint8Array) {
      yield* onEd25519(curve)
      const path = `${mount_point}/sign/${key_name}`
      const { data } = yield* vault.call(login, {
        path,
        body: { input: Base64.encode(message) },
        answer: SignatureAnswer
      })
      return yield* bytes(data.signature.slice(data.signature.lastIndexOf(":") + 1))
    })

    return { curves: ["ed25519"], publicKey, sign }
  }
})
