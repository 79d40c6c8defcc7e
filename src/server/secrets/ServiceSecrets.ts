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
  }
>()("effect-relayer/server/secrets/ServiceSecrets") {
  static readonly layer = Layer.effect(
    ServiceSecrets,
    Effect.gen(function* () {
      const repo = yield* ServiceSecretsRepo.make
      const secrets = yield* Secrets
      const known = new Map<string, string>()

      const keep = Effect.fnUntraced(function* (name: string) {
        const sealed = yield* secrets.seal(Redacted.make(randomBytes(32).toString("base64")), place(name))
        return yield* repo.keep(name, sealed)
      })

      const load = Effect.fnUntraced(function* (name: string) {
        const found = yield* repo.find(name)
        const kept = Option.isSome(found) ? found.value : yield* keep(name)
        const secret = Redacted.value(yield* Effect.orDie(secrets.open(kept, place(name))))
        known.set(name, secret)
        return secret
      })

      const get = (name: string) =>
        Effect.suspend(() => {
          const secret = known.get(name)
          return secret === undefined ? load(name) : Effect.succeed(secret)
        })

      return ServiceSecrets.of({ get })
    })
  )
}
