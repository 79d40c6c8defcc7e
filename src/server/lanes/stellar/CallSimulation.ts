// Simulates the call of an envelope: what it costs, which authorizations it needs, and whether it would succeed.
import { Effect, Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import type { CallLimits } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import { recordedLedgers } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import type { SorobanView } from "../../../domain/transaction/stellar/StellarSeen.ts"
import * as RpcFailure from "../../chains/RpcFailure.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import * as Calls from "../../chains/stellar/StellarCalls.ts"
import { draftOf } from "../../chains/stellar/StellarDrafts.ts"
import type { Library } from "../../chains/stellar/StellarLibrary.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { validUntil } from "../../chains/stellar/StellarOperations.ts"
import { simulatedIn } from "../../chains/stellar/StellarSimulations.ts"
import type { ReadSimulation } from "../../chains/stellar/StellarSimulations.ts"

const simulateAt = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  text: string,
  mode: Calls.AuthMode,
  limits: CallLimits | undefined
) {
  const read = simulatedIn(lib, yield* node.call(Calls.simulate(text, mode)), limits)
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

const simulationMode = (request: StellarRequest, envelope: TransactionEnvelope, isGuest: boolean): Calls.AuthMode => {
  if (!envelope.operations.some(({ type }) => type === "invokeHostFunction")) return "none"
  if (isGuest) return "enforce"
  if (request.transaction_xdr !== undefined) return givesEntries(envelope) ? "enforce" : "record"
  const [operation] = request.operations ?? []
  const isGiven = operation !== undefined && operation.type !== "payment" && operation.auth?.type === "xdr"
  return isGiven ? "enforce" : "record"
}

/**
 * Entries that the simulation recorded for addresses that the request names. A simulation records that they have expired: they are made
 * valid for as long as the envelope can be. `newest`: the number of the newest ledger.
 */
const recordedFor = (
  lib: Library,
  { operations = [] }: StellarRequest,
  { auth }: ReadSimulation,
  newest: number
): ReadonlyArray<string> => {
  const [operation] = operations
  const named = operation !== undefined && operation.type !== "payment" ? operation.auth : undefined
  if (named?.type !== "addresses") return []
  return auth.flatMap(({ credentials, xdr }) =>
    credentials.kind === "address" && named.signers.includes(credentials.address)
      ? [validUntil(lib, xdr, newest + recordedLedgers)]
      : []
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

const viewOf = (envelope: TransactionEnvelope, read: ReadSimulation): SorobanView => {
  if (read.restore !== undefined) return { _tag: "NeedsRestore", ...read.restore, resourceFee: read.resourceFee }
  return {
    _tag: "Succeeds",
    resourceFee: read.resourceFee,
    data: read.data ?? "",
    recorded: [],
    ...present("untilLedger", untilLedger(envelope))
  }
}

/** A failure needs a second opinion: a node may be behind what the call needs. */
const simulate = Effect.fnUntraced(function* (
  lib: Library,
  providers: StellarProviders,
  envelope: TransactionEnvelope,
  text: string,
  mode: Calls.AuthMode
) {
  const { limits } = yield* providers.settings
  const asked = yield* Effect.result(providers.first((node) => simulateAt(lib, node, text, mode, limits)))
  if (Result.isFailure(asked)) return { view: { _tag: "Unknown" } } satisfies Simulation
  const { node, read } = asked.success
  if (read.error === undefined) return { view: viewOf(envelope, read), read } satisfies Simulation
  const other = yield* providers.second(node, (second) => simulateAt(lib, second, text, mode, limits))
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

/** What is simulated, for the account of a relayer. */
interface CallToSimulate {
  readonly address: string
  readonly request: StellarRequest
  readonly envelope: TransactionEnvelope
  /** Base64 of the envelope. */
  readonly text: string
  readonly networkId: Uint8Array
  readonly providers: StellarProviders
  readonly isGuest: boolean
}

/**
 * Recorded authorizations that the envelope will have are simulated once more, as when it is applied: an address that has to sign
 * refuses them then, and a contract that checks them needs resources for it. `newest`: the number of the newest ledger.
 */
export const simulateCall = Effect.fnUntraced(function* (
  lib: Library,
  newest: number,
  { address, envelope, isGuest, networkId, providers, request, text }: CallToSimulate
) {
  const mode = simulationMode(request, envelope, isGuest)
  if (mode !== "record") return yield* simulate(lib, providers, envelope, text, mode)
  const recording = yield* Effect.orDie(draftOf(address, request, networkId, { isRecording: true }))
  const found: Simulation = yield* simulate(lib, providers, envelope, recording, mode)
  const { read, view } = found
  const recorded = read === undefined || view?._tag !== "Succeeds" ? [] : recordedFor(lib, request, read, newest)
  if (read === undefined || recorded.length === 0) return found
  const whole = yield* Effect.orDie(draftOf(address, request, networkId, { recorded }))
  const enforced: Simulation = yield* simulate(lib, providers, envelope, whole, "enforce")
  // The authorizations that the call asks for are those that were recorded.
  if (enforced.read === undefined || enforced.view?._tag !== "Succeeds") return enforced
  return {
    view: { ...enforced.view, recorded, untilLedger: newest + recordedLedgers },
    read: { ...enforced.read, auth: read.auth }
  } satisfies Simulation
})
