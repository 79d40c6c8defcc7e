// Simulates the call of an envelope: what it costs, which authorizations it needs, and whether it would succeed.
import { Effect, Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import type { StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import type { SorobanView } from "../../../domain/transaction/stellar/StellarSeen.ts"
import * as RpcFailure from "../../chains/RpcFailure.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import * as Calls from "../../chains/stellar/StellarCalls.ts"
import type { Library } from "../../chains/stellar/StellarLibrary.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { simulatedIn } from "../../chains/stellar/StellarSimulations.ts"
import type { ReadSimulation } from "../../chains/stellar/StellarSimulations.ts"

const simulateAt = Effect.fnUntraced(function* (lib: Library, node: RpcNode, text: string, mode: "record" | "enforce") {
  const read = simulatedIn(lib, yield* node.call(Calls.simulate(text, mode)))
  return read === undefined ? yield* RpcFailure.failure("invalid_answer").of("simulateTransaction") : { node, read }
})

export interface Simulation {
  readonly view: SorobanView | undefined
  /** What the provider that was asked first answered. Absent: it did not answer, or its answer was no simulation. */
  readonly read?: ReadSimulation
}

/** Whether the caller gave entries, which the simulation has to check. */
const givesEntries = ({ operations }: TransactionEnvelope): boolean =>
  operations.some((operation) => operation.type === "invokeHostFunction" && operation.auth.length > 0)

export const simulationMode = (
  request: StellarRequest,
  envelope: TransactionEnvelope,
  isGuest: boolean
): "record" | "enforce" => {
  if (isGuest) return "enforce"
  if (request.transaction_xdr !== undefined) return givesEntries(envelope) ? "enforce" : "record"
  const [operation] = request.operations ?? []
  const isGiven = operation !== undefined && operation.type !== "payment" && operation.auth?.type === "xdr"
  return isGiven ? "enforce" : "record"
}

/** Entries that the simulation recorded for addresses that the request names. */
const recordedFor = ({ operations = [] }: StellarRequest, { auth }: ReadSimulation): ReadonlyArray<string> => {
  const [operation] = operations
  const named = operation !== undefined && operation.type !== "payment" ? operation.auth : undefined
  if (named?.type !== "addresses") return []
  return auth.flatMap(({ credentials, xdr }) =>
    credentials.kind === "address" && named.signers.includes(credentials.address) ? [xdr] : []
  )
}

/** The lowest ledger at which an authorization that the caller gave expires. */
const untilLedger = ({ operations }: TransactionEnvelope): number | undefined => {
  const ledgers = operations.flatMap((operation) =>
    operation.type === "invokeHostFunction"
      ? operation.auth.flatMap(({ credentials }) => (credentials.kind === "address" ? [credentials.untilLedger] : []))
      : []
  )
  return ledgers.length === 0 ? undefined : Math.min(...ledgers)
}

const viewOf = (request: StellarRequest, envelope: TransactionEnvelope, read: ReadSimulation): SorobanView => {
  if (read.restore !== undefined) return { _tag: "NeedsRestore", ...read.restore, resourceFee: read.resourceFee }
  return {
    _tag: "Succeeds",
    resourceFee: read.resourceFee,
    data: read.data ?? "",
    recorded: recordedFor(request, read),
    ...present("untilLedger", untilLedger(envelope))
  }
}

/** A failure needs a second opinion: a node may be behind what the call needs. */
export const simulate = Effect.fnUntraced(function* (
  lib: Library,
  providers: StellarProviders,
  request: StellarRequest,
  envelope: TransactionEnvelope,
  text: string,
  mode: "record" | "enforce"
) {
  const asked = yield* Effect.result(providers.first((node) => simulateAt(lib, node, text, mode)))
  if (Result.isFailure(asked)) return { view: { _tag: "Unknown" } } satisfies Simulation
  const { node, read } = asked.success
  if (read.error === undefined) return { view: viewOf(request, envelope, read), read } satisfies Simulation
  const other = yield* providers.second(node, (second) => simulateAt(lib, second, text, mode))
  const { error } = read
  const view: SorobanView =
    other === "not_configured"
      ? { _tag: "Fails", error }
      : other === undefined
        ? { _tag: "FailsAlone" }
        : other.read.error === undefined
          ? { _tag: "Disagrees" }
          : { _tag: "Fails", error }
  return { view } satisfies Simulation
})
