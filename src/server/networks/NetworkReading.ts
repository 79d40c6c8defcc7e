// Reads networks with what they inherit, and their unmasked RPC URLs.
import { Effect } from "effect"
import { NetworkNotFound, siblingId } from "../../domain/network/Network.ts"
import type { NetworkId } from "../../domain/network/Network.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as NetworkResolver from "./NetworkResolver.ts"
import * as NetworksRepo from "./NetworksRepo.ts"
import * as NetworkUrls from "./NetworkUrls.ts"

export const orNotFound = <A>(found: A | undefined) =>
  found === undefined ? Effect.fail(new NetworkNotFound({})) : Effect.succeed(found)

export const make = Effect.gen(function* () {
  const repo = yield* NetworksRepo.make
  const secrets = yield* Secrets

  /** `id` and everything that it inherits from; with `from`, also that network, which it is about to inherit from. */
  const read = (id: NetworkId, from?: string | null) =>
    Effect.map(repo.find(from ? [id, siblingId(id, from)] : [id]), NetworkResolver.make)

  const rpcUrls = Effect.fnUntraced(function* (resolver: NetworkResolver.NetworkResolver, id: NetworkId) {
    const { giver, urls, sealed } = yield* orNotFound(resolver.rpcSource(id))
    return sealed === undefined ? urls : yield* NetworkUrls.open(secrets, giver, sealed)
  })

  return { read, rpcUrls }
})
