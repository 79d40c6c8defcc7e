// Simulations of calls of contracts: what they need and authorize, and what the envelope declares for it.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import { declaredResourceFee } from "../../../domain/transaction/stellar/Fees.ts"
import type { Simulated } from "../../../domain/transaction/stellar/GuardOnChain.ts"
import { resourceMargin } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import type { SimulatedCall } from "./StellarCalls.ts"
import { textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"
import { authOf, keyAddress } from "./StellarOperations.ts"

const withMargin = (units: number): number =>
  Math.ceil((units * Number(resourceMargin.numerator)) / Number(resourceMargin.denominator))

/** The Soroban data of the envelope: resources with their margin, and the fee that it declares. */
const declared = ({ xdr }: Library, data: string, fee: bigint): string => {
  const { SorobanResources, SorobanTransactionData } = xdr
  const { ext, resources } = SorobanTransactionData.fromXdr(data, "base64")
  const { diskReadBytes, footprint, instructions, writeBytes } = resources
  const declared = new SorobanTransactionData({
    ext,
    resources: new SorobanResources({
      footprint,
      instructions: withMargin(instructions),
      diskReadBytes: withMargin(diskReadBytes),
      writeBytes: withMargin(writeBytes)
    }),
    resourceFee: declaredResourceFee(fee)
  })
  return textOf(declared)
}

const accountIn = ({ xdr }: Library, text: string | null | undefined): Xdr.AccountEntry | undefined => {
  if (text === undefined || text === null) return undefined
  const { data } = xdr.LedgerEntry.fromXdr(text, "base64")
  return data.type === "account" ? data.account : undefined
}

const balancesIn = (lib: Library, { stateChanges }: SimulatedCall): Simulated["balances"] =>
  (stateChanges ?? []).flatMap(({ before, after }) => {
    const [old, present] = [accountIn(lib, before), accountIn(lib, after)]
    const entry = old ?? present
    return entry === undefined
      ? []
      : [{ address: keyAddress(entry.accountId), before: old?.balance ?? 0n, after: present?.balance ?? 0n }]
  })

/** Longest error text that is kept. */
const maxError = 200

const cleaned = (text: string): string => text.replaceAll(/\p{Cc}/gu, " ").slice(0, maxError)

/** A simulation as the rules read it, with what the envelope takes from it. */
export interface ReadSimulation extends Simulated {
  /** Base64 with margins. Absent if it fails. */
  readonly data?: string
  /** `ScVal` in base64. Absent: the operation calls no function. */
  readonly returned?: string
  /** What a restore of archived entries needs first: its fee in stroops, and its data with margins. */
  readonly restore?: { readonly fee: bigint; readonly data: string }
}

const readCall = (lib: Library, answer: SimulatedCall): ReadSimulation => {
  const { error, minResourceFee = 0n, restorePreamble, results, transactionData } = answer
  const failed = error ?? (transactionData === undefined ? "the simulation has no result" : undefined)
  if (failed !== undefined) return { error: cleaned(failed), resourceFee: 0n, auth: [], balances: [] }
  const entries = (results ?? []).flatMap(({ auth }) => auth ?? [])
  return {
    resourceFee: minResourceFee,
    auth: entries.map((text) => authOf(lib, lib.xdr.SorobanAuthorizationEntry.fromXdr(text, "base64"))),
    balances: balancesIn(lib, answer),
    ...present("returned", results?.[0]?.xdr),
    ...present("data", transactionData && declared(lib, transactionData, minResourceFee)),
    ...(restorePreamble === undefined || restorePreamble === null
      ? {}
      : {
          restore: {
            fee: restorePreamble.minResourceFee,
            data: declared(lib, restorePreamble.transactionData, restorePreamble.minResourceFee)
          }
        })
  }
}

/** Undefined: it has XDR that cannot be read. */
export const simulatedIn = (lib: Library, answer: SimulatedCall): ReadSimulation | undefined =>
  Result.getOrUndefined(Result.try(() => readCall(lib, answer)))
