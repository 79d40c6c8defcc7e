// `simulateTransaction`: what a call would do in the newest ledger, with the parts that a test scripts.
import { Address, Asset, xdr } from "@stellar/stellar-sdk/base"
import { randomBytes } from "node:crypto"
import { run } from "./Calls.ts"
import { callCost, callInstructions, callOf, counterKey, needsCounter, restoreCost, takeGrant } from "./Contracts.ts"
import type { Needed, Ran, Tree } from "./Contracts.ts"
import { Changes, dataOf, keyOf, publicKeyOf } from "./Entries.ts"
import type { Entry } from "./Entries.ts"
import { decode } from "./Envelope.ts"
import type { Ledger, Network } from "./Network.ts"
import { sourceOfOperation } from "./Validity.ts"

/** What the simulation says instead of what it finds. */
export interface Script {
  readonly error?: string
  readonly instructions?: number
  readonly resourceFee?: bigint
  /** Base64 of authorization entries that are recorded beside the needed ones. */
  readonly auth?: ReadonlyArray<string>
  /** Whether credentials are recorded as `ADDRESS_V2`, as `useUpgradedAuth` of stellar-rpc 28 does. */
  readonly isV2?: boolean
  readonly needsRestore?: boolean
  /** Changes of entries in base64 that are shown beside the found ones. */
  readonly changes?: ReadonlyArray<{ readonly before?: string; readonly after?: string }>
  /** Events in base64. */
  readonly events?: ReadonlyArray<string>
  /** Whether no change is shown. */
  readonly hidesChanges?: boolean
}

const invocationOf = ({ below, call }: Tree): xdr.SorobanAuthorizedInvocation =>
  new xdr.SorobanAuthorizedInvocation({
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(
      new xdr.InvokeContractArgs({
        contractAddress: Address.fromString(call.contract).toScAddress(),
        functionName: call.name,
        args: [...call.args]
      })
    ),
    subInvocations: below.map(invocationOf)
  })

/** A simulation chooses the nonce of an entry at random. */
const newNonce = (): bigint => randomBytes(8).readBigInt64BE()

const entryOf = ({ address, ...tree }: Needed, source: string, isV2: boolean): xdr.SorobanAuthorizationEntry => {
  const { SorobanAddressCredentials, SorobanCredentials } = xdr
  const given = new SorobanAddressCredentials({
    address: Address.fromString(address).toScAddress(),
    nonce: newNonce(),
    signatureExpirationLedger: 0,
    signature: xdr.ScVal.scvVoid()
  })
  const named = isV2
    ? SorobanCredentials.sorobanCredentialsAddressV2(given)
    : SorobanCredentials.sorobanCredentialsAddress(given)
  const credentials = address === source ? SorobanCredentials.sorobanCredentialsSourceAccount() : named
  return new xdr.SorobanAuthorizationEntry({ credentials, rootInvocation: invocationOf(tree) })
}

const assetNamed = (name: string): Asset => {
  const [code = "", issuer] = name.split(":")
  return new Asset(code, issuer)
}

/** `archived`: places of the read-write footprint that the call restores (`archivedSorobanEntries`). */
const dataXdr = (
  readWrite: ReadonlyArray<xdr.LedgerKey>,
  fee: bigint,
  instructions: number,
  archived: ReadonlyArray<number> = []
): string =>
  new xdr.SorobanTransactionData({
    ext:
      archived.length === 0
        ? xdr.SorobanTransactionDataExt.v0()
        : xdr.SorobanTransactionDataExt.resourceExt(
            new xdr.SorobanResourcesExtV0({ archivedSorobanEntries: [...archived] })
          ),
    resources: new xdr.SorobanResources({
      footprint: new xdr.LedgerFootprint({ readOnly: [], readWrite: [...readWrite] }),
      instructions,
      diskReadBytes: 1000,
      writeBytes: 1000
    }),
    resourceFee: fee
  }).toXdr("base64")

interface Written {
  readonly key: xdr.LedgerKey
  readonly change: Readonly<Record<"type" | "key", string>> & Readonly<Record<"before" | "after", string | null>>
}

const ledgerKeyOf = (entry: Entry): xdr.LedgerKey | undefined => {
  if (entry.kind === "account") {
    return xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: publicKeyOf(entry.address) }))
  }
  if (entry.kind !== "trustline") return undefined
  const asset = assetNamed(entry.asset).toTrustLineXDRObject()
  return xdr.LedgerKey.trustline(new xdr.LedgerKeyTrustLine({ accountId: publicKeyOf(entry.address), asset }))
}

const entryXdr = (entry: Entry | undefined): string | null => {
  const data = entry && dataOf(entry, (name) => assetNamed(name).toTrustLineXDRObject())
  if (data === undefined) return null
  return new xdr.LedgerEntry({ lastModifiedLedgerSeq: 0, data, ext: xdr.LedgerEntryExt.v0() }).toXdr("base64")
}

/** The accounts and trust lines that a call writes, before and after. */
const writtenBy = (before: Changes, after: Changes): ReadonlyArray<Written> =>
  [...after.written].flatMap(([name, present]) => {
    const old = before.get(name)
    const entry = present ?? old
    const key = entry && ledgerKeyOf(entry)
    if (key === undefined) return []
    const type = old === undefined ? "created" : present === undefined ? "deleted" : "updated"
    const change = { type, key: key.toXdr("base64"), before: entryXdr(old), after: entryXdr(present) }
    return [{ key, change }]
  })

/** `enforce`: the authorizations of the envelope are checked, as when it is applied. */
type AuthMode = "record" | "enforce"

const lacksAuth = (
  ran: Ran | undefined,
  entries: ReadonlyArray<xdr.SorobanAuthorizationEntry>,
  at: Parameters<typeof takeGrant>[2],
  changes: Changes
): boolean => ran?.isSuccess === true && !ran.needed.every((needed) => takeGrant(needed, entries, at, changes))

const defaultFee = callCost.nonRefundable + callCost.refundable

/** Undefined: the text is no valid XDR. */
export const simulate = (
  network: Network,
  newest: Ledger,
  text: string,
  script: Script,
  given: AuthMode | undefined
): Readonly<Record<string, unknown>> | undefined => {
  const envelope = decode(network.networkId, text)
  const operation = envelope?.transaction.operations[0]
  if (envelope === undefined || operation === undefined) return undefined
  if (!envelope.isSoroban) return { error: "Transaction contains unsupported operation type" }
  const reads = network.store.at(newest.number)
  const before = new Changes(reads)
  const after = new Changes(reads)
  const fee = script.resourceFee ?? defaultFee
  const instructions = script.instructions ?? callInstructions
  const { body } = operation
  if (script.error !== undefined) return { error: script.error, events: [] }
  const counter = reads.get(keyOf.counter)
  const isArchived = counter?.kind === "counter" && counter.isArchived
  if (body.type !== "invokeHostFunction") {
    // `validateAuthMode` of stellar-rpc.
    if (given !== undefined) return { error: "cannot set authMode with non-InvokeHostFunction operations" }
    if (envelope.transaction.ext.type !== "sorobanData") return { error: "the transaction has no footprint" }
    const { readOnly, readWrite } = envelope.transaction.ext.sorobanData.resources.footprint
    // Since protocol 23 only a longer life needs a restore before it: calls restore entries themselves (`preflight/src/shared.rs`).
    const needsRestore =
      body.type === "extendFootprintTtl" &&
      readOnly.length + readWrite.length > 0 &&
      (isArchived || script.needsRestore === true)
    const restored = {
      minResourceFee: String(defaultFee),
      transactionData: dataXdr(readOnly, defaultFee, instructions)
    }
    return {
      transactionData: dataXdr(readWrite, fee, instructions),
      minResourceFee: String(fee),
      ...(needsRestore ? { restorePreamble: restored } : {})
    }
  }
  const { auth: entries, hostFunction } = body.invokeHostFunctionOp
  const isCall = hostFunction.type === "hostFunctionTypeInvokeContract"
  const call = isCall ? callOf(hostFunction.invokeContract) : undefined
  const ran = call === undefined ? undefined : run(call, before, network.passphrase, newest.number + 1)
  if (ran?.isSuccess === false) return { error: `HostError: Error(Contract, #1): ${ran.error}`, events: [] }
  if (ran !== undefined && !ran.write(after))
    return { error: "HostError: Error(Contract, #10): balance too low", events: [] }
  const source = sourceOfOperation(operation, envelope)
  const at = { source, passphrase: network.passphrase, ledger: newest.number + 1 }
  if (given === "enforce" && lacksAuth(ran, entries, at, after)) {
    return { error: "HostError: Error(Auth, InvalidAction): an authorization is missing", events: [] }
  }
  const written = writtenBy(before, after)
  const needed = (ran?.needed ?? []).map((one) => entryOf(one, source, script.isV2 === true).toXdr("base64"))
  const auth = given === "enforce" ? [] : [...needed, ...(script.auth ?? [])]
  const restores = isArchived && call !== undefined && needsCounter(call)
  const total = restores && script.resourceFee === undefined ? fee + restoreCost : fee
  const keys = [...(restores ? [counterKey] : []), ...written.map(({ key }) => key)]
  return {
    transactionData: dataXdr(keys, total, instructions, restores ? [0] : []),
    minResourceFee: String(total),
    results: [{ auth, xdr: (ran?.value ?? xdr.ScVal.scvVoid()).toXdr("base64") }],
    ...(script.hidesChanges === true
      ? {}
      : { stateChanges: [...written.map(({ change }) => change), ...(script.changes ?? [])] }),
    events: script.events ?? []
  }
}
