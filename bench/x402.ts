// Measures payments of x402 from the request to settle until its answer, in bursts on blocks of a second, beside the stock facilitator with
// viem's nonce manager in the same run. Only the ratio is comparable between runs. `npm --prefix tools/x402 ci` installs the stock packages.
//
//   node bench/x402.ts
//   node bench/x402.ts --rounds 10
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as path from "node:path"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import type { Hex } from "../packages/x402/src/Relayers.ts"
import * as Anvil from "../testkit/Anvil.ts"
import * as Folder from "../testkit/process/Folder.ts"
import * as Service from "../testkit/process/Service.ts"
import * as Payments from "../testkit/x402/Payments.ts"
import * as Programs from "../testkit/x402/Programs.ts"

/** Payments of a burst, each of a payer of its own. */
const burst = 20

/** A burst is sent by one client: the facilitator. */
const unlimited = { RATE_LIMIT_REQUESTS_PER_SECOND: "2000", RATE_LIMIT_BURST_SIZE: "4000" }

const flags = {
  rounds: Flag.Int("rounds").pipe(Flag.withDescription("Bursts of each facilitator (default 3)"), Flag.withDefault(3))
}

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((one, other) => one - other)[Math.ceil(values.length * share) - 1] ?? Number.NaN

/** A service with a relayer on the node, and the package in front of it. */
const own = Effect.fnUntraced(function* (node: Payments.Node, token: Hex) {
  const home = yield* Folder.folder
  const service = yield* Service.listen({
    folder: path.join(home, "."),
    env: { API_KEY: Service.apiKey, OUTBOUND_ALLOW: "127.0.0.1", WATCH: "on", ...unlimited }
  })
  const create = Effect.fnUntraced(function* (resource: string, body: object) {
    const { status, text } = yield* service.call(`/api/v1/${resource}`, { body })
    if (status !== 201) return yield* Effect.die(new Error(text))
    return JSON.parse(text).data
  })
  yield* create("networks", Anvil.networkOf(node, "chain"))
  yield* create("signers", { id: "x402", type: "plain", config: { key: generatePrivateKey().slice(2) } })
  const relayer = { id: "x402", name: "x402", network: "chain", network_type: "evm", paused: false, signer_id: "x402" }
  const { address } = yield* create("relayers", relayer)
  yield* node.fund(address, 10n ** 20n)
  return yield* Programs.start("facilitator.mjs", {
    FACILITATOR: JSON.stringify({
      service: { baseUrl: service.baseUrl, apiKey: Service.apiKey },
      networks: [{ network: "eip155:31337", blockTime: 1, tokens: [{ address: token }] }],
      sellers: [Payments.seller]
    })
  })
})

const stock = Effect.fnUntraced(function* (node: Payments.Node) {
  const key = generatePrivateKey()
  yield* node.fund(privateKeyToAccount(key).address, 10n ** 20n)
  return yield* Programs.start("stock.mjs", {
    STOCK: JSON.stringify({ node: node.url, key, chainId: node.chainId })
  })
})

/** Milliseconds of each payment of a burst. */
const measure = Effect.fnUntraced(function* (url: string, token: Hex, keys: ReadonlyArray<Hex>) {
  const bodies = yield* Effect.forEach(keys, (key) => Payments.signed({ token, key }))
  return yield* Effect.promise(() =>
    Promise.all(
      bodies.map(async ({ body }) => {
        const begun = performance.now()
        const response = await fetch(`${url}/settle`, {
          method: "POST",
          headers: { authorization: `Bearer ${Payments.seller.key}`, "content-type": "application/json" },
          body: JSON.stringify(body)
        })
        const { success, errorMessage } = JSON.parse(await response.text())
        if (success !== true) throw new Error(`not settled: ${errorMessage}`)
        return performance.now() - begun
      })
    )
  )
})

Command.make("bench:x402", flags, ({ rounds }) =>
  Effect.gen(function* () {
    const node = yield* Anvil.start({ blockTime: 1 })
    const token = yield* Payments.deploy(node, "Token")
    const keys = yield* Payments.payersOf(node, token, burst)
    const facilitators = { relayers: yield* own(node, token), stock: yield* stock(node) }
    const times: Record<keyof typeof facilitators, Array<number>> = { relayers: [], stock: [] }
    for (let round = 0; round <= rounds; round += 1) {
      for (const name of ["relayers", "stock"] as const) {
        const measured = yield* measure(facilitators[name].url, token, keys)
        yield* Console.log(`${name}, burst ${round}: ${Math.round(quantile(measured, 0.5))} ms`)
        // The first round warms both up.
        if (round > 0) times[name].push(...measured)
      }
    }
    for (const share of [0.5, 0.95]) {
      const [ours, theirs] = [quantile(times.relayers, share), quantile(times.stock, share)]
      const ratio = (ours / theirs).toFixed(2)
      yield* Console.log(
        `p${share * 100}: ${Math.round(ours)} ms, stock ${Math.round(theirs)} ms, ratio ${ratio} (${rounds} bursts of ${burst})`
      )
    }
  }).pipe(Effect.scoped)
).pipe(Command.run({ version: "1" }), Effect.provide(NodeServices.layer), NodeRuntime.runMain)
