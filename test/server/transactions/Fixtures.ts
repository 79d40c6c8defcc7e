// A relayer on a network without a chain: what is sent stays pending.
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"

export const receiver = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

export const transactions = "/api/v1/relayers/sender/transactions"

/** A network whose provider does not answer. */
export const network = {
  name: "nowhere",
  network_type: "evm",
  chain_id: 31_337,
  required_confirmations: 1,
  average_blocktime_ms: 1000,
  symbol: "ETH",
  features: ["eip1559"],
  is_testnet: true,
  rpc_urls: ["http://127.0.0.1:1"]
}

/** `policies` of the relayer `sender`. */
export const prepare = (policies: object = {}) =>
  Effect.gen(function* () {
    const { call } = yield* TestApi.TestApi
    yield* call("/api/v1/networks", { body: network })
    yield* call("/api/v1/signers", { body: { id: "hot", type: "plain", config: { key: "03".repeat(32) } } })
    for (const [id, type, name] of [
      ["sender", "evm", "nowhere"],
      ["other", "evm", "nowhere"],
      ["sol", "solana", "devnet"]
    ] as const) {
      const body = { id, name: id, network_type: type, network: name, signer_id: "hot", paused: false }
      const { status, text } = yield* call("/api/v1/relayers", {
        body: { ...body, ...(id === "sender" ? { policies } : {}) }
      })
      if (status !== 201) return yield* Effect.die(new Error(text))
    }
  })

export const send = (body: object, call: Omit<TestApi.Call, "body"> = {}) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call(transactions, { ...call, method: "POST", body }))

/** Fields of a transaction of a response. */
export interface Shown {
  readonly id: string
  readonly status: string
  readonly value: string
  readonly code?: string
  readonly nonce?: number
  readonly external_id?: string
  readonly is_canceled: boolean
}

export const dataOf = ({ json }: TestApi.Answer) => json.data as Shown

export const count = Effect.map(
  Effect.flatMap(TestApi.TestApi, ({ call }) => call(transactions)),
  ({ json }) => (json.pagination as { readonly total_items: number }).total_items
)

/** A key with these scopes, and more fields of its request. */
export const makeKey = (scopes: ReadonlyArray<string>, more: object = {}) =>
  Effect.map(
    Effect.flatMap(TestApi.TestApi, ({ call }) =>
      call("/api/v1/api-keys", { body: { name: "narrow", scopes, ...more } })
    ),
    ({ json }) => (json.data as { readonly key: string }).key
  )
