// What the CLI says about providers and accounts after `networks create` and `relayers create`. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EvmRpc from "../../testkit/EvmRpc.ts"
import { secret } from "../../testkit/RpcServer.ts"
import { running } from "../../testkit/process/Commands.ts"

const address = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a"

describe("a create of the command line", () => {
  it.live("names failing RPC URLs of a new relayer, and what to send where, on stderr", () =>
    Effect.gen(function* () {
      const { service, call } = yield* running({ OUTBOUND_ALLOW: "127.0.0.0/8", WATCH: "off" })
      yield* service.call("/api/v1/signers", { body: { id: "hot", type: "plain", config: { key: "11".repeat(32) } } })
      const create = Effect.fnUntraced(function* (id: string, url: string, policies: object = {}) {
        const fields = { id, name: id, network_type: "evm", network: "sepolia", signer_id: "hot" }
        const data = JSON.stringify({ ...fields, custom_rpc_urls: [{ url }], policies })
        const { code, stdout, stderr } = yield* call(["relayers", "create", "--data", data, "-o", "json"])
        assert.strictEqual(code, 0, stderr)
        assert.deepInclude(JSON.parse(stdout) as object, { id })
        assert.notInclude(stderr, secret)
        return stderr
      })
      const rpc = yield* EvmRpc.make({ balance: 40n })
      const masked = `${new URL(rpc.url).origin}/***`

      assert.strictEqual(yield* create("good", rpc.url), "")
      assert.strictEqual(
        yield* create("poor", rpc.url, { min_balance: 100 }),
        `Send at least 60 wei to ${address} on evm:sepolia: it has 40 of the 100 that it needs.\n`
      )
      rpc.account.chainId = 31_337n
      assert.strictEqual(
        yield* create("wrong", rpc.url),
        `RPC URL ${masked}: eth_chainId: serves another chain: it has the chain id 31337, and the network has 11155111.\n`
      )
      assert.strictEqual(
        yield* create("dead", "http://127.0.0.1:1"),
        "RPC URL http://127.0.0.1:1: eth_chainId: cannot be reached.\n"
      )
    })
  )

  it.live("names failing RPC URLs of a new network", () =>
    Effect.gen(function* () {
      const { call } = yield* running({ OUTBOUND_ALLOW: "127.0.0.0/8", WATCH: "off" })
      const rpc = yield* EvmRpc.make({ chainId: 31_337n })
      const create = (name: string, url: string) =>
        call(["networks", "create", "--network-type", "evm", "--name", name, "--from", "sepolia", "--rpc-url", url])
      const dead = yield* create("dead", "http://127.0.0.1:1")
      assert.deepStrictEqual(
        [dead.code, dead.stderr],
        [0, "RPC URL http://127.0.0.1:1: eth_chainId: cannot be reached.\n"]
      )
      const wrong = yield* create("wrong", rpc.url)
      assert.deepStrictEqual(
        [wrong.code, wrong.stderr],
        [
          0,
          `RPC URL ${new URL(rpc.url).origin}/***: eth_chainId: serves another chain: it has the chain id 31337, and the network has 11155111.\n`
        ]
      )
    })
  )
})
