// A facilitator in the process of the test, with the stock scheme.
import { Effect } from "effect"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { createFacilitator } from "../../../packages/x402/src/Facilitator.ts"
import type { Options } from "../../../packages/x402/src/Facilitator.ts"
import { overHttp } from "../../../packages/x402/src/http.ts"
import type { Hex } from "../../../packages/x402/src/Relayers.ts"
import type { ExactScheme } from "../../../packages/x402/src/X402.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { seller, stock } from "../../../testkit/x402/Payments.ts"

interface Module {
  readonly ExactEvmScheme: ExactScheme
}

const file = path.join(stock, "node_modules/@x402/evm/dist/esm/exact/facilitator/index.mjs")

const { ExactEvmScheme }: Module = await import(pathToFileURL(file).href)

interface Given {
  readonly token: Hex
  readonly apiKey: string
  readonly over?: Partial<Options>
  /** Further fields of the token. */
  readonly offered?: object
}

/** On the API of the test. */
export const facilitatorOf = Effect.fnUntraced(function* ({ token, apiKey, over = {}, offered = {} }: Given) {
  const { baseUrl } = yield* TestApi.TestApi
  return createFacilitator({
    exact: ExactEvmScheme,
    relayers: overHttp({ baseUrl, apiKey }),
    networks: [{ network: "eip155:31337", blockTime: 1, tokens: [{ address: token, ...offered }] }],
    sellers: [seller],
    ...over
  })
})
