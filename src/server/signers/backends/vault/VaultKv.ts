// `vault`: a private key in Vault's key-value store (version 2). It is read for each use and never stored.
import { Effect, Schema } from "effect"
import { PrivateKey } from "../../../../domain/signer/CreateSigner.ts"
import * as LocalKey from "../local/LocalKey.ts"
import type { SignerKind } from "../SignerBackend.ts"
import type { Vault } from "./Vault.ts"
import { fields, unavailable } from "./VaultLogin.ts"
import * as VaultLogin from "./VaultLogin.ts"

const Answer = Schema.Struct({
  data: Schema.Struct({ data: Schema.Struct({ value: Schema.optionalKey(Schema.Unknown) }) })
})

const toPrivateKey = Schema.decodeUnknownEffect(PrivateKey)

export const make = (vault: Vault): SignerKind<"vault"> => ({
  column: "config",
  worksOutside: true,
  fields,
  prepare: (request) => Effect.succeed(VaultLogin.split(request)),
  open: (prepared) => {
    const { mount_point, key_name } = prepared.config
    const key = vault.call(VaultLogin.of(prepared), { path: `${mount_point}/data/${key_name}`, answer: Answer }).pipe(
      Effect.flatMap(({ data }) => Effect.mapError(toPrivateKey(data.data.value), () => unavailable("bad_key"))),
      Effect.map(LocalKey.make)
    )
    return {
      curves: ["secp256k1", "ed25519"],
      publicKey: (curve) => Effect.flatMap(key, (local) => local.publicKey(curve)),
      sign: (curve, message) => Effect.flatMap(key, (local) => local.sign(curve, message))
    }
  }
})
