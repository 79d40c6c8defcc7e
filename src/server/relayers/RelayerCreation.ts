// The rules of creating a relayer.
import { Effect, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { Networks } from "../networks/Networks.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { networkId } from "../../domain/network/Network.ts"
import { RelayerId, RelayerIdTaken } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, RelayerIsChannel } from "../../domain/relayer/Relayer.ts"
import { checkResourceSize } from "../../domain/request/Request.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import * as CreationBatches from "./CreationBatches.ts"
import * as RelayerPreview from "./RelayerPreview.ts"
import * as RelayerReferences from "./RelayerReferences.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import * as RelayerUrls from "./RelayerUrls.ts"

export const make = Effect.gen(function* () {
  const repo = yield* RelayersRepo.make
  const networks = yield* Networks
  const random = yield* SecureRandom.SecureRandom
  const urls = yield* RelayerUrls.make
  const refuse = yield* RelayerReferences.make
  const insert = yield* CreationBatches.make
  const warningsOf = yield* RelayerPreview.make

  const insertChecked = Effect.fnUntraced(function* (id: RelayerId, request: CreateRelayer) {
    yield* checkResourceSize(request)
    const located = yield* networks.locate(request.network_type, request.network)
    if (located === undefined) return yield* refuse(request)
    const relayer = {
      id,
      request,
      urls: yield* urls.store(id, request.custom_rpc_urls),
      ownNetworkId: located === "own" ? networkId(request.network_type, request.network) : undefined,
      origin: yield* currentOrigin
    }
    return yield* Effect.catchTag(insert(relayer), "ReferenceMissing", () => refuse(request))
  })

  /** A repeated request fails with the conflict of its id, whatever else is wrong, such as a deleted signer. */
  const takenFirst = (id: RelayerId) => (refused: BadRequest | RelayerIsChannel) =>
    Effect.flatMap(repo.find(id), (found) => Effect.fail(Option.isSome(found) ? new RelayerIdTaken({}) : refused))

  const checkCaller = Effect.fnUntraced(function* (request: CreateRelayer) {
    // A new relayer may use any signer, also one of relayers that a limited caller cannot see.
    const { relayerIds, transactionLimits } = yield* Caller.current
    if (relayerIds !== undefined) return yield* new Caller.Forbidden({})
    // Providers report what the transactions of the key have cost, which counts for its limits.
    if (transactionLimits !== undefined && request.custom_rpc_urls !== undefined) {
      return yield* TransactionLimitExceeded.ofChange("custom_rpc_urls")
    }
  })

  const create = Effect.fn("Relayers.create")(function* (request: CreateRelayer) {
    yield* checkCaller(request)
    const id = RelayerId.make(request.id ?? (yield* random.uuidV7()))
    const relayer = yield* Effect.catchTag(
      insertChecked(id, request),
      ["BadRequest", "RelayerIsChannel"],
      takenFirst(id)
    )
    const { network_type, network } = request
    yield* Effect.annotateLogs(Effect.logInfo("relayer created"), { relayer_id: id, network_type, network })
    return relayer
  })

  /** Fails as `create` does, as far as the request alone says. */
  const check = (request: CreateRelayer) =>
    Effect.all([checkCaller(request), checkResourceSize(request), urls.check(request.custom_rpc_urls)], {
      discard: true
    })

  return {
    create,
    check,
    preview: (request: CreateRelayer) => Effect.andThen(checkCaller(request), warningsOf(request))
  }
})
