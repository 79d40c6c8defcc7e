// Operations of envelopes as plain data.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type {
  AssetName,
  AuthEntry,
  Call,
  Credentials,
  HostFunction,
  Invocation,
  Operation,
  Party,
  Taken
} from "../../../domain/transaction/stellar/Envelope.ts"
import { accountMeantBy, accountOf } from "../../../domain/transaction/stellar/StrKey.ts"
import { textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"
import { addressOf, fromXdr } from "./StellarScVals.ts"

export const partyOf = (account: Xdr.MuxedAccount): Party =>
  account.type === "keyTypeEd25519"
    ? { address: accountOf(account.ed25519.value), isMuxed: false }
    : { address: accountOf(account.med25519.ed25519.value), isMuxed: true }

export const keyAddress = ({ ed25519 }: Xdr.PublicKey): string => accountOf(ed25519.value)

/** The code without the zeros that fill it up. */
const codeOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1").replace(/\0+$/, "")

const assetOf = (asset: Xdr.Asset | Xdr.ChangeTrustAsset): AssetName => {
  switch (asset.type) {
    case "assetTypeNative":
      return "native"
    case "assetTypeCreditAlphanum4":
      return `${codeOf(asset.alphaNum4.assetCode.value)}:${keyAddress(asset.alphaNum4.issuer)}`
    case "assetTypeCreditAlphanum12":
      return `${codeOf(asset.alphaNum12.assetCode.value)}:${keyAddress(asset.alphaNum12.issuer)}`
    default:
      return "pool"
  }
}

const callOf = (lib: Library, { contractAddress, functionName, args }: Xdr.InvokeContractArgs): Call => ({
  contract: addressOf(lib, contractAddress),
  name: functionName.toString(),
  args: args.map((value) => fromXdr(lib, value))
})

const invocationOf = (
  lib: Library,
  { function: root, subInvocations }: Xdr.SorobanAuthorizedInvocation
): Invocation => ({
  ...(root.type === "sorobanAuthorizedFunctionTypeContractFn" ? { call: callOf(lib, root.contractFn) } : {}),
  below: subInvocations.map((one) => invocationOf(lib, one))
})

const credentialsOf = (lib: Library, credentials: Xdr.SorobanCredentials): Credentials => {
  if (credentials.type === "sorobanCredentialsSourceAccount") return { kind: "source" }
  if (credentials.type !== "sorobanCredentialsAddress") return { kind: "unsupported", name: credentials.type }
  const { signatureExpirationLedger } = credentials.address
  const address = addressOf(lib, credentials.address.address)
  // A muxed spelling means the account of its key.
  return { kind: "address", address: accountMeantBy(address) ?? address, untilLedger: signatureExpirationLedger }
}

/** The entry as its owner would sign it. */
const unsignedOf = (lib: Library, entry: Xdr.SorobanAuthorizationEntry): Xdr.SorobanAuthorizationEntry => {
  const { credentials, rootInvocation } = entry
  if (credentials.type !== "sorobanCredentialsAddress") return entry
  const { address, nonce, signatureExpirationLedger } = credentials.address
  const { SorobanAddressCredentials, SorobanAuthorizationEntry, SorobanCredentials, ScVal } = lib.xdr
  const signature = ScVal.scvVoid()
  const bare = new SorobanAddressCredentials({ address, nonce, signatureExpirationLedger, signature })
  return new SorobanAuthorizationEntry({
    credentials: SorobanCredentials.sorobanCredentialsAddress(bare),
    rootInvocation
  })
}

export const authOf = (lib: Library, entry: Xdr.SorobanAuthorizationEntry): AuthEntry => ({
  xdr: textOf(entry),
  unsigned: textOf(unsignedOf(lib, entry)),
  credentials: credentialsOf(lib, entry.credentials),
  root: invocationOf(lib, entry.rootInvocation)
})

const hostOf = (lib: Library, host: Xdr.HostFunction): HostFunction => {
  if (host.type === "hostFunctionTypeInvokeContract") return { kind: "call", call: callOf(lib, host.invokeContract) }
  return host.type === "hostFunctionTypeUploadContractWasm" ? { kind: "upload" } : { kind: "creation" }
}

const soldFor = (buyAmount: bigint, { n, d }: Xdr.Price): bigint =>
  d === 0 ? 0n : (buyAmount * BigInt(n) + BigInt(d) - 1n) / BigInt(d)

interface Effects {
  readonly takes: ReadonlyArray<Taken>
  readonly receivers: ReadonlyArray<string>
}

const none: Effects = { takes: [], receivers: [] }

const taking = (asset: AssetName, amount: bigint, receivers: ReadonlyArray<string> = []): Effects => ({
  takes: [{ asset, amount }],
  receivers
})

/** The assets of a pool are not in the operation: both amounts count as XLM. */
const deposit = ({ maxAmountA, maxAmountB }: Xdr.LiquidityPoolDepositOp): Effects =>
  taking("native", maxAmountA + maxAmountB)

type SupportedOperation =
  | "payment"
  | "pathPaymentStrictReceive"
  | "pathPaymentStrictSend"
  | "changeTrust"
  | "invokeHostFunction"

type Other = Exclude<Xdr.OperationBody, { readonly type: SupportedOperation }>

const effectsOf = (body: Other): Effects => {
  switch (body.type) {
    case "createAccount": {
      const { destination, startingBalance } = body.createAccountOp
      return taking("native", startingBalance, [keyAddress(destination)])
    }
    case "manageSellOffer":
      return taking(assetOf(body.manageSellOfferOp.selling), body.manageSellOfferOp.amount)
    case "createPassiveSellOffer":
      return taking(assetOf(body.createPassiveSellOfferOp.selling), body.createPassiveSellOfferOp.amount)
    case "manageBuyOffer": {
      const { buyAmount, price, selling } = body.manageBuyOfferOp
      return taking(assetOf(selling), soldFor(buyAmount, price))
    }
    case "createClaimableBalance": {
      const { amount, asset, claimants } = body.createClaimableBalanceOp
      return taking(
        assetOf(asset),
        amount,
        claimants.map(({ v0 }) => keyAddress(v0.destination))
      )
    }
    case "liquidityPoolDeposit":
      return deposit(body.liquidityPoolDepositOp)
    case "accountMerge":
      return { takes: [], receivers: [partyOf(body.destination).address] }
    default:
      return none
  }
}

const bodyOf = (lib: Library, body: Xdr.OperationBody): Operation => {
  switch (body.type) {
    case "payment": {
      const { amount, asset, destination } = body.paymentOp
      return { type: "payment", destination: partyOf(destination), asset: assetOf(asset), amount }
    }
    case "pathPaymentStrictReceive": {
      const { destination, sendAsset, sendMax } = body.pathPaymentStrictReceiveOp
      return { type: body.type, destination: partyOf(destination), sendAsset: assetOf(sendAsset), sendMax }
    }
    case "pathPaymentStrictSend": {
      const { destination, sendAsset, sendAmount } = body.pathPaymentStrictSendOp
      return { type: body.type, destination: partyOf(destination), sendAsset: assetOf(sendAsset), sendMax: sendAmount }
    }
    case "changeTrust":
      return { type: "changeTrust", asset: assetOf(body.changeTrustOp.line), limit: body.changeTrustOp.limit }
    case "invokeHostFunction": {
      const { auth, hostFunction } = body.invokeHostFunctionOp
      return { type: body.type, host: hostOf(lib, hostFunction), auth: auth.map((entry) => authOf(lib, entry)) }
    }
    default:
      return { type: body.type, ...effectsOf(body) }
  }
}

export const operationOf = (lib: Library, { body, sourceAccount }: Xdr.Operation): Operation => ({
  ...bodyOf(lib, body),
  ...(sourceAccount === null ? {} : { source: partyOf(sourceAccount) })
})
