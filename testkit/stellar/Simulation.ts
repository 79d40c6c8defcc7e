// `simulateTransaction`: what a call would do in the newest ledger, with the parts that a test scripts.
import { Address, xdr } from "@stellar/stellar-sdk/base"
import { randomBytes } from "node:crypto"
import { run } from "./Calls.ts"
import { callCost, callInstructions, callOf, needsCounter, takeGrant } from "./Contracts.ts"
import type { Needed, Ran, Tree } from "./Contracts.ts"
import { accountIn, Changes, dataOf, keyOf, publicKeyOf } from "./Entries.ts"
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
  readonly needsRestore?: boolean
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

const entryOf = ({ address, ...tree }: Needed, source: string): xdr.SorobanAuthorizationEntry => {
  const credentials =
    address === source
      ? xdr.SorobanCredentials.sorobanCredentialsSourceAccount()
      : xdr.SorobanCredentials.sorobanCredentialsAddress(
          new xdr.SorobanAddressCredentials({
            address: Address.fromString(address).toScAddress(),
            nonce: newNonce(),
            signatureExpirationLedger: 0,
            signature: xdr.ScVal.scvVoid()
          })
        )
  return new xdr.SorobanAuthorizationEntry({ credentials, rootInvocation: invocationOf(tree) })
}

const accountKey = (address: string) =>
  xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: publicKeyOf(address) }))

const dataXdr = (readWrite: ReadonlyArray<xdr.LedgerKey>, fee: bigint, instructions: number): string =>
  new xdr.SorobanTransactionData({
    ext: xdr.SorobanTransactionDataExt.v0(),
    resources: new xdr.SorobanResources({
      footprint: new xdr.LedgerFootprint({ readOnly: [], readWrite: [...readWrite] }),
      instructions,
      diskReadBytes: 1000,
      writeBytes: 1000
    }),
    resourceFee: fee
  }).toXdr("base64")

/** The accounts whose XLM changes, before and after. */
const stateChanges = (before: Changes, after: Changes, addresses: ReadonlyArray<string>) =>
  addresses.flatMap((address) => {
    const [old, present] = [accountIn(before, address), accountIn(after, address)]
    if (old === undefined || present === undefined) return []
    const entry = (account: typeof old) => {
      const data = dataOf(account, () => xdr.TrustLineAsset.assetTypeNative())
      if (data === undefined) return null
      return new xdr.LedgerEntry({ lastModifiedLedgerSeq: 0, data, ext: xdr.LedgerEntryExt.v0() }).toXdr("base64")
    }
    return [{ type: "updated", key: accountKey(address).toXdr("base64"), before: entry(old), after: entry(present) }]
  })

/** `enforce`: the authorizations of the envelope are checked, as when it is applied. */
export type AuthMode = "record" | "enforce"

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
  mode: AuthMode
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
  const restored = { minResourceFee: String(defaultFee), transactionData: dataXdr([], defaultFee, instructions) }
  if (script.error !== undefined) return { error: script.error, events: [] }
  if (body.type !== "invokeHostFunction")
    return { transactionData: dataXdr([], fee, instructions), minResourceFee: String(fee) }
  const { auth: entries, hostFunction } = body.invokeHostFunctionOp
  const isCall = hostFunction.type === "hostFunctionTypeInvokeContract"
  const call = isCall ? callOf(hostFunction.invokeContract) : undefined
  const ran = call === undefined ? undefined : run(call, before, network.passphrase, newest.number + 1)
  if (ran?.isSuccess === false) return { error: `HostError: Error(Contract, #1): ${ran.error}`, events: [] }
  if (ran !== undefined && !ran.write(after))
    return { error: "HostError: Error(Contract, #10): balance too low", events: [] }
  const source = sourceOfOperation(operation, envelope)
  const at = { source, passphrase: network.passphrase, ledger: newest.number + 1 }
  if (mode === "enforce" && lacksAuth(ran, entries, at, after)) {
    return { error: "HostError: Error(Auth, InvalidAction): an authorization is missing", events: [] }
  }
  const addresses = (ran?.changes ?? [])
    .flatMap(([from, to]) => [from, to])
    .filter((address) => address.startsWith("G"))
  const auth = [...(ran?.needed ?? []).map((needed) => entryOf(needed, source).toXdr("base64")), ...(script.auth ?? [])]
  const counter = reads.get(keyOf.counter)
  const isArchived = call !== undefined && needsCounter(call) && counter?.kind === "counter" && counter.isArchived
  return {
    transactionData: dataXdr(addresses.map(accountKey), fee, instructions),
    minResourceFee: String(fee),
    results: [{ auth, xdr: (ran?.value ?? xdr.ScVal.scvVoid()).toXdr("base64") }],
    stateChanges: stateChanges(before, after, addresses),
    events: [],
    ...(isArchived || script.needsRestore === true ? { restorePreamble: restored } : {})
  }
}
