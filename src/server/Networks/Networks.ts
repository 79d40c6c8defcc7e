// The registry of networks.
import { Context, Effect, Layer } from "effect"
import { NetworkNotFound, networkId } from "../../domain/Network.ts"
import type { Network, NetworkId, NetworkName, NetworkType } from "../../domain/Network.ts"
import { pageRequest } from "../../domain/Page.ts"
import type { Page, PageQuery } from "../../domain/Page.ts"
import { builtin } from "./builtin.ts"

export class Networks extends Context.Service<
  Networks,
  {
    list(query: PageQuery): Effect.Effect<Page<Network>>
    get(id: NetworkId): Effect.Effect<Network, NetworkNotFound>
    exists(type: NetworkType, name: NetworkName): Effect.Effect<boolean>
  }
>()("effect-relayer/server/Networks/Networks") {
  static readonly layer = Layer.sync(Networks, () => {
    const byId = new Map(builtin.map((network) => [network.id, network]))

    const list = Effect.fn("Networks.list")((query: PageQuery) => {
      const request = pageRequest(query)
      const items = builtin.slice(request.offset, request.offset + request.perPage)
      return Effect.succeed({ items, total: builtin.length, request })
    })

    const get = Effect.fn("Networks.get")(function* (id: NetworkId) {
      const network = byId.get(id)
      return network ?? (yield* new NetworkNotFound({}))
    })

    const exists = (type: NetworkType, name: NetworkName) => Effect.succeed(byId.has(networkId(type, name)))

    return Networks.of({ list, get, exists })
  })
}
