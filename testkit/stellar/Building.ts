// Builds and signs envelopes for tests with the library, not with the code under test.
import type { Memo, Transaction } from "@stellar/stellar-sdk/base"
import {
  Account,
  Address,
  decodeAddressToMuxedAccount,
  Keypair,
  nativeToScVal,
  Operation,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr
} from "@stellar/stellar-sdk/base"
import { createPrivateKey, sign } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { sha256 } from "./Envelope.ts"
import { callInstructions, counterContract } from "./Contracts.ts"

export const passphrase = "Standalone Network ; February 2017"

const keys = new Map<string, Keypair>()

/** The same key for the same name. */
export const keyNamed = (name: string): Keypair => {
  const key = keys.get(name) ?? Keypair.fromRawEd25519Seed(sha256(Buffer.from(name)))
  keys.set(name, key)
  return key
}

/** The DER header of an ed25519 private key (RFC 8410). */
const derHeader = Buffer.from("302e020100300506032b657004220420", "hex")

const privateKeys = new Map<string, KeyObject>()

const privateKeyOf = (key: Keypair): KeyObject => {
  const known = privateKeys.get(key.publicKey())
  if (known !== undefined) return known
  const made = createPrivateKey({ key: Buffer.concat([derHeader, key.rawSecretKey()]), format: "der", type: "pkcs8" })
  privateKeys.set(key.publicKey(), made)
  return made
}

/** The same signature as the library's, for an eighth of its time. */
const signatureOf = (key: Keypair, hash: Uint8Array): xdr.DecoratedSignature =>
  new xdr.DecoratedSignature({ hint: key.rawPublicKey().slice(-4), signature: sign(null, hash, privateKeyOf(key)) })

type Options = NonNullable<ConstructorParameters<typeof TransactionBuilder>[1]>

export interface Building {
  readonly sequence: bigint
  /** Stroops per operation. */
  readonly fee?: bigint
  readonly minTime?: number
  /** Unix seconds. 0: for ever. */
  readonly maxTime?: number
  readonly network?: string
  readonly signers?: ReadonlyArray<Keypair>
  readonly resourceFee?: bigint
  readonly instructions?: number
  /** Entries that it reads. */
  readonly footprint?: ReadonlyArray<xdr.LedgerKey>
  readonly memo?: Memo
  readonly conditions?: Omit<Options, "fee">
}

const sorobanData = (resourceFee: bigint, instructions: number, footprint: ReadonlyArray<xdr.LedgerKey>) =>
  new SorobanDataBuilder()
    .setResourceFee(resourceFee)
    .setResources(instructions, 1000, 1000)
    .setReadOnly([...footprint])
    .build()

/** The transaction of the library, for which `toXDR` gives the text. */
export const transaction = (
  source: Keypair | string,
  operations: ReadonlyArray<xdr.Operation>,
  { sequence, fee = 100n, minTime = 0, maxTime = 0, network = passphrase, signers = [], memo, ...given }: Building
): Transaction => {
  const { resourceFee, instructions = callInstructions, footprint = [], conditions } = given
  const builder = new TransactionBuilder(new Account(addressOf(source), String(sequence - 1n)), {
    fee: String(fee),
    networkPassphrase: network,
    timebounds: { minTime, maxTime },
    ...(memo === undefined ? {} : { memo }),
    ...conditions
  })
  for (const operation of operations) builder.addOperation(operation)
  if (resourceFee !== undefined) builder.setSorobanData(sorobanData(resourceFee, instructions, footprint))
  const built = builder.build()
  for (const signer of signers) built.addDecoratedSignature(signatureOf(signer, built.hash()))
  return built
}

/** The text of a transaction that its source has signed, or the given signers. */
export const envelope = (source: Keypair, operations: ReadonlyArray<xdr.Operation>, given: Building): string =>
  transaction(source, operations, { signers: [source], ...given }).toXDR()

/** A change of the transaction that the library's builder cannot make. */
export const altered = (text: string, change: Partial<ConstructorParameters<typeof xdr.Transaction>[0]>): string => {
  const parsed = xdr.TransactionEnvelope.fromXdr(text, "base64")
  if (parsed.type !== "envelopeTypeTx") throw new Error(parsed.type)
  const { signatures, tx } = parsed.v1
  const { cond, ext, fee, memo, operations, seqNum, sourceAccount } = tx
  const given = new xdr.Transaction({ cond, ext, fee, memo, operations, seqNum, sourceAccount, ...change })
  return xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx: given, signatures })).toXdr(
    "base64"
  )
}

/** `fee`: the whole fee of the outer envelope, in stroops. The library's own rules for the fee do not apply. */
export const feeBump = (
  source: Keypair,
  inner: string,
  fee: bigint,
  {
    signers = [source],
    network = passphrase
  }: { readonly signers?: ReadonlyArray<Keypair>; readonly network?: string } = {}
): string => {
  const parsed = xdr.TransactionEnvelope.fromXdr(inner, "base64")
  if (parsed.type !== "envelopeTypeTx") throw new Error("the inner envelope has to be a transaction")
  const tx = new xdr.FeeBumpTransaction({
    feeSource: xdr.MuxedAccount.keyTypeEd25519(source.rawPublicKey()),
    fee,
    innerTx: xdr.FeeBumpTransactionInnerTx.envelopeTypeTx(parsed.v1),
    ext: xdr.FeeBumpTransactionExt.v0()
  })
  const hash = sha256(sha256(Buffer.from(network)), new Uint8Array([0, 0, 0, 5]), tx.toXdr())
  const signatures = signers.map((signer) => signatureOf(signer, hash))
  const outer = new xdr.FeeBumpTransactionEnvelope({ tx, signatures })
  return xdr.TransactionEnvelope.envelopeTypeTxFeeBump(outer).toXdr("base64")
}

const addressOf = (key: Keypair | string): string => (typeof key === "string" ? key : key.publicKey())

/** Of XLM. Any amount, also those that the library refuses. */
export const payment = (to: Keypair | string, stroops: bigint, source?: Keypair | string): xdr.Operation =>
  new xdr.Operation({
    sourceAccount: source === undefined ? null : decodeAddressToMuxedAccount(addressOf(source)),
    body: xdr.OperationBody.payment(
      new xdr.PaymentOp({
        destination: decodeAddressToMuxedAccount(addressOf(to)),
        asset: xdr.Asset.assetTypeNative(),
        amount: stroops
      })
    )
  })

export const call = (
  name: string,
  args: ReadonlyArray<xdr.ScVal> = [],
  {
    contract = counterContract,
    auth = [],
    source
  }: {
    readonly contract?: string
    readonly auth?: ReadonlyArray<xdr.SorobanAuthorizationEntry>
    readonly source?: Keypair | string
  } = {}
): xdr.Operation =>
  Operation.invokeContractFunction({
    contract,
    function: name,
    args: [...args],
    auth: [...auth],
    ...(source === undefined ? {} : { source: addressOf(source) })
  })

export const addressValue = (address: Keypair | string): xdr.ScVal => Address.fromString(addressOf(address)).toScVal()

export const amountValue = (amount: bigint): xdr.ScVal => nativeToScVal(amount, { type: "i128" })

export const invocation = (
  contract: string,
  name: string,
  args: ReadonlyArray<xdr.ScVal> = [],
  below: ReadonlyArray<xdr.SorobanAuthorizedInvocation> = []
): xdr.SorobanAuthorizedInvocation =>
  new xdr.SorobanAuthorizedInvocation({
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(
      new xdr.InvokeContractArgs({
        contractAddress: Address.fromString(contract).toScAddress(),
        functionName: name,
        args: [...args]
      })
    ),
    subInvocations: [...below]
  })

export const sourceEntry = (rootInvocation: xdr.SorobanAuthorizedInvocation): xdr.SorobanAuthorizationEntry =>
  new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsSourceAccount(),
    rootInvocation
  })

/** Unsigned. */
export const addressEntry = (
  address: Keypair | string,
  rootInvocation: xdr.SorobanAuthorizedInvocation,
  signatureExpirationLedger = 100,
  nonce = 7n
): xdr.SorobanAuthorizationEntry =>
  new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(
      new xdr.SorobanAddressCredentials({
        address: Address.fromString(addressOf(address)).toScAddress(),
        nonce,
        signatureExpirationLedger,
        signature: xdr.ScVal.scvVoid()
      })
    ),
    rootInvocation
  })
