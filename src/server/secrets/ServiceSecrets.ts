// Random secrets that the service makes for itself, such as the key of cursors. All instances share them.
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { Secrets } from "./Secrets.ts"
import * as ServiceSecretsRepo from "./ServiceSecretsRepo.ts"

const place = (name: string) => ({ table: "service_secrets", id: name, column: "sealed" })

export class ServiceSecrets extends Context.Service<
  ServiceSecrets,
  {
    /** 256 random bits as base64, which the first instance that needs them creates. */
    get(name: string): Effect.Effect<string>
    /** Stores `own` unless an instance has stored a secret of this name. Returns the stored one. */
    share(name: string, own: Redacted.Redacted): Effect.Effect<Redacted.Redacted>
  }
>()("effect-relayer/server/secrets/ServiceSecrets") {
  static readonly layer = Layer.effect(
    ServiceSecrets,
    Effect.gen(function* () {
      const repo = yield* ServiceSecretsRepo.make
      const secrets = yield* Secrets
      const known = new Map<string, string>()

      const keep = Effect.fnUntraced(function* (name: string, own: Redacted.Redacted) {
        return yield* repo.keep(name, yield* secrets.seal(own, place(name)))
      })

      const share = Effect.fnUntraced(function* (name: string, own: Redacted.Redacted) {
        const found = yield* repo.find(name)
        const kept = Option.isSome(found) ? found.value : yield* keep(name, own)
        return yield* Effect.orDie(secrets.open(kept, place(name)))
      })

      const load = Effect.fnUntraced(function* (name: string) {
        const secret = Redacted.value(yield* share(name, Redacted.make(randomBytes(32).toString("base64"))))
        known.set(name, secret)
        return secret
      })

      const get = (name: string) =>
        Effect.suspend(() => {
          const secret = known.get(name)
          return secret === undefined ? load(name) : Effect.succeed(secret)
        })

      return ServiceSecrets.of({ get, share })
    })
  )
}
