// `plain`: a key that is given or generated here.
import { Effect, Redacted } from "effect"
import type { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import * as LocalKey from "./LocalKey.ts"
import type { SignerKind } from "./SignerBackend.ts"

export const make = (random: SecureRandom.SecureRandom["Service"]): SignerKind<"plain"> => {
  /** 32 random bytes are below the order of secp256k1, except for one in 2^128. */
  const generate = Effect.map(random.randomBytes(32), (bytes) => Redacted.make(Hex.encode(bytes)))

  return {
    column: "key",
    worksOutside: false,
    prepare: (request) => {
      const key = request?.key === undefined ? generate : Effect.succeed(request.key)
      return Effect.map(key, (secret) => ({ config: {}, secret }))
    },
    open: ({ secret }) => LocalKey.make(secret)
  }
}
