// `networks check URL`: what one RPC URL can do, asked by the machine of the user.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkUrl } from "../../../src/cli/kit/UrlCheck.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import * as SolanaRpc from "../../../testkit/SolanaRpc.ts"
import * as StellarRpc from "../../../testkit/StellarRpc.ts"
import { asTimePasses } from "../../server/events/LiveApi.ts"

const check = (url: string) => asTimePasses(checkUrl(url))

describe("a check of a URL", () => {
  it.effect("finds an evm node, the batch that it takes, and what it does not answer", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.refuseBatches()
      const found = yield* check(server.url)
      assert.deepInclude(found, {
        state: "working",
        batch_size: 1,
        fee_history: true,
        finalized: false,
        archive: true
      })
      assert.notInclude(JSON.stringify(found), RpcServer.secret)
    })
  )

  it.effect("finds nodes of solana and stellar", () =>
    Effect.gen(function* () {
      const solana = yield* SolanaRpc.make()
      solana.results.set("getGenesisHash", () => "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d")
      solana.results.set("getVersion", () => ({ "solana-core": "4.1.2" }))
      solana.results.set("getFirstAvailableBlock", () => 300)
      assert.deepInclude(yield* check(solana.url), {
        client_version: "solana-core/4.1.2",
        archive: false,
        batch_size: 50
      })
      const stellar = yield* StellarRpc.make()
      stellar.results.set("getVersionInfo", () => ({ version: "27.0.0" }))
      const found = yield* check(stellar.url)
      assert.deepInclude(found, { state: "working", client_version: "stellar-rpc/27.0.0" })
      assert.notProperty(found, "archive")
    })
  )

  it.effect("says why a URL does not lead to a node, and hides the parts of the URL that may be a key", () =>
    Effect.gen(function* () {
      const page = yield* EvmRpc.make()
      page.fail("html")
      const found = yield* check(page.url)
      assert.deepInclude(found, { state: "failing", error: "getNetwork: the answer does not follow the protocol" })
      const dead = yield* RpcServer.dead
      assert.deepInclude(yield* check(dead), { state: "failing", error: "eth_chainId: cannot be reached" })
      for (const one of [found, yield* check(dead)]) assert.notInclude(JSON.stringify(one), RpcServer.secret)
    })
  )
})
