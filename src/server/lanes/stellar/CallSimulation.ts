// Simulates the call of an envelope: what it costs, which authorizations it needs, and whether it would succeed.
import { Effect, Result } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import type { CallLimits } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import { recordedLedgers } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import type { Hiding, SorobanView } from "../../../domain/transaction/stellar/StellarSeen.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { rpcFailure } from "../../chains/RpcFailure.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import * as Calls from "../../chains/stellar/StellarCalls.ts"
import { draftOf } from "../../chains/stellar/StellarDrafts.ts"
import type { Library } from "../../chains/stellar/StellarLibrary.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { validUntil } from "../../chains/stellar/StellarOperations.ts"
import { simulatedIn } from "../../chains/stellar/StellarSimulations.ts"
import type { ReadSimulation } from "../../chains/stellar/StellarSimulations.ts"
import type { OwnAccounts } from "./OwnAccounts.ts"

const simulateAt = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  text: string,
  mode: Calls.AuthMode,
  limits: CallLimits | undefined
) {
  const read = simulatedIn(lib, yield* node.call(Calls.simulate(text, mode)), limits)
  return read === undefined ? yield* rpcFailure("invalid_answer").of("simulateTransaction") : { node, read }
})

export interface Simulation {
  readonly view: SorobanView | undefined
  /** What the provider that was asked first answered, or another one that shows more. Absent: there is no simulation. */
  readonly read?: ReadSimulation
  /** That provider alone does not show what the call changes of accounts of the service. */
  readonly hiding?: Hiding
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

/** Whether an answer does not show what the call changes of an account of the service. */
const hidesOwn = Effect.fnUntraced(function* (ownAccounts: OwnAccounts, { unshown }: ReadSimulation) {
  if (unshown.length === 0) return false
  const own = yield* ownAccounts({ addresses: unshown })
  return unshown.some((address) => own.has(address))
})

/**
 * A failure needs a second opinion: a node may be behind what the call needs. So do changes of own accounts that a node does not show: it
 * may be one that shows none.
 */
const simulate = Effect.fnUntraced(function* (
  lib: Library,
  { envelope, ownAccounts, providers }: Pick<CallToSimulate, "envelope" | "ownAccounts" | "providers">,
  text: string,
  mode: Calls.AuthMode
) {
  const { limits } = yield* providers.settings
  const asked = yield* Effect.result(providers.first((node) => simulateAt(lib, node, text, mode, limits)))
  if (Result.isFailure(asked)) return { view: { _tag: "Unknown" } } satisfies Simulation
  const { node, read } = asked.success
  if (read.error === undefined) {
    const found = { view: viewOf(envelope, read), read } satisfies Simulation
    if (!(yield* hidesOwn(ownAccounts, read))) return found
    const look = (second: RpcNode) =>
      Effect.flatMap(simulateAt(lib, second, text, mode, limits), (other) =>
        Effect.map(hidesOwn(ownAccounts, other.read), (isHiding) => ({ ...other.read, isHiding }))
      )
    const other = yield* providers.second(node, look, ({ error, isHiding }) => error === undefined && !isHiding)
    if (other === undefined || other === "not_configured") {
      return {
        ...found,
        hiding: { host: maskUrl(node.url), isOnlyOne: other === "not_configured" }
      } satisfies Simulation
    }
    if (other.error !== undefined) return { view: { _tag: "Disagrees" } } satisfies Simulation
    return other.isHiding ? found : ({ view: viewOf(envelope, other), read: other } satisfies Simulation)
  }
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
  readonly ownAccounts: OwnAccounts
  readonly isGuest: boolean
}

/**
 * Recorded authorizations that the envelope will have are simulated once more, as when it is applied: an address that has to sign
 * refuses them then, and a contract that checks them needs resources for it. `newest`: the number of the newest ledger.
 */
export const simulateCall = Effect.fnUntraced(function* (lib: Library, newest: number, call: CallToSimulate) {
  const { address, envelope, isGuest, networkId, request, text } = call
  const mode = simulationMode(request, envelope, isGuest)
  if (mode !== "record") return yield* simulate(lib, call, text, mode)
  const recording = yield* Effect.orDie(draftOf(address, request, networkId, { isRecording: true }))
  const found: Simulation = yield* simulate(lib, call, recording, mode)
  const { read, view } = found
  const recorded = read === undefined || view?._tag !== "Succeeds" ? [] : recordedFor(lib, request, read, newest)
  if (read === undefined || recorded.length === 0) return found
  const whole = yield* Effect.orDie(draftOf(address, request, networkId, { recorded }))
  const enforced: Simulation = yield* simulate(lib, call, whole, "enforce")
  // The authorizations that the call asks for are those that were recorded.
  if (enforced.read === undefined || enforced.view?._tag !== "Succeeds") return enforced
  return {
    ...enforced,
    view: { ...enforced.view, recorded, untilLedger: newest + recordedLedgers },
    read: { ...enforced.read, auth: read.auth }
  } satisfies Simulation
})
