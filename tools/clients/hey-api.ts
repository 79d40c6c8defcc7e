// Creates, lists and reads a relayer with the client that @hey-api/openapi-ts generates.
import * as Api from "./client"
import { client } from "./client/client.gen"

interface Options {
  readonly baseUrl: string
  readonly apiKey: string
  readonly id: string
}

export const createAndList = async ({ baseUrl, apiKey, id }: Options) => {
  client.setConfig({ baseUrl, auth: apiKey })
  const { data: signer } = await Api.signersCreate({ throwOnError: true, body: { id: `${id}-key`, type: "plain" } })
  const { data: created } = await Api.relayersCreate({
    throwOnError: true,
    headers: { "Idempotency-Key": `create-${id}` },
    body: {
      id,
      name: "Created by hey-api",
      network: "sepolia",
      network_type: "evm",
      paused: false,
      signer_id: signer.data.id,
      policies: { min_balance: "1000", eip1559_pricing: true }
    }
  })
  const { data: list } = await Api.relayersList({
    throwOnError: true,
    query: { page: 1, per_page: 100, network_type: "evm" }
  })
  const { data: read } = await Api.relayersGet({ throwOnError: true, path: { relayer_id: id } })
  const missing = await Api.relayersGet({ path: { relayer_id: "missing" } })
  return {
    created: created.data.id,
    usesSigner: created.data.signer_id === signer.data.id,
    listed: list.data.some((relayer) => relayer.id === id) && list.pagination.total_items > 0,
    policies: read.data.policies,
    refused: missing.error?.message
  }
}
