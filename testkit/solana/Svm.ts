// Agave's virtual machine, in the native package of litesvm: `tools/svm` installs it. It ends the process if it gets bytes that it
// cannot decode, so only bytes that the strict reader accepts are given to it.
import { Result } from "effect"
import { createRequire } from "node:module"
import { decode } from "../../src/domain/transaction/solana/WireDecoding.ts"

interface Outcome {
  /** A function if the transaction failed. */
  readonly err: unknown
}

interface Account {
  owner(): Uint8Array
  data(): Uint8Array
}

interface Native {
  setBuiltins(): void
  setLamports(lamports: bigint): void
  setSysvars(): void
  setPrecompiles(): void
  setDefaultPrograms(): void
  setSigverify(isChecked: boolean): void
  setBlockhashCheck(isChecked: boolean): void
  setTransactionHistory(entries: bigint): void
  airdrop(address: Uint8Array, lamports: bigint): unknown
  getBalance(address: Uint8Array): bigint
  getAccount(address: Uint8Array): Account | null
  latestBlockhash(): string
  expireBlockhash(): void
  sendLegacyTransaction(raw: Uint8Array): Outcome
  sendVersionedTransaction(raw: Uint8Array): Outcome
}

/** Lamports of the account that airdrops come from. */
const supply = 1_000_000_000_000_000n

/** Undefined: this platform has no package. */
export const packageName = ["linux-x64", "linux-arm64"].includes(`${process.platform}-${process.arch}`)
  ? `litesvm-${process.platform}-${process.arch}-gnu`
  : process.platform === "darwin"
    ? `litesvm-darwin-${process.arch}`
    : undefined

export const make = (name: string) => {
  const require = createRequire(new URL("../../tools/svm/package.json", import.meta.url))
  const { LiteSvm }: { readonly LiteSvm: new () => Native } = require(name)
  const native = new LiteSvm()
  native.setBuiltins()
  native.setLamports(supply)
  native.setSysvars()
  native.setPrecompiles()
  native.setDefaultPrograms()
  native.setSigverify(true)
  native.setBlockhashCheck(true)
  native.setTransactionHistory(1_000_000n)
  return {
    fund: (address: Uint8Array, lamports: bigint) => void native.airdrop(address, lamports),
    balanceOf: (address: Uint8Array) => native.getBalance(address),
    isPlain: (address: Uint8Array): boolean => {
      const account = native.getAccount(address)
      return account !== null && account.owner().every((byte) => byte === 0) && account.data().length === 0
    },
    blockhash: () => native.latestBlockhash(),
    /** Every blockhash of before dies. */
    expire: () => native.expireBlockhash(),
    /** Whether it was executed with success. Undefined: the machine does not take the bytes. */
    send: (raw: Uint8Array): boolean | undefined => {
      const decoded = decode(raw)
      if (Result.isFailure(decoded)) return undefined
      const isLegacy = decoded.success.message.version === "legacy"
      const { err } = isLegacy ? native.sendLegacyTransaction(raw) : native.sendVersionedTransaction(raw)
      return typeof err !== "function"
    }
  }
}
