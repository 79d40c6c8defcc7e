// Answers calls to chains inside the program: a stand-in for a node, for a gateway that needs credentials, or for a socket.
//
//   npm run example examples/own-chain.ts
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { ChainAccess, Outbound, RelayerHealth, Relayers, Services, SignerBackends, Signers, Sql } from "effect-relayer"
import { evm } from "effect-relayer/evm"
import { solana } from "effect-relayer/solana"
import { stellar } from "effect-relayer/stellar"

const Call = Schema.Struct({ id: Schema.Finite, method: Schema.String })
const Body = Schema.fromJsonString(Schema.Union([Call, Schema.Array(Call)]))

/** Sepolia, where every account has one ether and has sent seven transactions. */
const results: Readonly<Record<string, string>> = {
  eth_chainId: "0xaa36a7",
  eth_getBalance: "0xde0b6b3a7640000",
  eth_getTransactionCount: "0x7"
}

const answer = ({ id, method }: typeof Call.Type) => ({ jsonrpc: "2.0", id, result: results[method] ?? null })

/**
 * The service sends a JSON-RPC call, or an array of calls, as the body of a POST. An array of calls wants an array of answers. If a
 * call fails, the service retries it, also with other providers.
 */
const client = HttpClient.make((request) =>
  Effect.gen(function* () {
    const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
    const calls = yield* Effect.orDie(Schema.decodeEffect(Body)(body))
    const answers = "id" in calls ? answer(calls) : calls.map(answer)
    return HttpClientResponse.fromWeb(request, Response.json(answers))
  })
)

/** Requires a database. */
export const services = (masterKey: Services.Options["masterKey"]) =>
  Services.layerNoDeps({ networks: [evm, solana, stellar], masterKey, jobs: false }).pipe(
    Layer.provide([Layer.succeed(ChainAccess, ChainAccess.of({ client })), SignerBackends.layer]),
    Layer.provide(Outbound.layer())
  )

/** Returns what it has printed. */
export const program = Effect.gen(function* () {
  const signer = yield* (yield* Signers).create({ type: "plain" })
  const { value: relayer } = yield* (yield* Relayers).create({
    name: "Payouts",
    network: "sepolia",
    network_type: "evm",
    paused: false,
    signer_id: signer.id
  })
  const { balance, unit } = yield* (yield* RelayerHealth).balance(relayer.id)
  yield* Console.log(`${balance} ${unit}`)
  return `${balance} ${unit}`
})

if (import.meta.main) {
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/own-chain" })
  const layer = services(Redacted.make(new Uint8Array(32).fill(1))).pipe(Layer.provide(database))
  program.pipe(Effect.provide(layer), NodeRuntime.runMain)
}
