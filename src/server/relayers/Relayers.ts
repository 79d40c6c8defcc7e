// Relayers, for host programs and other features.
import { Context, Effect, Layer } from "effect"
import type { Forbidden } from "../../domain/access/Caller.ts"
import { CreateRelayer, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import type {
  Relayer,
  RelayerId,
  RelayerIdTaken,
  RelayerInUse,
  RelayerNotFound,
  RelayerQuery
} from "../../domain/relayer/Relayer.ts"
import { checked } from "../../domain/request/Checked.ts"
import type { Page } from "../../domain/request/Page.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import type { StoredRelayer } from "./StoredRelayer.ts"
import { StoredRelayers } from "./StoredRelayers.ts"

const checkCreate = checked(CreateRelayer)
const checkUpdate = checked(UpdateRelayer)

export class Relayers extends Context.Service<
  Relayers,
  {
    /**
     * Fails with `RelayerIdTaken` if the id exists, whatever else is wrong; of concurrent creates with one id, one succeeds.
     * Fails with `BadRequest` if a field is invalid, if the signer, network or notification does not exist, or if the signer cannot serve the
     * network type; with `Forbidden` if the caller is limited to other relayers.
     */
    create(request: CreateRelayer): Effect.Effect<Relayer, RelayerIdTaken | BadRequest | Forbidden>
    /** The caller sees only the relayers that its key is limited to. Fails with `BadRequest` if the cursor is invalid. */
    list(query: RelayerQuery): Effect.Effect<Page<Relayer>, BadRequest>
    get(id: RelayerId): Effect.Effect<Relayer, RelayerNotFound>
    /** Fails with `BadRequest` if the result is not a valid relayer. Concurrent patches apply one after the other. */
    update(id: RelayerId, patch: UpdateRelayer): Effect.Effect<Relayer, RelayerNotFound | BadRequest>
    delete(id: RelayerId): Effect.Effect<void, RelayerNotFound | RelayerInUse>
  }
>()("effect-relayer/server/relayers/Relayers") {
  /** @internal */
  static readonly layerNoDeps = Layer.effect(
    Relayers,
    Effect.gen(function* () {
      const stored = yield* StoredRelayers

      const valueOf = ({ value }: StoredRelayer) => value

      return Relayers.of({
        create: (request) => Effect.map(Effect.flatMap(checkCreate(request), stored.create), valueOf),
        list: (query) => Effect.map(stored.list(query), ({ page }) => page),
        get: (id) => Effect.map(stored.get(id), valueOf),
        // `PreconditionFailed` cannot occur without `ifMatch`.
        update: (id, patch) =>
          Effect.flatMap(checkUpdate(patch), (patch) => stored.update(id, patch)).pipe(
            Effect.map(valueOf),
            Effect.catchTag("PreconditionFailed", Effect.die)
          ),
        delete: (id) => Effect.catchTag(stored.delete(id), "PreconditionFailed", Effect.die)
      })
    })
  )

  /** @internal */
  static readonly layer = this.layerNoDeps.pipe(Layer.provide(StoredRelayers.layer))
}
