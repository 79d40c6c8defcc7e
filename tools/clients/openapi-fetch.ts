// Creates, lists and reads a relayer with openapi-fetch and the types of openapi-typescript.
import createClient from "openapi-fetch"
import type { paths } from "./types"

interface Options {
  readonly baseUrl: string
  readonly apiKey: string
  readonly id: string
}

const present = <A>({ data, error }: { data?: A; error?: unknown }): A => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

export const createAndList = async ({ baseUrl, apiKey, id }: Options) => {
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${apiKey}` } })
  const signer = present(await client.POST("/api/v1/signers", { body: { id: `${id}-key`, type: "plain" } }))
  const created = present(
    await client.POST("/api/v1/relayers", {
      params: { header: { "Idempotency-Key": `create-${id}` } },
      body: {
        id,
        name: "Created by openapi-fetch",
        network: "sepolia",
        network_type: "evm",
        paused: false,
        signer_id: signer.data.id,
        policies: { min_balance: "1000", eip1559_pricing: true }
      }
    })
  )
  const list = present(
    await client.GET("/api/v1/relayers", { params: { query: { page: 1, per_page: 100, network_type: "evm" } } })
  )
  const read = present(await client.GET("/api/v1/relayers/{relayer_id}", { params: { path: { relayer_id: id } } }))
  const missing = await client.GET("/api/v1/relayers/{relayer_id}", { params: { path: { relayer_id: "missing" } } })
  return {
    created: created.data.id,
    usesSigner: created.data.signer_id === signer.data.id,
    listed: list.data.some((relayer) => relayer.id === id) && list.pagination.total_items > 0,
    policies: read.data.policies,
    refused: missing.error?.message
  }
}
