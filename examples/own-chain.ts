// Answers calls to chains inside the program: a stand-in for a node, for a gateway that needs credentials, or for a socket.
//
//   node examples/own-chain.ts
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { ChainAccess, Outbound, RelayerHealth, Relayers, Services, SignerBackends, Signers, Sql } from "effect-relayer"

const Call = Schema.fromJsonString(Schema.Struct({ id: Schema.Finite, method: Schema.String }))

/** Sepolia, where every account has one ether and has sent seven transactions. */
const results: Readonly<Record<string, string>> = {
  eth_chainId: "0xaa36a7",
  eth_getBalance: "0xde0b6b3a7640000",
  eth_getTransactionCount: "0x7"
}

/** The service sends a JSON-RPC call as the body of a POST. If a call fails, it retries, also with other providers. */
const client = HttpClient.make((request) =>
  Effect.gen(function* () {
    const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
    const { id, method } = yield* Effect.orDie(Schema.decodeEffect(Call)(body))
    return HttpClientResponse.fromWeb(request, Response.json({ jsonrpc: "2.0", id, result: results[method] ?? null }))
  })
)

/** Requires a database. */
export const services = (masterKey: Services.Options["masterKey"]) =>
  Services.layerNoDeps({ masterKey, jobs: false }).pipe(
    Layer.provide([Layer.succeed(ChainAccess, ChainAccess.of({ client })), SignerBackends.layer]),
    Layer.provide(Outbound.layer())
  )

/** Returns what it has printed. */
export const program = Effect.gen(function* () {
  const signer = yield* (yield* Signers).create({ type: "plain" })
  const { id } = yield* (yield* Relayers).create({
    name: "Payouts",
    network: "sepolia",
    network_type: "evm",
    paused: false,
    signer_id: signer.id
  })
  const { balance, unit } = yield* (yield* RelayerHealth).balance(id)
  yield* Console.log(`${balance} ${unit}`)
  return `${balance} ${unit}`
})

if (import.meta.main) {
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/own-chain" })
  const layer = services(Redacted.make(new Uint8Array(32).fill(1))).pipe(Layer.provide(database))
  program.pipe(Effect.provide(layer), NodeRuntime.runMain)
}
