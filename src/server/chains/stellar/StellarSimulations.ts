// Simulations of calls of contracts: what they need, authorize and change, and what the envelope declares for it.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import { declaredResourceFee } from "../../../domain/transaction/stellar/Fees.ts"
import type { AuthEntry } from "../../../domain/transaction/stellar/Envelope.ts"
import type { AccountState, EntryChange, Simulated } from "../../../domain/transaction/stellar/GuardOnChain.ts"
import { withinLimit } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { CallLimits } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import { resourceMargin } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import type { SimulatedCall } from "./StellarCalls.ts"
import { reading, textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"
import { assetOf, authOf, keyAddress } from "./StellarOperations.ts"

const withMargin = (units: number): number =>
  Math.ceil((units * Number(resourceMargin.numerator)) / Number(resourceMargin.denominator))

/** Undefined: the limits of the network are not known. */
type Limits = CallLimits | undefined

/** The Soroban data of the envelope: resources with their margin, within the limits of the network, and the fee that it declares. */
const declared = ({ xdr }: Library, data: string, fee: bigint, limits: Limits): string => {
  const { SorobanResources, SorobanTransactionData } = xdr
  const { ext, resources } = SorobanTransactionData.fromXdr(data, "base64")
  const { diskReadBytes, footprint, instructions, writeBytes } = resources
  const declared = new SorobanTransactionData({
    ext,
    resources: new SorobanResources({
      footprint,
      instructions: withinLimit(instructions, withMargin(instructions), limits?.instructions),
      diskReadBytes: withinLimit(diskReadBytes, withMargin(diskReadBytes), limits?.diskReadBytes),
      writeBytes: withinLimit(writeBytes, withMargin(writeBytes), limits?.writeBytes)
    }),
    resourceFee: declaredResourceFee(fee)
  })
  return textOf(declared)
}

type Data = Xdr.LedgerEntryData

const dataIn = ({ xdr }: Library, text: string | null | undefined): Data | undefined =>
  text === undefined || text === null ? undefined : xdr.LedgerEntry.fromXdr(text, "base64").data

const stateOf = ({ xdr }: Library, entry: Xdr.AccountEntry): AccountState => {
  const { accountId, balance, ext, flags, homeDomain, inflationDest, numSubEntries, seqNum, signers, thresholds } =
    entry
  const v1 = ext.type === "v1" ? ext.v1 : undefined
  const v2 = v1?.ext.type === "v2" ? v1.ext.v2 : undefined
  const options = { accountId, flags, homeDomain, inflationDest, seqNum, signers, thresholds }
  const bare = { ...options, balance: 0n, numSubEntries: 0, ext: xdr.AccountEntryExt.v0() }
  return {
    balance,
    subentries: numSubEntries,
    reserves: numSubEntries + (v2?.numSponsoring ?? 0) - (v2?.numSponsored ?? 0),
    rest: textOf(new xdr.AccountEntry(bare))
  }
}

/** What calls of contracts change besides accounts and trust lines. The guard has no rules for it: only contracts own it. */
const ofContracts: ReadonlySet<Data["type"]> = new Set(["contractData", "contractCode", "ttl"])

const changeOf = (lib: Library, before: Data | undefined, after: Data | undefined): ReadonlyArray<EntryChange> => {
  const entry = before ?? after
  if (entry === undefined || ofContracts.has(entry.type)) return []
  if (entry.type === "account") {
    const stateIn = (data: Data | undefined) => (data?.type === "account" ? stateOf(lib, data.account) : undefined)
    const states = { ...present("before", stateIn(before)), ...present("after", stateIn(after)) }
    return [{ kind: "account", address: keyAddress(entry.account.accountId), ...states }]
  }
  if (entry.type !== "trustline") return [{ kind: "unexpected", name: entry.type }]
  const balanceIn = (data: Data | undefined) => (data?.type === "trustline" ? data.trustLine.balance : undefined)
  const balances = { ...present("before", balanceIn(before)), ...present("after", balanceIn(after)) }
  const { accountId, asset } = entry.trustLine
  return [{ kind: "trustline", address: keyAddress(accountId), asset: assetOf(asset), ...balances }]
}

/** An account, or a trust line of it. */
const nameOf = (address: string, asset?: string): string => `${address} ${asset ?? ""}`

/** Accounts whose entries the footprint lets the call write, without those whose change is shown. */
const unshownIn = (
  { xdr }: Library,
  data: string | undefined,
  changes: ReadonlyArray<EntryChange>
): ReadonlyArray<string> => {
  const shown = new Set(
    changes.flatMap((change) =>
      change.kind === "unexpected"
        ? []
        : [nameOf(change.address, change.kind === "trustline" ? change.asset : undefined)]
    )
  )
  const written =
    data === undefined ? [] : xdr.SorobanTransactionData.fromXdr(data, "base64").resources.footprint.readWrite
  return written.flatMap((key) => {
    if (key.type !== "account" && key.type !== "trustline") return []
    const [address, name] =
      key.type === "account"
        ? [keyAddress(key.account.accountId), nameOf(keyAddress(key.account.accountId))]
        : [
            keyAddress(key.trustLine.accountId),
            nameOf(keyAddress(key.trustLine.accountId), assetOf(key.trustLine.asset))
          ]
    return shown.has(name) ? [] : [address]
  })
}

/** `CODE:ISSUER`, the last topic of each event of the contract of an asset. Events of other tokens have none. */
const assetTopic = /^[a-zA-Z0-9]{1,12}:G[A-Z2-7]{55}$/

const administrative: ReadonlySet<string> = new Set(["set_admin", "set_authorized", "clawback"])

const administeredIn = (lib: Library, text: string): Simulated["administered"] => {
  const { event } = lib.xdr.DiagnosticEvent.fromXdr(text, "base64")
  const topics = event.body.v0.topics
  const [first, last] = [topics[0], topics.at(-1)]
  if (event.contractId === null || event.type !== lib.xdr.ContractEventType.contract) return []
  if (first?.type !== "scvSymbol" || last?.type !== "scvString" || !assetTopic.test(last.str.toString())) return []
  const name = first.sym.toString()
  const contract = lib.StrKey.encodeContract(event.contractId.value)
  return administrative.has(name) ? [{ contract, name }] : []
}

/** The parts of an answer that the guard judges. A newer protocol can add what this version cannot read. */
const judged = (lib: Library, { events, results, stateChanges, transactionData }: SimulatedCall) => {
  const entries = (results ?? []).flatMap(({ auth }) => auth ?? [])
  const read = (): Pick<Simulated, "administered" | "auth" | "changes" | "unshown"> => {
    const changes = (stateChanges ?? []).flatMap(({ before, after }) =>
      changeOf(lib, dataIn(lib, before), dataIn(lib, after))
    )
    const auth = entries.map((text): AuthEntry =>
      authOf(lib, lib.xdr.SorobanAuthorizationEntry.fromXdr(text, "base64"))
    )
    const administered = (events ?? []).flatMap((text) => administeredIn(lib, text))
    return { administered, auth, changes, unshown: unshownIn(lib, transactionData, changes) }
  }
  return Result.getOrElse(reading(read, "is not the XDR of what a simulation finds"), ({ detail }) => ({
    ...nothing,
    unreadable: detail
  }))
}

const nothing = { administered: [], auth: [], changes: [], unshown: [] } as const satisfies Partial<Simulated>

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

const readCall = (lib: Library, answer: SimulatedCall, limits: Limits): ReadSimulation => {
  const { error, minResourceFee = 0n, restorePreamble, results, transactionData } = answer
  const failed = error ?? (transactionData === undefined ? "the simulation has no result" : undefined)
  if (failed !== undefined) return { error: cleaned(failed), resourceFee: 0n, ...nothing }
  return {
    resourceFee: minResourceFee,
    ...judged(lib, answer),
    ...present("returned", results?.[0]?.xdr),
    ...present("data", transactionData && declared(lib, transactionData, minResourceFee, limits)),
    ...(restorePreamble === undefined || restorePreamble === null
      ? {}
      : {
          restore: {
            fee: restorePreamble.minResourceFee,
            data: declared(lib, restorePreamble.transactionData, restorePreamble.minResourceFee, limits)
          }
        })
  }
}

/** Undefined: it has XDR that cannot be read. */
export const simulatedIn = (lib: Library, answer: SimulatedCall, limits?: CallLimits): ReadSimulation | undefined =>
  Result.getOrUndefined(Result.try(() => readCall(lib, answer, limits)))
