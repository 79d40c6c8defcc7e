// Relayers on a node, each with an account of its own that has funds.
import { Array, Effect, Schedule, Schema } from "effect"
import { randomUUID } from "node:crypto"
import type { Answer, Listening } from "../../testkit/process/Service.ts"
import type { Node } from "./Node.ts"

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))
const Relayer = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ id: Schema.String, address: Schema.String }) })
)

/** How long a busy machine may refuse to create a resource. */
const patience = "2 minutes"

/** Whether the service is busy, or still runs the first request with this `Idempotency-Key`. */
const isBusy = ({ status, headers }: Answer): boolean =>
  status === 503 || (status === 409 && headers.has("retry-after"))

/** Creates a resource, and returns the text of the response. The request is repeated with the same key while the service is busy. */
export const create = (service: Listening, resource: string, body: object) => {
  const headers = { "idempotency-key": randomUUID() }
  return service.call(`/api/v1/${resource}`, { body, headers }).pipe(
    Effect.repeat({ until: (answer) => !isBusy(answer), schedule: Schedule.spaced("1 second") }),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.die(new Error(`${resource}: the service was busy for ${patience}`))
    }),
    Effect.flatMap(({ status, text }) =>
      status === 201 ? Effect.succeed(text) : Effect.die(new Error(`${resource}: ${status} ${text}`))
    )
  )
}

interface Added {
  readonly count: number
  readonly policies?: object
  /** The request for the signer of one relayer. Absent: a signer with a key that the service makes. */
  readonly signer?: () => object
}

interface Given extends Added {
  /** Fields of the network that differ. */
  readonly network?: object
}

/** Creates a relayer and a signer for it. `fields`: `network`, `network_type` and `policies` of the relayer. */
export const createOne = (service: Listening, fields: object, signer: object = { type: "plain" }) =>
  Effect.gen(function* () {
    const { id } = (yield* Schema.decodeEffect(Created)(yield* create(service, "signers", signer))).data
    const body = { name: "R", paused: false, signer_id: id, ...fields }
    return (yield* Schema.decodeEffect(Relayer)(yield* create(service, "relayers", body))).data
  }).pipe(Effect.orDie)

/** Settings of a service whose relayers may use a node of this machine. */
export const env = { OUTBOUND_ALLOW: "127.0.0.1", WATCH: "on" }

/** 1,000 ether. */
export const funds = "0x3635c9adc5dea00000"

/** Relayers on the network that `make` has created. */
export const add = (service: Listening, node: Node, { count, policies, signer }: Added) =>
  Effect.forEach(Array.range(1, count), () =>
    Effect.tap(createOne(service, { network: "anvil", network_type: "evm", policies }, signer?.()), ({ address }) =>
      node.call("anvil_setBalance", [address, funds])
    )
  )

export const make = Effect.fnUntraced(function* (service: Listening, node: Node, { network, ...added }: Given) {
  yield* create(service, "networks", {
    network_type: "evm",
    name: "anvil",
    chain_id: 31_337,
    rpc_urls: [node.url],
    average_blocktime_ms: 1000,
    required_confirmations: 2,
    features: ["eip1559"],
    symbol: "ETH",
    ...network
  })
  return yield* add(service, node, added)
})

export type Relayer = Effect.Success<ReturnType<typeof createOne>>
