// Random requests for relayers that meet: few ids, signers and networks.
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maskRpc } from "../../../src/domain/chain/Rpc.ts"
import { NetworkName } from "../../../src/domain/network/Network.ts"
import { CreateRelayer, RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { RelayerSort } from "../../../src/domain/relayer/Relayer.ts"
import { pageRequest } from "../../../src/domain/request/Page.ts"
import type { PageQuery } from "../../../src/domain/request/Page.ts"
import { SignerId } from "../../../src/domain/signer/Signer.ts"
import * as RelayerPagesRepo from "../../../src/server/relayers/RelayerPagesRepo.ts"
import { makeNewRelayersRepo } from "../../../src/server/relayers/RelayersRepo.ts"
import { RelayerMacs } from "../../../src/server/relayers/StoredRelayer.ts"

/** Three signers, and nothing else. */
export const clear = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE relayers, signers CASCADE`
  yield* sql`
    INSERT INTO signers (id, type, evm_address, solana_address, stellar_address)
    SELECT id, 'plain', 'evm-' || id, 'solana-' || id, 'stellar-' || id FROM unnest(ARRAY['s1', 's2', 's3']) id`
})

export const Small = Schema.Struct({
  id: Schema.Literals(["a", "b", "c", "d"]),
  signer: Schema.Literals(["s1", "s2", "s3", "nobody"]),
  network: Schema.Literals(["n1", "n2"]),
  template: CreateRelayer
})

export const toRequest = ({ id, signer, network, template }: typeof Small.Type): CreateRelayer => {
  const { notification_id: _, ...rest } = template
  return {
    ...rest,
    id: RelayerId.make(id),
    signer_id: SignerId.make(signer),
    network: NetworkName.make(network)
  } as CreateRelayer
}

export const insert = (request: CreateRelayer) =>
  Effect.gen(function* () {
    const repo = yield* makeNewRelayersRepo
    const given = request.custom_rpc_urls ?? []
    const urls = {
      custom_rpc_urls: { masked: given.length === 0 ? undefined : given.map(maskRpc), sealed: undefined },
      custom_private_rpc_urls: { masked: undefined, sealed: undefined }
    }
    const id = RelayerId.make(request.id ?? "never")
    const { network_type, network, signer_id } = request
    const address = `${network_type}-${signer_id}`
    const mac = yield* (yield* RelayerMacs).make({ id, network_type, network, signer_id, address })
    const account = { address, mac }
    return yield* repo.insert({ id, request, urls, ownNetworkId: undefined, account })
  })

export const page = (query: PageQuery, sort: RelayerSort = "created_at") =>
  Effect.flatMap(RelayerPagesRepo.make, (repo) =>
    repo.find({ request: pageRequest(query), filter: {}, ids: undefined, sort, hasHealth: false, from: undefined })
  ).pipe(Effect.map(({ page }) => page))
