// Drafts of what a request does, which the guard and simulations read.
import { Effect } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import type { StellarOperation } from "../../../domain/transaction/stellar/StellarOperation.ts"
import { buildWith } from "./StellarEncoding.ts"
import { withEntry } from "./StellarForwards.ts"
import { library, reading } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

/** Any sequence: a simulation does not check it. */
const anySequence = 1n

/** Any time: the simulation does not check it. */
const anyTime = 2n ** 62n

const withoutAuth = (operation: StellarOperation): StellarOperation => {
  if (operation.type === "payment" || operation.auth?.type === "xdr") return operation
  return { ...operation, auth: { type: "none" } }
}

type GivenEnvelope = Pick<StellarRequest, "signed_auth_entry" | "transaction_xdr">

/** The envelope that a request has, with the entry that its user has signed. Undefined: the service builds it from operations. */
export const givenIn = (lib: Library, { signed_auth_entry, transaction_xdr }: GivenEnvelope): string | undefined =>
  transaction_xdr === undefined || signed_auth_entry === undefined
    ? transaction_xdr
    : withEntry(lib, transaction_xdr, signed_auth_entry)

interface Authorizing {
  /** Without the authorizations that the service builds, so that a simulation lists those that the call needs. */
  readonly isRecording?: true
  /** Base64 of the authorizations that a simulation recorded. */
  readonly recorded?: ReadonlyArray<string>
}

/** What the request does, unsigned. */
export const draftOf = (
  address: string,
  { memo, operations, ...request }: StellarRequest,
  networkId: Uint8Array,
  { isRecording, recorded = [] }: Authorizing = {}
): Effect.Effect<string, Refusal> => {
  if (request.transaction_xdr !== undefined) return Effect.map(library, (lib) => givenIn(lib, request) ?? "")
  const own = operations ?? []
  const draft = {
    source: address,
    sequence: anySequence,
    fee: BigInt(own.length),
    maxTime: anyTime,
    operations: isRecording === true ? own.map(withoutAuth) : own,
    recorded,
    ...present("memo", memo)
  }
  return Effect.flatMap(library, (lib) =>
    Effect.fromResult(
      reading(() => buildWith(lib, draft, networkId).envelope, "an entry of auth is not the XDR of an authorization")
    )
  )
}
