// Relayers: the rules of creating one, and reading.
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { pageRequest } from "../../domain/Page.ts"
import type { Page, PageQuery } from "../../domain/Page.ts"
import { RelayerId, RelayerIdTaken, RelayerNotFound } from "../../domain/Relayer.ts"
import type { CreateRelayer, Relayer } from "../../domain/Relayer.ts"
import { BadRequest } from "../../domain/Request.ts"
import type { Violation } from "../../domain/Request.ts"
import { maskRpc } from "../../domain/Rpc.ts"
import { Networks } from "../Networks/Networks.ts"
import { Notifications } from "../Notifications/Notifications.ts"
import { Secrets } from "../Secrets/Secrets.ts"
import { Signers } from "../Signers/Signers.ts"
import { RelayersRepo } from "./RelayersRepo.ts"
import type { RelayerCount } from "./RelayersRepo.ts"

export class Relayers extends Context.Service<
  Relayers,
  {
    /**
     * `BadRequest` where signer, network or notification do not exist, or the signer already serves a relayer on that
     * network; `RelayerIdTaken` for all but one of any number of concurrent creates with one id.
     */
    create(request: CreateRelayer): Effect.Effect<Relayer, RelayerIdTaken | BadRequest>
    list(query: PageQuery): Effect.Effect<Page<Relayer>>
    get(id: RelayerId): Effect.Effect<Relayer, RelayerNotFound>
    readonly count: Effect.Effect<ReadonlyArray<RelayerCount>>
  }
>()("effect-relayer/server/Relayers/Relayers") {
  static readonly layerNoDeps = Layer.effect(
    Relayers,
    Effect.gen(function* () {
      const repo = yield* RelayersRepo
      const signers = yield* Signers
      const notifications = yield* Notifications
      const networks = yield* Networks
      const secrets = yield* Secrets
      const random = yield* SecureRandom.SecureRandom

      /** Everything that the request refers to and that is not there. */
      const missing = Effect.fn("Relayers.missing")(function* (request: CreateRelayer) {
        const violations: Array<Violation> = []
        if (!(yield* networks.exists(request.network_type, request.network))) {
          violations.push({ field: "network", message: `no ${request.network_type} network of this name` })
        }
        if (Option.isNone(yield* Effect.option(signers.get(request.signer_id)))) {
          violations.push({ field: "signer_id", message: "no signer with this id" })
        }
        const notification = request.notification_id
        if (notification !== undefined && Option.isNone(yield* Effect.option(notifications.get(notification)))) {
          violations.push({ field: "notification_id", message: "no notification with this id" })
        }
        if (violations.length === 0)
          violations.push({ field: "body", message: "refers to what changed just now: send it again" })
        return BadRequest.of(violations)
      })

      /** The id is taken, too, when a request is sent twice; that is what its sender wants to hear. */
      const signerInUse = Effect.fn("Relayers.signerInUse")(function* (id: RelayerId, request: CreateRelayer) {
        if (Option.isSome(yield* repo.find(id))) return yield* new RelayerIdTaken({})
        const other = yield* repo.findBySigner(request.signer_id, request.network_type, request.network)
        const by = Option.match(other, {
          onNone: () => "another relayer",
          onSome: (relayer) => `relayer ${relayer.id}`
        })
        return yield* BadRequest.of([{ field: "signer_id", message: `already serves ${by} on this network` }])
      })

      const seal = (id: RelayerId, urls: CreateRelayer["custom_rpc_urls"]) =>
        urls === undefined || urls.length === 0
          ? Effect.succeed({ maskedRpcUrls: undefined, rpcUrlsSealed: undefined })
          : secrets
              .seal(Redacted.make(JSON.stringify(urls)), { table: "relayers", id, column: "custom_rpc_urls" })
              .pipe(Effect.map((rpcUrlsSealed) => ({ maskedRpcUrls: urls.map(maskRpc), rpcUrlsSealed })))

      const create = Effect.fn("Relayers.create")(function* (request: CreateRelayer) {
        const known = yield* networks.exists(request.network_type, request.network)
        if (!known) return yield* Effect.flatMap(missing(request), Effect.fail)
        const id = request.id ?? RelayerId.make(yield* random.uuidV4())
        const urls = yield* seal(id, request.custom_rpc_urls)
        const relayer = yield* repo.insert({ id, request, ...urls }).pipe(
          Effect.catchTags({
            ReferenceMissing: () => Effect.flatMap(missing(request), Effect.fail),
            SignerInUse: () => signerInUse(id, request)
          })
        )
        yield* Effect.logInfo("relayer created", {
          relayer_id: id,
          network_type: relayer.network_type,
          network: relayer.network
        })
        return relayer
      })

      const list = Effect.fn("Relayers.list")((query: PageQuery) => repo.page(pageRequest(query)))

      const get = Effect.fn("Relayers.get")((id: RelayerId) =>
        Effect.flatMap(
          repo.find(id),
          Option.match({ onNone: () => Effect.fail(new RelayerNotFound({})), onSome: Effect.succeed })
        )
      )

      return Relayers.of({ create, list, get, count: repo.count })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide([RelayersRepo.layer, SecureRandom.layerWebCrypto]))
}
