// The types of x402 2.27 that a facilitator exchanges with its callers and with `@x402/evm`, as far as this package uses them. They are
// written out, so that the package compiles without those; `tools/x402/types.ts` compares them with the originals.
import type { Hex } from "./Relayers.ts"

/** CAIP-2, such as `eip155:8453`. */
export type Network = `${string}:${string}`

export interface PaymentRequirements {
  readonly scheme: string
  readonly network: Network
  readonly asset: string
  readonly amount: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: Record<string, unknown>
}

export interface PaymentPayload {
  readonly x402Version: number
  readonly accepted: PaymentRequirements
  readonly payload: Record<string, unknown>
  readonly extensions?: Record<string, unknown>
}

export interface VerifyResponse {
  readonly isValid: boolean
  readonly invalidReason?: string
  readonly invalidMessage?: string
  readonly payer?: string
  readonly extra?: Record<string, unknown>
}

export interface SettleResponse {
  readonly success: boolean
  readonly errorReason?: string
  readonly errorMessage?: string
  readonly payer?: string
  /** Empty if there is none. */
  readonly transaction: string
  readonly network: Network
  readonly extra?: Record<string, unknown>
}

export interface SupportedResponse {
  readonly kinds: ReadonlyArray<{ readonly x402Version: number; readonly scheme: string; readonly network: Network }>
  readonly extensions: ReadonlyArray<string>
  readonly signers: Readonly<Record<string, ReadonlyArray<string>>>
}

export interface ReadArguments {
  readonly address: Hex
  readonly abi: ReadonlyArray<unknown>
  readonly functionName: string
  readonly args?: ReadonlyArray<unknown>
}

export interface WriteArguments extends ReadArguments {
  readonly args: ReadonlyArray<unknown>
  readonly gas?: bigint
  readonly dataSuffix?: Hex
}

export interface TypedData {
  readonly address: Hex
  readonly domain: Record<string, unknown>
  readonly types: Record<string, unknown>
  readonly primaryType: string
  readonly message: Record<string, unknown>
  readonly signature: Hex
}

/** `FacilitatorEvmSigner` of `@x402/evm`. */
export interface Signer {
  readonly getAddresses: () => ReadonlyArray<Hex>
  readonly readContract: (args: ReadArguments) => Promise<unknown>
  readonly verifyTypedData: (args: TypedData) => Promise<boolean>
  readonly writeContract: (args: WriteArguments) => Promise<Hex>
  readonly sendTransaction: (args: { readonly to: Hex; readonly data: Hex }) => Promise<Hex>
  readonly waitForTransactionReceipt: (args: { readonly hash: Hex }) => Promise<Receipt>
  readonly getCode: (args: { readonly address: Hex }) => Promise<Hex | undefined>
}

/** `PendingSettlementStore` of `@x402/core`. */
export interface Store {
  readonly get: (key: string) => Promise<string | undefined>
  readonly set: (key: string, hash: string) => Promise<void>
  readonly delete: (key: string) => Promise<void>
}

/** `ExactEvmScheme` of `@x402/evm/exact/facilitator`, as an object. */
export interface Scheme {
  readonly verify: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<VerifyResponse>
  readonly settle: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<SettleResponse>
}

/** `ExactEvmScheme` of `@x402/evm/exact/facilitator`, as a class. */
export type ExactScheme = new (signer: Signer, config: { pendingSettlementStore: Store }) => Scheme

export interface Receipt {
  readonly status: string
  readonly logs: Array<ReceiptLog>
}

/** A log as viem has it. */
export interface ReceiptLog {
  address: Hex
  blockHash: Hex
  blockNumber: bigint
  data: Hex
  logIndex: number
  transactionHash: Hex
  transactionIndex: number
  topics: [Hex, ...Array<Hex>] | []
  removed: boolean
}
