// Signers: a key comes in or is made here, is sealed, and never leaves.
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { pageRequest } from "../../domain/Page.ts"
import type { Page, PageQuery } from "../../domain/Page.ts"
import { SignerId, SignerNotFound } from "../../domain/Signer.ts"
import type { CreateSigner, Signer, SignerIdTaken } from "../../domain/Signer.ts"
import { Secrets } from "../Secrets/Secrets.ts"
import * as Addresses from "./Addresses.ts"
import { SignersRepo } from "./SignersRepo.ts"

export class Signers extends Context.Service<
  Signers,
  {
    create(request: CreateSigner): Effect.Effect<Signer, SignerIdTaken>
    list(query: PageQuery): Effect.Effect<Page<Signer>>
    get(id: SignerId): Effect.Effect<Signer, SignerNotFound>
  }
>()("effect-relayer/server/Signers/Signers") {
  static readonly layerNoDeps = Layer.effect(
    Signers,
    Effect.gen(function* () {
      const repo = yield* SignersRepo
      const secrets = yield* Secrets
      const random = yield* SecureRandom.SecureRandom

      /** 32 random bytes lie below the order of secp256k1 but for one in 2^128. */
      const generateKey = Effect.map(random.randomBytes(32), (bytes) => Redacted.make(Hex.encode(bytes)))

      const create = Effect.fn("Signers.create")(function* (request: CreateSigner) {
        const id = request.id ?? SignerId.make(yield* random.uuidV4())
        const key = request.config?.key ?? (yield* generateKey)
        const signer: Signer = { id, type: request.type, config: {}, addresses: yield* Addresses.derive(key) }
        const sealed = yield* secrets.seal(key, { table: "signers", id, column: "key" })
        yield* repo.insert(signer, sealed)
        yield* Effect.logInfo("signer created", { signer_id: id, type: signer.type })
        return signer
      })

      const list = Effect.fn("Signers.list")((query: PageQuery) => repo.page(pageRequest(query)))

      const get = Effect.fn("Signers.get")((id: SignerId) =>
        Effect.flatMap(
          repo.find(id),
          Option.match({ onNone: () => Effect.fail(new SignerNotFound({})), onSome: Effect.succeed })
        )
      )

      return Signers.of({ create, list, get })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide([SignersRepo.layer, SecureRandom.layerWebCrypto]))
}
