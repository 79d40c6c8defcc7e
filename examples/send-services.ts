// Sends a transaction with the services of this process, without HTTP, and waits until it is final. The account of the signer needs funds.
//
//   RPC_URL=http://127.0.0.1:8545 SIGNER_KEY=$(cat key.hex) npm run example examples/send-services.ts RECEIVER
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted } from "effect"
import { Networks, Relayers, Services, Signers, Sql, Transactions } from "effect-relayer"
import { evm } from "effect-relayer/evm"

const final: ReadonlySet<string> = new Set(["confirmed", "failed", "expired", "canceled"])

interface Given {
  readonly rpcUrl: string
  readonly chainId: number
  /** 32 bytes in hex. */
  readonly key: Redacted.Redacted
  readonly to: string
}

/** A relayer of its own on a network of its own. */
const makeRelayer = Effect.fnUntraced(function* ({ chainId, key, rpcUrl }: Given) {
  const networks = yield* Networks
  const signers = yield* Signers
  const relayers = yield* Relayers
  const { value: network } = yield* networks.create({
    network_type: "evm",
    name: `chain-${chainId}`,
    from: "sepolia",
    chain_id: chainId,
    average_blocktime_ms: 1000,
    required_confirmations: 1,
    rpc_urls: [{ url: rpcUrl, weight: 100 }]
  })
  const signer = yield* signers.create({ type: "plain", config: { key } })
  const { value } = yield* relayers.create({
    name: "Sends",
    network: network.name,
    network_type: "evm",
    paused: false,
    signer_id: signer.id
  })
  return value
})

/** Sends one wei, and returns the transaction when it is final. The job of the lanes signs and sends. */
export const program = Effect.fnUntraced(function* (given: Given) {
  const transactions = yield* Transactions
  const relayer = yield* makeRelayer(given)
  const { id } = yield* transactions.send(relayer.id, { to: given.to, value: 1n, external_id: "example" })
  for (;;) {
    const shown = yield* transactions.get(relayer.id, id)
    if (final.has(shown.status)) return shown
    yield* Effect.sleep("500 millis")
  }
})

/** The jobs run in this process. URLs of nodes on this machine are only called because they are allowed here. */
export const services = (masterKey: Services.Options["masterKey"]) =>
  Services.layerNoAuthentication({ networks: [evm], masterKey, outboundAllow: ["127.0.0.1"] })

if (import.meta.main) {
  const { RPC_URL: rpcUrl, CHAIN_ID = "31337", SIGNER_KEY: key } = process.env
  const [to] = process.argv.slice(2)
  if (rpcUrl === undefined || key === undefined || to === undefined) {
    process.stderr.write("usage: RPC_URL=http://… SIGNER_KEY=HEX npm run example examples/send-services.ts RECEIVER\n")
    process.exit(2)
  }
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/send-services" })
  const layer = Layer.provide(services(Redacted.make(new Uint8Array(32).fill(1))), database)
  program({ rpcUrl, chainId: Number(CHAIN_ID), key: Redacted.make(key), to }).pipe(
    Effect.flatMap(({ id, status }) => Console.log(`${id}: ${status}`)),
    Effect.provide(layer),
    NodeRuntime.runMain
  )
}
